"""The parts of the benchmarks that measure nothing: the page, the pictures, the booking of stacks."""

from xml.etree import ElementTree

import pytest

from hack.bench import plots, stacks
from hack.bench.paced import percentile
from hack.bench.report import PageError, Verdict, verdicts, with_blocks

PAGE = "before\n<!-- measured:one -->\nold\n<!-- end:one -->\nafter\n"


def test_a_block_is_replaced_and_what_stands_around_it_kept() -> None:
    assert with_blocks(PAGE, {"one": "new \\1"}) == (
        "before\n<!-- measured:one -->\n\nnew \\1\n\n<!-- end:one -->\nafter\n"
    )


def test_writing_a_block_again_changes_nothing() -> None:
    once = with_blocks(PAGE, {"one": "new"})
    assert with_blocks(once, {"one": "new"}) == once


@pytest.mark.parametrize("page", ["", PAGE + PAGE, "<!-- end:one -->\n<!-- measured:one -->\n"])
def test_a_block_without_exactly_one_place_is_an_error(page: str) -> None:
    with pytest.raises(PageError, match="measured:one"):
        with_blocks(page, {"one": "new"})


def test_a_missed_target_says_how_far_off_it_is() -> None:
    text = verdicts(
        [
            Verdict("fast", 100, 120),
            Verdict("slow", 100, 75, "/s"),
            Verdict("late", 10, 12, "ms", at_most=True),
            Verdict("none", 0, 3, at_most=True),
        ]
    )
    told = [line.split("|")[4].strip() for line in text.splitlines()[2:]]
    assert told == [
        "reached",
        "**missed**: 25% below",
        "**missed**: 20% above",
        "**missed**: 3 too many",
    ]


@pytest.mark.parametrize("highest", [0.0, 0.03, 1.0, 7.3, 99.0, 1234.0])
def test_an_axis_reaches_its_highest_value_in_few_round_steps(highest: float) -> None:
    found = plots.ticks(highest)
    assert found[0] == 0
    assert found[-1] >= highest
    assert 2 <= len(found) <= 7


@pytest.mark.parametrize("draw", [plots.bars, plots.rows])
def test_a_chart_is_well_formed_and_names_its_groups(draw) -> None:
    chart = plots.Chart(
        "A & B <per second>",
        "per second",
        ["one", "two"],
        [
            plots.Series("ours", [1.0, 2.5], spans=[(0.5, 1.5), None]),
            plots.Series("theirs", [3.0, None], 2),
        ],
        targets=[2.0, None],
    )
    root = ElementTree.fromstring(draw(chart))
    texts = [element.text for element in root.iter() if element.tag.endswith("}text")]
    assert {"A & B <per second>", "per second", "one", "two", "2.5"} <= set(texts)


def test_a_stack_counts_for_the_innermost_stage() -> None:
    files = [
        "/lib/orjson.py",
        "/apis/meta/codec.py",
        "/quotaapi/endpoints/create.py",
        "/lib/asyncio/runners.py",
    ]
    assert stacks.stage_of(files) == "endpoints: body, answer"


def test_what_the_event_loop_does_without_frames_is_its_own() -> None:
    lines = [
        "Stack (most recent call first):",
        '  File "/lib/asyncio/runners.py", line 118 in run',
        '  File "/here/quotaapi/server/lifecycle.py", line 52 in run',
        "",
        "Stack (most recent call first):",
        '  File "/here/admission/quota/judge.py", line 7 in decide',
        '  File "/lib/asyncio/runners.py", line 118 in run',
    ]
    assert stacks.count(lines, "/here") == {stacks.LOOP: 1, "quota admission": 1}


def test_a_percentile_is_a_value_that_occurred() -> None:
    values = [float(number) for number in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1.0)) == (
        50,
        99,
        100,
    )
    assert percentile([7.0], 0.99) == 7.0
