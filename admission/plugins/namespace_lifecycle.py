"""Objects live in namespaces that exist, and none are created in one that is going away."""

from admission.plugins.lookups import NamespaceLookup, Phase
from apis.meta import errors
from apis.meta.errors import StatusError
from apis.meta.fields import go_quote
from apis.meta.request import Attributes, Operation


class NamespaceLifecycle:
    """Deletes always pass: emptying a namespace is how it goes away."""

    def __init__(self, namespaces: NamespaceLookup) -> None:
        self._namespaces = namespaces

    async def validate(self, attributes: Attributes) -> None:
        namespace = attributes.namespace
        if not namespace or attributes.operation is Operation.DELETE:
            return
        phase = await self._namespaces.phase(namespace)
        if phase is None:
            raise StatusError(
                404,
                "NotFound",
                f"namespaces {go_quote(namespace)} not found",
                details={"name": namespace, "kind": "namespaces"},
            )
        if phase is Phase.TERMINATING and attributes.operation is Operation.CREATE:
            raise _terminating(attributes)


def _terminating(attributes: Attributes) -> StatusError:
    namespace = attributes.namespace
    refusal = errors.forbidden(
        attributes.resource,
        attributes.name,
        f"unable to create new content in namespace {namespace} because it is being terminated",
    )
    # The cause is what clients branch on (`HasStatusCause` of NamespaceTerminating).
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    details = {**(refusal.details or {}), "causes": [cause]}
    return StatusError(refusal.code, refusal.reason, refusal.message, details=details)
