"""Claims against a plain model: who holds what, and who waits, after any sequence of steps."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from storage.claims import ClaimTable

KEYS = "abcd"
keys = st.sets(st.sampled_from(KEYS))


class ClaimsMachine(RuleBasedStateMachine):
    """The model: claims as a list, queues as one list in arrival order."""

    def __init__(self) -> None:
        super().__init__()
        self.table: ClaimTable[int] = ClaimTable()
        self.claims: list[tuple[frozenset[str], frozenset[str]]] = []
        self.queue: list[tuple[str, int]] = []
        self.tickets = 0

    def _exclusive(self, key: str) -> bool:
        return any(key in exclusive for exclusive, _ in self.claims)

    def _shared(self, key: str) -> bool:
        return any(key in shared for _, shared in self.claims)

    def _awaited(self, key: str) -> bool:
        return any(key == awaited for awaited, _ in self.queue)

    @rule(key=st.sampled_from(KEYS))
    def hold_or_wait(self, key: str) -> None:
        free = not self._exclusive(key) and not self._shared(key)
        assert self.table.hold(key) == free
        if free:
            self.claims.append((frozenset(key), frozenset()))
        else:
            self.tickets += 1
            self.table.wait(key, self.tickets)
            self.queue.append((key, self.tickets))

    @rule(exclusive=keys, shared=keys)
    def try_claim(self, exclusive: set[str], shared: set[str]) -> None:
        shared = shared - exclusive
        allowed = not any(
            self._exclusive(key) or self._awaited(key) for key in exclusive | shared
        ) and not any(self._shared(key) for key in exclusive)
        assert self.table.try_claim(exclusive, shared) == allowed
        if allowed:
            self.claims.append((frozenset(exclusive), frozenset(shared)))

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from(self.claims))
        self.claims.remove(claim)
        served = self.table.release(*claim)
        expected: list[tuple[str, int]] = []
        for key in claim[0] | claim[1]:
            if not self._exclusive(key) and not self._shared(key):
                first = next((waiter for waiter in self.queue if waiter[0] == key), None)
                if first is not None:
                    self.queue.remove(first)
                    expected.append(first)
                    self.claims.append((frozenset(key), frozenset()))
        assert sorted(served) == sorted(expected)

    @precondition(lambda self: self.queue)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        key, ticket = waiter = data.draw(st.sampled_from(self.queue))
        self.queue.remove(waiter)
        opened = not self._awaited(key) and self._shared(key)
        assert self.table.withdraw(key, ticket) == opened

    @invariant()
    def numbers_agree(self) -> None:
        exclusive = [key for held, _ in self.claims for key in held]
        assert len(exclusive) == len(set(exclusive))
        assert self.table.statistics() == {
            "exclusive": len(exclusive),
            "shared": len({key for _, shared in self.claims for key in shared}),
            "waiting": len(self.queue),
        }

    @invariant()
    def nobody_waits_for_a_free_key(self) -> None:
        for key, _ in self.queue:
            assert self._exclusive(key) or self._shared(key)


TestClaimsMachine = ClaimsMachine.TestCase
