"""A Shoot that is to be deleted must say so, where its namespace or the server asks for it."""

from admission.plugins.lookups import SHOOTS, NamespaceLookup
from apis.garden.v1beta1.shoot import CONFIRMATION
from apis.meta import errors
from apis.meta.fields import go_quote
from apis.meta.gotext import is_true
from apis.meta.request import Attributes, Operation
from apis.meta.transaction import Object

EXEMPT = frozenset(
    {
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:serviceaccount:kube-system:namespace-controller",
        # Both of them, where kube-controller-manager uses no service accounts.
        "system:kube-controller-manager",
    }
)
"""Who deletes because something else was deleted: an owner, or the namespace."""


class DeletionConfirmation:
    """Each object of a collection is judged by itself. What is being deleted was judged before."""

    def __init__(self, namespaces: NamespaceLookup, *, required: bool) -> None:
        """`required`: in namespaces that say nothing of it."""
        self._namespaces = namespaces
        self._required = required

    async def validate(self, attributes: Attributes) -> None:
        old = attributes.old
        if attributes.operation is not Operation.DELETE or old is None:
            return
        if attributes.resource.plural != SHOOTS or attributes.user.name in EXEMPT:
            return
        if "deletionTimestamp" in old["metadata"] or _is_confirmed(old):
            return
        asked = await self._namespaces.confirms_deletion(attributes.namespace)
        if self._required if asked is None else asked:
            why = f'must have a {go_quote(CONFIRMATION)} annotation to delete (value "true")'
            raise errors.forbidden(attributes.resource, attributes.name, why)


def _is_confirmed(shoot: Object) -> bool:
    return is_true((shoot["metadata"].get("annotations") or {}).get(CONFIRMATION, ""))
