"""The last one to be asked: who has no credentials is nobody, whom RBAC may allow a little."""

from apis.meta.request import ANONYMOUS, UserInfo
from quotaapi.auth.interface import Credentials


class AnonymousAuthenticator:
    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        del credentials
        return ANONYMOUS
