"""Who signed a certificate. TLS verifies against the union of all authorities; which of them it was
decides what a certificate is good for, and is found out here.

A door to `cryptography`, as `plainchain`, and as `tls`, which makes certificates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.verification import (
    Criticality,
    ExtensionPolicy,
    PolicyBuilder,
    Store,
    VerificationError,
)

from quotaapi import plainchain

# The web's profile demands alternative names and key identifiers, which the certificates of
# clusters mostly lack. Validity, signatures, path lengths and name constraints are checked all
# the same; that a leaf may be a client's, TLS has checked.
_ANY_LEAF = ExtensionPolicy.permit_all()
_ANY_AUTHORITY = ExtensionPolicy.permit_all().require_present(
    x509.BasicConstraints, Criticality.AGNOSTIC, None
)


class Refused(Exception):
    """A certificate that none of the authorities vouches for."""


class Authorities:
    """A bundle of certificate authorities; empty: nobody is vouched for."""

    def __init__(self, pem: bytes = b"") -> None:
        """Raises ValueError for what is no bundle of certificates."""
        certificates = x509.load_pem_x509_certificates(pem) if pem.strip() else []
        self.pem = pem
        self.der = b"".join(c.public_bytes(serialization.Encoding.DER) for c in certificates)
        self._certificates = certificates
        self._store = Store(certificates) if certificates else None

    def vouch_until(self, chain: Sequence[bytes], now: datetime) -> datetime | None:
        """As `verify`; None where it refuses."""
        try:
            return self.verify(chain, now)
        except Refused:
            return None

    def verify(self, chain: Sequence[bytes], now: datetime) -> datetime:
        """Until when a leaf (DER, with the certificates that were sent with it) counts as theirs.

        Raises Refused, which says why it does not.
        """
        if self._store is None or not chain:
            raise Refused("no authority is trusted")
        try:
            leaf, *sent = (x509.load_der_x509_certificate(der) for der in chain)
            if any(each.version is x509.Version.v1 for each in (leaf, *self._certificates)):
                # The library knows version 3 only; what it refuses for that may still be good.
                until = plainchain.until(leaf, sent, self._certificates, now)
                if until is not None:
                    return until
            verifier = (
                PolicyBuilder()
                .store(self._store)
                .time(now)
                .extension_policies(ca_policy=_ANY_AUTHORITY, ee_policy=_ANY_LEAF)
                .build_client_verifier()
            )
            verified = verifier.verify(leaf, sent)
        except (ValueError, VerificationError) as error:
            raise Refused(str(error)) from error
        return min(certificate.not_valid_after_utc for certificate in verified.chain)


@dataclass(frozen=True, slots=True)
class Named:
    """A certificate, and the names and addresses for which it is valid as a server's."""

    der: bytes
    names: Sequence[str]

    @classmethod
    def all_of(cls, pem: bytes) -> "list[Named]":
        """In their order; none for an empty text. Raises ValueError for what is no bundle."""
        found = x509.load_pem_x509_certificates(pem) if pem.strip() else []
        return [cls(c.public_bytes(serialization.Encoding.DER), _names_of(c)) for c in found]

    def is_valid_for(self, name: str) -> bool:
        """A wildcard stands for the first label (RFC 6125)."""
        wildcard = f"*.{name.partition('.')[2]}"
        return any(each.lower() in (name, wildcard) for each in self.names)


def _names_of(certificate: x509.Certificate) -> Sequence[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return ()
    addresses = found.get_values_for_type(x509.IPAddress)
    return (*found.get_values_for_type(x509.DNSName), *(str(each) for each in addresses))
