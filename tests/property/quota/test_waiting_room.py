"""Which lanes go together: those that share a ledger, directly or through others."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from admission.quota.ledger import Needs
from admission.quota.shoots import ShootChange
from admission.quota.waiting import Lane, Waiter, WaitingRoom

lanes = st.lists(st.frozensets(st.sampled_from("abcdefgh"), max_size=3), min_size=1, max_size=12)


def a_waiter(sequence: int, lane: Lane, loop: asyncio.AbstractEventLoop) -> Waiter:
    change = ShootChange.__new__(ShootChange)  # only its kind counts here
    return Waiter(change, sequence, 0.0, loop.create_future(), needs=Needs(exclusive=lane))


def reached_from(own: Lane, others: set[Lane]) -> set[Lane]:
    found = {own}
    while joined := {lane for lane in others - found if any(lane & each for each in found)}:
        found |= joined
    return found


@given(entering=lanes, leaving=st.sets(st.integers(0, 11)))
def test_lanes_are_connected_by_what_is_waiting_and_by_nothing_else(
    entering: list[Lane], leaving: set[int]
) -> None:
    loop = asyncio.new_event_loop()
    try:
        room = WaitingRoom(125)
        waiters = [a_waiter(number, lane, loop) for number, lane in enumerate(entering)]
        for waiter in waiters:
            room.enter(waiter)
        for number in leaving & set(range(1, len(waiters))):
            assert room.leave(waiters[number])
        left = [waiter for waiter in waiters if waiter.is_queued]
        waiting = {waiter.needs.exclusive for waiter in left}

        for head in room.heads():
            connected = room.connected(head)
            assert connected[0] == head.needs.exclusive
            assert set(connected) == reached_from(head.needs.exclusive, waiting)
            assert len(connected) == len(set(connected))

        for waiter in left:
            assert room.leave(waiter)
        assert not room
        assert room._lanes_of == {}
    finally:
        loop.close()
