"""Client certificates: TLS has verified them against the client CAs; the subject is the user."""

from apis.meta.request import UserInfo
from quotaapi.auth.interface import Credentials, authenticated


class CertificateAuthenticator:
    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        subject = credentials.subject
        if subject is None:
            return None
        name, groups = subject
        return authenticated(name, groups) if name else None
