"""Who asks. Without credentials nobody gets further; wrong ones are not taken for none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from apis.meta import errors
from quotaapi.auth.interface import Authenticator
from quotaapi.endpoints.exchange import Exchange, Handler


@dataclass(frozen=True, slots=True)
class RequestCredentials:
    """`auth.interface.Credentials` of an HTTP request."""

    request: web.BaseRequest

    @property
    def headers(self) -> Mapping[str, str]:
        return self.request.headers

    @property
    def subject(self) -> tuple[str, tuple[str, ...]] | None:
        transport = self.request.transport
        certificate = transport.get_extra_info("peercert") if transport is not None else None
        return subject_of(certificate) if certificate else None


def subject_of(certificate: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """(CN, every O) of a certificate as Python's ssl shows it. The last CN counts, as in Go."""
    name, groups = "", []
    for relative_name in certificate.get("subject", ()):
        for key, value in relative_name:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return name, tuple(groups)


def with_authentication(inner: Handler, authenticators: Sequence[Authenticator]) -> Handler:
    async def handle(exchange: Exchange) -> web.StreamResponse:
        credentials = RequestCredentials(exchange.request)
        for authenticator in authenticators:
            user = await authenticator.authenticate(credentials)
            if user is not None:
                exchange.user = user
                return await inner(exchange)
        raise errors.unauthorized()

    return handle
