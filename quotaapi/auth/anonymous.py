"""The last one to be asked: who has no credentials is nobody, whom RBAC may allow a little.

A certificate that nobody vouches for is a wrong credential and not none, as for kube-apiserver.
"""

from apis.meta import errors
from apis.meta.request import ANONYMOUS, UserInfo
from quotaapi.auth.interface import Credentials


class AnonymousAuthenticator:
    async def authenticate(self, credentials: Credentials) -> UserInfo | None:
        if credentials.stranger:
            raise errors.unauthorized()
        return ANONYMOUS
