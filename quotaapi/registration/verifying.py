"""Whether kube-apiserver will accept the server's certificate, found out before it is told to.

It verifies as Go does: the chain by the APIService's bundle alone, and the name of the service,
whatever host the service leads to. A certificate without alternative names is valid for no name.
"""

import asyncio
import ssl
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from quotaapi.trust import Authorities, Named

TIMEOUT_SECONDS: Final = 3.0


class Untrusted(Exception):
    """kube-apiserver will not accept the certificate; in words."""


def check_bundle(pem: bytes, name: str, source: str) -> None:
    """`source`: where it came from, for the message. Raises Untrusted.

    A server's certificate that signed itself is its own authority, and then must have the name.
    """
    try:
        found = Named.all_of(pem)
    except ValueError as error:
        raise Untrusted(f"{source} is no PEM bundle of certificates: {error}") from error
    if not found:
        raise Untrusted(f"{source} holds no certificate")
    if all(each.names for each in found) and not any(each.is_valid_for(name) for each in found):
        raise Untrusted(_misnamed(f"the certificate in {source}", found[0].names, name))


def check_chain(chain: bytes, bundle: bytes, name: str, source: str, now: datetime) -> None:
    """A server's certificate (PEM, with those in between). Raises Untrusted."""
    try:
        found = Named.all_of(chain)
    except ValueError:
        found = []
    if not found:
        raise Untrusted(f"{source} holds no certificate")
    if not found[0].is_valid_for(name):
        raise Untrusted(_misnamed(f"the certificate in {source}", found[0].names, name))
    ders = [each.der for each in found]
    itself = ders[0] in {each.der for each in Named.all_of(bundle)}
    if not itself and Authorities(bundle).vouch_until(ders, now) is None:
        raise Untrusted(f"the certificate in {source} is not signed by one of the given CAs")


async def check_server(host: str, port: int, bundle: bytes, name: str) -> bool:
    """What a server shows to whoever connects; False: nobody answers. Raises Untrusted."""
    where = f"{host}:{port}"
    try:
        await _shake_hands(host, port, _context(bundle), name)
    except ssl.SSLCertVerificationError as error:
        # Connecting again without a name tells whether that was all, and which names there are.
        names = await _names_at(host, port, bundle)
        if names is None:
            why = f"not accepted with the given CAs: {error.verify_message}"
            raise Untrusted(f"the certificate that {where} shows is {why}") from error
        raise Untrusted(_misnamed(f"the certificate that {where} shows", names, name)) from error
    except (OSError, TimeoutError):
        return False
    return True


async def _names_at(host: str, port: int, bundle: bytes) -> Sequence[str] | None:
    context = _context(bundle)
    context.check_hostname = False
    try:
        shown = await _shake_hands(host, port, context, None)
    except (OSError, TimeoutError):
        return None
    return [value for _, value in shown.get("subjectAltName", ())]


async def _shake_hands(
    host: str, port: int, context: ssl.SSLContext, name: str | None
) -> dict[str, tuple[tuple[str, str], ...]]:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        _, writer = await asyncio.open_connection(
            host, port, ssl=context, server_hostname=name or host
        )
    try:
        return dict(writer.get_extra_info("peercert"))
    finally:
        writer.transport.abort()


def _context(bundle: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=bundle.decode())
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    return context


def _misnamed(what: str, names: Sequence[str], name: str) -> str:
    valid = (
        f"valid for {', '.join(names)}"
        if names
        else "valid for no name (it has no alternative names)"
    )
    return (
        f"{what} is {valid}, and kube-apiserver asks for {name}: have it issued for that name, too"
    )
