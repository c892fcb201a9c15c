"""What admission is to those who call it: plugins for one operation, and the last gate before storage."""

from typing import Protocol

from apis.meta.request import Attributes
from apis.meta.transaction import Committed, Object, Record
from apis.meta.values import valueclass


class MutatingPlugin(Protocol):
    """Fills in what a request left open. Runs before schema validation, in the chain's order."""

    async def admit(self, attributes: Attributes) -> None:
        """May change `attributes.obj` in place. Raises StatusError to refuse.

        May run several times for one request (a conflict runs everything again on the fresh
        object), so it keeps no state between calls. May add to `attributes.warnings`.
        """
        ...


class ValidatingPlugin(Protocol):
    """Judges the object as it would be stored. Runs after schema validation."""

    async def validate(self, attributes: Attributes) -> None:
        """Changes nothing, but may add to `attributes.warnings`. Raises StatusError to refuse.

        May run several times for one request.
        """
        ...


@valueclass
class Mandate:
    """What the server's own work rests on besides its decision: the key that says who leads.

    A write under a mandate is guarded by `key` at `mod_revision`, so that a replica whose lease
    has ended meanwhile, and which does not know it yet, cannot carry anything out.
    """

    key: str
    mod_revision: int


@valueclass
class Intent:
    """A write that asks for admission, its object's key claimed by the caller.

    `old` is the stored record as read under that claim (None: the key must not exist), `obj` the
    object to store (None: remove the key). The caller has settled metadata, defaults, schema and
    everything else; only accounts are left to judge. `mandate`: for a write of a controller's.
    """

    attributes: Attributes
    key: str
    old: Record | None
    obj: Object | None
    mandate: Mandate | None = None


class Gate(Protocol):
    """The last step of admission and the write, in one: implemented by `admission.quota.evaluator`."""

    async def admit(self, intent: Intent) -> Committed | None:
        """Judge, and store what is allowed together with its charge. None for a dry run that passed.

        Raises StatusError (refused, or 504 after ten seconds), Conflict where the caller's own
        object moved (the caller runs the whole again on the fresh one), Unavailable,
        OutcomeUnknown. Not to be cancelled: the caller runs in a task of the server's own.
        """
        ...
