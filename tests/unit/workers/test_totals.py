"""The numbers of several workers as those of one server."""

from quotaapi.endpoints.metrics import Family, counter, gauge
from quotaapi.server.totals import Totals, fold, from_wire, to_wire


def values(families: list[Family]) -> dict[str, float]:
    return {family.name: family.samples[()] for family in families}


def test_counters_and_gauges_are_summed_label_by_label() -> None:
    one = Family("x_total", "counter", "X.", {(("code", "200"),): 3.0, (("code", "404"),): 1.0})
    other = Family("x_total", "counter", "X.", {(("code", "200"),): 4.0, (("code", "500"),): 2.0})

    folded = fold([one, gauge("y", "Y.", 1), other, gauge("y", "Y.", 2)])

    assert folded["x_total"].samples == {
        (("code", "200"),): 7.0,
        (("code", "404"),): 1.0,
        (("code", "500"),): 2.0,
    }
    assert folded["y"].samples == {(): 3}
    assert one.samples == {(("code", "200"),): 3.0, (("code", "404"),): 1.0}


def test_what_all_measure_alike_is_the_worst_of_them() -> None:
    folded = fold(
        family
        for lag, synced in ((0.2, 1), (0.1, 0))
        for family in (
            gauge("lag", "Lag.", lag, together="max"),
            gauge("synced", "Synced.", synced, together="min"),
        )
    )

    assert values(list(folded.values())) == {"lag": 0.2, "synced": 0}


def test_a_late_worker_keeps_its_counters_and_has_no_gauges() -> None:
    totals = Totals()
    totals.heard(0, [counter("c_total", "C.", 5), gauge("g", "G.", 1)])
    totals.heard(1, [counter("c_total", "C.", 7), gauge("g", "G.", 2)])

    assert values(totals.families({0, 1})) == {"c_total": 12, "g": 3}
    assert values(totals.families({1})) == {"c_total": 12, "g": 2}


def test_what_ended_workers_counted_is_kept_and_their_successors_is_added() -> None:
    totals = Totals()
    totals.heard(0, [counter("c_total", "C.", 5), gauge("g", "G.", 1)])
    totals.ended(0)

    assert values(totals.families(())) == {"c_total": 5}

    totals.heard(0, [counter("c_total", "C.", 1)])
    totals.ended(0)
    totals.heard(0, [counter("c_total", "C.", 2), gauge("g", "G.", 4)])

    assert values(totals.families({0})) == {"c_total": 8, "g": 4}
    assert (totals.of_one(0, "c_total"), totals.of_one(1, "c_total")) == (2, 0)


def test_a_worker_that_ends_before_it_told_anything_counts_nothing() -> None:
    totals = Totals()
    totals.ended(3)

    assert totals.families({3}) == []


def test_families_pass_the_channel_unchanged() -> None:
    families = [
        Family("x_total", "counter", "X.", {(("a", "1"), ("b", "2")): 3.0}),
        gauge("y", "Y.", 0.5, together="max"),
    ]

    assert from_wire(to_wire(families)) == families
