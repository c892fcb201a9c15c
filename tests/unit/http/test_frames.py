"""Events as a watcher with a selector sees them."""

import pytest

from apis.garden.v1beta1.register import QUOTA
from apis.meta import codec
from apis.meta.transaction import Record, encode_body
from quotaapi.endpoints.frames import Framer, change
from quotaapi.endpoints.negotiation import Representation, Shape
from storage.interface import Event, Facts

IN, OUT = Facts(labels={"on": "1"}), Facts(labels={"on": "0"})


def selected(facts: Facts) -> bool:
    return facts.labels.get("on") == "1"


def a_record(revision: int, **metadata: object) -> Record:
    body = encode_body(
        {
            "apiVersion": "garden.sapcloud.io/v1beta1",
            "kind": "Quota",
            "metadata": {"name": "a", "namespace": "ns", **metadata},
            "spec": {"scope": "project"},
        }
    )
    return Record("ns/a", revision, 0, body)


def plain() -> Framer:
    return Framer(QUOTA, Representation(), None, "")


@pytest.mark.parametrize(
    ("previous", "facts", "expected"),
    [
        (None, IN, "ADDED"),
        (OUT, IN, "ADDED"),
        (IN, IN, "MODIFIED"),
        (IN, OUT, "DELETED"),
        (IN, None, "DELETED"),
        (None, OUT, ""),
        (OUT, OUT, ""),
        (OUT, None, ""),
    ],
)
def test_an_event_is_what_it_is_to_the_selection(previous, facts, expected) -> None:
    assert change(Event(a_record(5), facts, previous), selected) == expected


@pytest.mark.parametrize(
    ("previous", "facts", "expected"),
    [(None, OUT, "ADDED"), (OUT, IN, "MODIFIED"), (OUT, None, "DELETED")],
)
def test_without_a_selector_every_event_counts(previous, facts, expected) -> None:
    assert change(Event(a_record(5), facts, previous), None) == expected


def test_an_object_that_leaves_the_selection_is_shown_as_it_was_in_it_with_the_new_version() -> (
    None
):
    before, after = a_record(4, labels={"on": "1"}), a_record(5, labels={"on": "0"})
    event = Event(after, OUT, IN, before=before)

    line = codec.decode_json(plain().event(event, "DELETED")).value

    assert line["object"]["metadata"]["labels"] == {"on": "1"}
    assert line["object"]["metadata"]["resourceVersion"] == "5000"


def test_watchers_of_one_representation_share_one_encoding() -> None:
    event = Event(a_record(5), IN, None)

    first, second = plain().event(event, "ADDED"), plain().event(event, "ADDED")

    assert first is second


def test_only_what_has_to_be_decoded_and_is_not_encoded_yet_is_work() -> None:
    event = Event(a_record(5), IN, None)
    partial = Framer(QUOTA, Representation(shape=Shape.METADATA), None, "PartialObjectMetadata/v1")

    assert plain().work([event], None) == 0
    assert partial.work([event, event], None) == 2 * len(event.record.body)
    partial.lines([event], None)
    assert partial.work([event], None) == 0


def test_representations_do_not_share_encodings() -> None:
    event = Event(a_record(5), IN, None)
    partial = Framer(QUOTA, Representation(shape=Shape.METADATA), None, "PartialObjectMetadata/v1")

    plain().event(event, "ADDED")
    line = codec.decode_json(partial.event(event, "ADDED")).value

    assert line["object"]["kind"] == "PartialObjectMetadata"
    assert "spec" not in line["object"]


def test_the_bookmark_that_ends_the_initial_events_says_so() -> None:
    line = codec.decode_json(plain().bookmark(7999, ends_initial_events=True)).value

    assert line == {
        "type": "BOOKMARK",
        "object": {
            "kind": "Quota",
            "apiVersion": "garden.sapcloud.io/v1beta1",
            "metadata": {
                "resourceVersion": "7999",
                "annotations": {"k8s.io/initial-events-end": "true"},
            },
        },
    }
