"""Authorization and look-ups of a server without a cluster behind it."""

from admission.plugins.lookups import Phase
from apis.meta.request import UserInfo
from quotaapi.auth.interface import ALLOWED, AUTHENTICATED, Attributes, Decision


class AllowAuthenticated:
    """Everybody who is somebody may do everything; anonymous nothing."""

    async def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:  # noqa: ARG002 -- the Protocol's
        if AUTHENTICATED in user.groups:
            return ALLOWED
        return Decision(allowed=False, reason="only authenticated users may use this server")


class UncheckedReferences:
    """No cluster knows of secrets, and everybody who is somebody may do everything."""

    async def may(
        self, user: UserInfo, verb: str, group: str, resource: str, namespace: str, name: str
    ) -> bool:
        del verb, group, resource, namespace, name
        return AUTHENTICATED in user.groups

    async def secret_exists(self, namespace: str, name: str) -> bool | None:
        del namespace, name
        return None


class NoNamespaces:
    """There are no namespaces to ask for: every name is as good as another."""

    async def phase(self, name: str) -> Phase | None:
        del name
        return Phase.UNKNOWN

    async def confirms_deletion(self, name: str) -> bool | None:
        del name
        return None
