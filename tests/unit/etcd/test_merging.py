"""Which transactions go together, and what their request is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.meta.transaction import Delete, Header, Put, TooLarge, Transaction
from storage.etcd import records, wire
from storage.etcd.merging import Group, Limits, Waiting, prepare, split

PREFIX = b"/registry/"
ID = b"0123456789abcdef"
NOBODY: Any = None
SMALL = Limits(operations=8, request_bytes=2000)


def waiting(transaction: Transaction, limits: Limits = SMALL) -> Waiting:
    return prepare(transaction, NOBODY, prefix=PREFIX, arrived=0.0, limits=limits)


def create(*keys: str, size: int = 2) -> Transaction:
    return Transaction(dict.fromkeys(keys, 0), [Put(key, b"x" * size) for key in keys])


def request(group: Group) -> dict[str, Any]:
    decoded: dict[str, Any] = wire.decode(
        group.request(ID, fence_name=wire.b64(b"fence"), fence_revision=3)
    )
    return decoded


def key(name: str) -> str:
    return wire.b64(PREFIX + name.encode()).decode()


transactions = st.builds(
    lambda guards, written: Transaction(
        guards,
        [
            Delete(k) if guards[k] and delete else Put(k, b"body")
            for k, delete in written.items()
            if k in guards
        ],
    ),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2), min_size=1, max_size=5),
    st.dictionaries(st.sampled_from("abcdefgh"), st.booleans(), max_size=4),
)


@given(st.lists(transactions, max_size=20))
def test_a_group_is_within_its_limits_and_nobody_disturbs_another(
    given_transactions: list[Transaction],
) -> None:
    members = [waiting(each) for each in given_transactions]
    group, left = split(members, SMALL)
    assert sorted(map(id, group.members + left)) == sorted(map(id, members))
    assert len(group.guards) <= SMALL.guards
    assert len(group.written) == sum(len(m.transaction.writes) for m in group.members)
    for one in group.members:
        for other in group.members:
            if one is not other:
                assert one.written.isdisjoint(other.transaction.guards)
                for k in one.transaction.guards.keys() & other.transaction.guards.keys():
                    assert one.transaction.guards[k] == other.transaction.guards[k]


@given(st.lists(transactions, max_size=20))
def test_who_shares_a_key_keeps_the_order_of_arrival(given_transactions: list[Transaction]) -> None:
    members = [waiting(each) for each in given_transactions]
    group, left = split(members, SMALL)
    place = {id(m): n for n, m in enumerate(members)}
    for late in group.members:
        for early in left:
            if place[id(early)] < place[id(late)]:
                assert early.transaction.guards.keys().isdisjoint(late.transaction.guards)
    assert [place[id(m)] for m in left] == sorted(place[id(m)] for m in left)


@given(st.lists(transactions, min_size=1, max_size=20))
def test_every_split_makes_progress(given_transactions: list[Transaction]) -> None:
    left = [waiting(each) for each in given_transactions]
    while left:
        group, rest = split(left, SMALL)
        assert group.members
        assert len(rest) < len(left)
        left = rest


@given(st.lists(transactions, min_size=1, max_size=10))
def test_the_outcomes_positions_are_the_requests(given_transactions: list[Transaction]) -> None:
    group, _ = split([waiting(each) for each in given_transactions], SMALL)
    order = [
        wire.unb64(op.get("request_put", op.get("request_delete_range"))["key"])
        for op in request(group)["success"]
    ]
    told: dict[bytes, int] = {}
    for _, committed in group.committed(9):
        told |= {PREFIX + k.encode(): r.position for k, r in committed.records.items()}
        told |= {PREFIX + k.encode(): v - 9000 for k, v in committed.deleted.items()}
    if group.raises_fence:
        assert order.pop() == b"fence"
    assert told == {name: position for position, name in enumerate(order)}


def test_the_request_compares_and_writes_what_it_should() -> None:
    group, _ = split(
        [
            waiting(Transaction({"a": 0, "s": 5}, [Put("a", b"A", Header({"cpu": "1"}))])),
            waiting(Transaction({"b": 4, "s": 5}, [Delete("b")])),
        ],
        SMALL,
    )
    sent = request(group)
    assert sent["compare"] == [
        {"key": wire.b64(k).decode(), "target": "MOD", "result": "EQUAL", "mod_revision": str(r)}
        for k, r in (
            (b"fence", 3),
            (PREFIX + b"a", 0),
            (PREFIX + b"s", 5),
            (PREFIX + b"b", 4),
        )
    ]
    put, delete, fence = sent["success"]
    stored = records.decode("a", 9, wire.unb64(put["request_put"]["value"]))
    assert put["request_put"]["key"] == key("a")
    assert stored == next(iter(group.committed(9)))[1].records["a"]
    assert records.transaction_of(wire.unb64(put["request_put"]["value"])) == ID
    assert delete == {"request_delete_range": {"key": key("b")}}
    assert fence["request_put"]["key"] == wire.b64(b"fence").decode()
    raised = wire.unb64(fence["request_put"]["value"])
    assert (records.transaction_of(raised), records.decode("f", 9, raised).position) == (ID, 2)
    assert sent.keys() == {"compare", "success"}


@pytest.mark.parametrize(
    ("transactions", "raises"),
    [
        ([create("a")], True),
        ([Transaction({"a": 3}, [Delete("a")])], True),
        ([Transaction({"a": 3}, [Put("a", b"A")])], False),
        ([create("b"), Transaction({"a": 3}, [Put("a", b"A")])], False),
        ([Transaction({"a": 3}, [])], False),
    ],
    ids=["create", "delete", "update", "create beside an update", "nothing"],
)
def test_the_fence_is_raised_by_what_could_else_be_applied_twice_or_leaves_no_id(
    transactions: list[Transaction], raises: bool
) -> None:
    group, _ = split([waiting(each) for each in transactions], SMALL)
    assert group.raises_fence == raises
    writes = sum(len(each.writes) for each in transactions)
    assert len(request(group)["success"]) == writes + raises


def test_the_size_is_an_upper_bound_of_what_etcd_counts() -> None:
    """Field tags and lengths of the protobuf message: counted by hand, 3 to 8 bytes each."""
    one = waiting(create("a" * 100, size=1000), Limits())
    name, stored = len(PREFIX) + 100, records.MARK_BYTES + 2 + 1000
    compare, put = name + 3 + 6 + 2, name + 2 + stored + 3 + 6
    assert one.size >= compare + put


def test_the_group_is_cut_where_bytes_run_out() -> None:
    members = [waiting(create(f"k{n}", size=700)) for n in range(5)]
    group, left = split(members, SMALL)
    assert (len(group.members), len(left)) == (2, 3)


def test_one_that_is_too_large_for_a_group_goes_alone() -> None:
    group, left = split([waiting(create("a", size=9000)), waiting(create("b"))], SMALL)
    assert (len(group.members), len(left)) == (1, 1)


def test_a_group_never_has_a_thousand_writes() -> None:
    assert Limits(operations=5000).writes == 998


def test_more_than_fits_is_too_large() -> None:
    with pytest.raises(TooLarge):
        waiting(create(*"abcdefgh"))
