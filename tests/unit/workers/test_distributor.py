"""Who gets the next connection: a real port, and workers that this test plays."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import pytest_asyncio

from quotaapi.server.channel import Channel, Message, pair
from quotaapi.server.distributor import Distributor, Place, preferred
from quotaapi.server.listener import bound


class FakeWorker:
    """Takes what it is handed, and reports when the test says so."""

    def __init__(self, distributor: Distributor, number: int) -> None:
        mine, theirs = pair()
        self._distributor = distributor
        self._channel = Channel(theirs)
        self.taken: list[socket.socket] = []
        self.place = Place(number, Channel(mine))
        self._channel.listen(self._heard, lambda: None)
        self.place.channel.listen(lambda *_: None, lambda: None)
        distributor.seat(self.place)
        self._came = asyncio.Event()

    def _heard(self, _message: Message, connection: socket.socket | None) -> None:
        assert connection is not None
        self.taken.append(connection)
        self._came.set()

    def report(self, *, ready: bool = True, open_ones: int | None = None) -> None:
        message = {
            "serving": True,
            "ready": ready,
            "taken": len(self.taken),
            "open": len(self.taken) if open_ones is None else open_ones,
        }
        self._distributor.reported(self.place, message)

    async def has(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.taken) < count:
                self._came.clear()
                await self._came.wait()

    def die(self) -> None:
        self._channel.close()
        self.place.channel.close()
        self._distributor.vacate(self.place)

    def close(self) -> None:
        self._channel.close()
        self.place.channel.close()
        for connection in self.taken:
            connection.close()


class Bench:
    """A distributor, its workers and its clients."""

    def __init__(self) -> None:
        self.distributor = Distributor(bound("127.0.0.1", 0))
        self._closing: list[Callable[[], None]] = []

    def worker(self, number: int) -> FakeWorker:
        worker = FakeWorker(self.distributor, number)
        self._closing.append(worker.close)
        return worker

    def connect(self) -> socket.socket:
        """The kernel completes it, whoever accepts it later."""
        client = socket.create_connection(("127.0.0.1", self.distributor.port), timeout=5)
        self._closing.append(client.close)
        return client

    def close(self) -> None:
        self.distributor.close()
        for close in self._closing:
            close()


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    made.close()


async def test_connections_are_dealt_out_in_turn(bench) -> None:
    one, other = bench.worker(0), bench.worker(1)
    one.report()
    other.report()
    bench.distributor.open()

    for _ in range(10):
        bench.connect()

    await one.has(5)
    await other.has(5)


async def test_who_has_fewer_open_ones_gets_the_next(bench) -> None:
    one, other = bench.worker(0), bench.worker(1)
    one.report(open_ones=10)
    other.report(open_ones=0)
    bench.distributor.open()

    for _ in range(10):
        bench.connect()

    await other.has(10)
    assert one.taken == []


async def test_a_worker_that_is_not_ready_gets_none_while_another_is(bench) -> None:
    one, other = bench.worker(0), bench.worker(1)
    one.report(ready=False)
    other.report()
    bench.distributor.open()

    for _ in range(4):
        bench.connect()

    await other.has(4)
    assert one.taken == []


async def test_where_none_is_ready_all_get_some_so_that_readyz_can_say_why(bench) -> None:
    one, other = bench.worker(0), bench.worker(1)
    one.report(ready=False)
    other.report(ready=False)
    bench.distributor.open()

    for _ in range(4):
        bench.connect()

    await one.has(2)
    await other.has(2)


async def test_what_a_dead_worker_had_not_taken_goes_to_the_others(bench) -> None:
    one, other = bench.worker(0), bench.worker(1)
    one.report()
    other.report(ready=False)
    bench.distributor.open()
    clients = [bench.connect() for _ in range(3)]
    await one.has(3)  # in truth its process read them; the supervisor was not told

    one.die()

    await other.has(3)
    for number, connection in enumerate(other.taken):
        connection.sendall(b"%d" % number)
    assert {client.recv(1) for client in clients} == {b"0", b"1", b"2"}


async def test_what_was_reported_as_taken_ends_with_its_worker(bench) -> None:
    one, other = bench.worker(0), bench.worker(1)
    one.report()
    other.report(ready=False)
    bench.distributor.open()
    client = bench.connect()
    await one.has(1)
    one.report()
    one.taken.pop().close()

    one.die()

    assert client.recv(1) == b""
    assert other.taken == []


async def test_without_a_worker_connections_wait_until_one_serves(bench) -> None:
    first = bench.worker(0)
    first.report()
    bench.distributor.open()
    first.die()
    for _ in range(3):
        bench.connect()

    second = bench.worker(1)
    await asyncio.sleep(0)
    second.report()

    await second.has(3)


async def test_a_report_before_the_port_is_open_does_not_open_it(bench, caplog) -> None:
    worker = bench.worker(0)
    worker.report()
    await asyncio.sleep(0)
    bench.distributor.open()

    bench.connect()

    await worker.has(1)
    assert caplog.text == ""


async def test_a_connection_that_comes_back_goes_to_another(bench) -> None:
    one, other = bench.worker(0), bench.worker(1)
    one.report()
    other.report(ready=False)
    bench.distributor.open()
    bench.connect()
    await one.has(1)
    one.place.serving = False

    bench.distributor.hand(one.taken.pop())

    await other.has(1)


async def test_a_closed_one_cuts_off_what_comes_back(bench) -> None:
    bench.distributor.open()
    near, far = socket.socketpair()
    bench.distributor.close()

    bench.distributor.hand(far)

    with near:
        assert near.recv(1) == b""


def test_a_silent_worker_comes_last_among_the_ready_and_an_unready_one_after_it() -> None:
    end, other_end = pair()
    with end, other_end:

        def place(number: int, *, ready: bool, ticks: int) -> Place:
            found = Place(number, Channel(end), serving=True, ready=ready)
            found.ticks = ticks
            return found

        starting = Place(9, Channel(end))
        places = [
            starting,
            place(0, ready=False, ticks=0),
            place(1, ready=True, ticks=5),
            place(2, ready=True, ticks=1),
        ]

        assert [found.number for found in preferred(places)] == [2, 1, 0]
