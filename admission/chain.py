"""The plugins of one server in their order. The first refusal ends a request.

    mutating    what a request left open is filled in, before schema validation
    validating  the object is judged as it would be stored, after it

Accounts come last of all and are no plugin: see `admission.interface.Gate`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from admission.interface import MutatingPlugin, ValidatingPlugin
from apis.meta.request import Attributes


@dataclass(frozen=True, slots=True)
class Chain:
    """Both steps may run several times for one request: on a conflict, on the fresh object."""

    mutating: Sequence[MutatingPlugin] = ()
    validating: Sequence[ValidatingPlugin] = ()

    async def mutate(self, attributes: Attributes) -> None:
        """Change `attributes.obj` in place. Raises StatusError."""
        for plugin in self.mutating:
            await plugin.admit(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Judge `attributes.obj`. Raises StatusError."""
        for plugin in self.validating:
            await plugin.validate(attributes)
