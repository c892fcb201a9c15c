"""The parameters of lists and watches."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from apis.garden.v1beta1.register import CLOUD_PROFILE, QUOTA
from apis.meta.errors import StatusError
from apis.meta.selectors import LabelSelector
from quotaapi.endpoints.listing import LongSelectors, list_query, watch_query


def refusal_of(call, text: str) -> StatusError:
    with pytest.raises(StatusError) as caught:
        call(QUOTA, text)
    return caught.value


def test_a_bare_list_is_consistent_and_whole() -> None:
    query = list_query(QUOTA, "")

    assert (query.resource_version, query.limit, query.labels.empty, query.fields.empty) == (
        None, 0, True, True,
    )  # fmt: skip


def test_a_list_takes_selectors_limit_and_version() -> None:
    query = list_query(
        QUOTA,
        "labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=5"
        "&resourceVersion=7&resourceVersionMatch=Exact",
    )

    assert query.labels.matches({"a": "b"})
    assert query.fields.exact("metadata.name") == "x"
    assert (query.limit, query.resource_version, query.match) == (5, 7, "Exact")


def test_a_negative_limit_is_none() -> None:
    assert list_query(QUOTA, "limit=-1").limit == 0


@pytest.mark.parametrize(
    "text",
    [
        "limit=x",
        "labelSelector=a%20b%20c",
        "fieldSelector=spec.bogus%3D1",
        "resourceVersion=nope",
        "continue=token&resourceVersion=7",
        "limit=",
        *(f"timeoutSeconds={text}" for text in ("", "abc", "1.5", "9" * 20)),
    ],
)
def test_a_list_with_a_malformed_parameter_is_a_400(text) -> None:
    assert refusal_of(list_query, text).code == 400


@pytest.mark.parametrize(
    "text",
    [
        *(f"timeoutSeconds={text}" for text in ("", "abc", "1.5", "9" * 20)),
        *("limit=", "limit=x", "resourceVersion=nope", "labelSelector=((", "fieldSelector=a%3Db"),
    ],
)
def test_a_watch_with_a_malformed_parameter_is_a_400(text) -> None:
    assert refusal_of(watch_query, f"watch=1&{text}").code == 400


@pytest.mark.parametrize("read", [list_query, watch_query])
def test_what_is_in_no_namespace_is_not_selected_by_it(read) -> None:
    with pytest.raises(StatusError) as caught:
        read(CLOUD_PROFILE, "fieldSelector=metadata.namespace%3Dx")

    assert (caught.value.code, caught.value.message) == (
        400,
        "field label not supported: metadata.namespace",
    )
    read(QUOTA, "fieldSelector=metadata.namespace%3Dx")


def test_a_continued_list_may_say_version_zero() -> None:
    assert list_query(QUOTA, "continue=token&resourceVersion=0").continue_token == "token"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("resourceVersionMatch=Exact", ["resourceVersionMatch"]),
        ("resourceVersionMatch=Exact&resourceVersion=0", ["resourceVersionMatch"]),
        ("resourceVersionMatch=Bogus&resourceVersion=1", ["resourceVersionMatch"]),
        ("sendInitialEvents=true", ["sendInitialEvents"]),
    ],
)
def test_a_list_with_parameters_that_do_not_go_together_is_a_422(text, fields) -> None:
    refusal = refusal_of(list_query, text)

    assert refusal.code == 422
    assert [cause["field"] for cause in (refusal.details or {})["causes"]] == fields


@pytest.mark.parametrize(
    "text",
    [
        "watch=1&sendInitialEvents=true",
        "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact",
        "watch=1&resourceVersionMatch=NotOlderThan",
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x",
        "watch=1&continue=x",
    ],
)
def test_a_watch_with_parameters_that_do_not_go_together_is_a_422(text) -> None:
    assert refusal_of(watch_query, text).code == 422


def test_a_watch_takes_bookmarks_time_and_initial_events() -> None:
    wanted = watch_query(
        QUOTA,
        "watch=1&allowWatchBookmarks=true&timeoutSeconds=7"
        "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9",
    )

    assert (wanted.bookmarks, wanted.timeout_seconds, wanted.initial_events) == (True, 7, True)
    assert wanted.query.resource_version == 9


LONG = ",".join(f"!key-{number}" for number in range(1_000))


def test_long_selectors_of_equal_text_are_parsed_once_while_they_are_in_use() -> None:
    first, second, other = (
        watch_query(QUOTA, f"labelSelector={text}&timeoutSeconds={seconds}").query.labels
        for text, seconds in ((LONG, 1), (LONG, 2), (LONG + ",more", 1))
    )

    assert first is second
    assert first is not other


def test_short_selectors_are_nobody_elses() -> None:
    one, other = (list_query(QUOTA, "labelSelector=a%3Db").labels for _ in range(2))

    assert one is not other


def test_long_selectors_are_bounded_in_bytes_and_make_room_when_they_are_done_with() -> None:
    selectors: LongSelectors[LabelSelector] = LongSelectors(max_bytes=2 * len(LONG))

    def parsed(text: str) -> LabelSelector:
        return selectors.parsed("", text, lambda: LabelSelector.parse(text))

    kept = [parsed(LONG), parsed(LONG)]
    with pytest.raises(StatusError) as refused:
        parsed(f"{LONG},!more")
    assert refused.value.code == 429

    kept.clear()
    assert parsed(f"{LONG},!more").matches({})


def test_long_selectors_are_parsed_in_several_threads_at_once() -> None:
    selectors: LongSelectors[LabelSelector] = LongSelectors(max_bytes=10**9)
    interval = sys.getswitchinterval()
    template = LabelSelector.parse(LONG)

    def parsed(number: int) -> LabelSelector:
        text = f"{LONG}{number}"
        return selectors.parsed("", text, lambda: replace(template))

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert len(list(threads.map(parsed, range(2_000)))) == 2_000
    finally:
        sys.setswitchinterval(interval)
