"""The cluster's namespaces: followed, and looked up where the watch has not brought one yet.

As kube-apiserver's plugin does it: what the cache knows counts, what it does not know is asked
for before anything is refused, and so is a namespace that was seen going away a moment ago and
looks alive (it was made again, or a watch is behind).
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from admission.plugins.lookups import Phase
from apis.meta.gotext import is_false
from apis.meta.names import dns1123_label
from apis.meta.values import valueclass
from quotaapi.auth.asking import Asker
from quotaapi.auth.decisions import Decisions

PATH: Final = "/api/v1/namespaces"

DOUBT_SECONDS: Final = 30.0
DOUBTS_KEPT: Final = 1000
"""kube's figures for namespaces that were seen terminating."""

FLIGHTS: Final = 1
"""Live look-ups are shared while they last and not kept."""


CONFIRMS_DELETION: Final = "garden.sapcloud.io/require-deletion-confirmation"
"""The annotation of a namespace: whether its Shoots are deleted only where they say so themselves.

On the namespace, which a project's members cannot change in kube's own roles: who may delete is not
who may do without the confirmation.
"""


@valueclass
class Namespace:
    phase: Phase
    confirms_deletion: bool | None


class ClusterNamespaces:
    """`admission.plugins.lookups.NamespaceLookup`, and a `Follower`."""

    def __init__(
        self,
        asker: Asker,
        *,
        monotonic: Callable[[], float],
        spawn: Callable[..., object],
    ) -> None:
        self._asker = asker
        self._monotonic = monotonic
        self._known: dict[str, Namespace] = {}
        self._doubted: OrderedDict[str, float] = OrderedDict()
        self._live = Decisions[str, Namespace | None](
            lambda _name: 0.0, size=FLIGHTS, monotonic=monotonic, spawn=spawn
        )
        self._synced = False
        self._why = "the namespaces were not listed yet"

    def check(self) -> str:
        """Once listed, the cache serves: what it lacks is looked up."""
        return "" if self._synced else f"namespaces: {self._why}"

    async def phase(self, name: str) -> Phase | None:
        found = await self._find(name)
        return None if found is None else found.phase

    async def confirms_deletion(self, name: str) -> bool | None:
        found = await self._find(name)
        return None if found is None else found.confirms_deletion

    async def _find(self, name: str) -> Namespace | None:
        known = self._known.get(name)
        if known is not None and not (known.phase is Phase.ACTIVE and self._in_doubt(name)):
            return known
        if dns1123_label(name):
            return None  # nothing has such a name, and a path is not made of it
        return await self._live.get(name, lambda: self._look_up(name))

    async def _look_up(self, name: str) -> Namespace | None:
        answer = await self._asker.get(f"{PATH}/{name}")
        if answer.status == 404:
            return None
        if not answer.ok or not isinstance(answer.body, Mapping):
            raise self._asker.useless(answer)
        return _namespace(answer.body)

    def replace(self, items: list[Mapping[str, Any]]) -> None:
        self._known = {}
        for item in items:
            self.put(item)
        self._synced = True

    def put(self, item: Mapping[str, Any]) -> None:
        name = item["metadata"]["name"]
        self._known[name] = found = _namespace(item)
        if found.phase is Phase.TERMINATING:
            self._doubt(name)

    def remove(self, item: Mapping[str, Any]) -> None:
        name = item["metadata"]["name"]
        self._known.pop(name, None)
        self._doubt(name)

    def lost(self, why: str) -> None:
        self._why = why

    def _doubt(self, name: str) -> None:
        self._doubted[name] = self._monotonic() + DOUBT_SECONDS
        self._doubted.move_to_end(name)
        if len(self._doubted) > DOUBTS_KEPT:
            self._doubted.popitem(last=False)

    def _in_doubt(self, name: str) -> bool:
        return self._monotonic() < self._doubted.get(name, 0.0)


def _namespace(item: Mapping[str, Any]) -> Namespace:
    asked = (item["metadata"].get("annotations") or {}).get(CONFIRMS_DELETION)
    # What is neither true nor false protects: somebody wanted something.
    return Namespace(_phase(item), None if asked is None else not is_false(asked))


def _phase(namespace: Mapping[str, Any]) -> Phase:
    """By its metadata: kube-apiserver sets the phase in the same write as the deletion's time."""
    if namespace["metadata"].get("deletionTimestamp"):
        return Phase.TERMINATING
    phase = namespace.get("status", {}).get("phase")
    return Phase.TERMINATING if phase == Phase.TERMINATING else Phase.ACTIVE
