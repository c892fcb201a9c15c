"""Accept and Content-Type."""

import pytest

from apis.meta.errors import StatusError
from quotaapi.endpoints.negotiation import (
    JSON,
    MEDIA_TYPES,
    YAML,
    Representation,
    Shape,
    accepted,
    body_type,
    streamed,
)

META = "g=meta.k8s.io;v=v1"
PLAIN = Representation()


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", PLAIN),
        ("application/json", PLAIN),
        ("*/*", PLAIN),
        ("application/*", PLAIN),
        ("application/vnd.kubernetes.protobuf,application/json", PLAIN),
        ("text/html, application/yaml", Representation(YAML)),
        ("application/yaml;q=0.5, application/json;q=0.9", PLAIN),
        ("application/json;q=0.5, application/yaml", Representation(YAML)),
        (f"application/json;as=Table;{META},application/json", Representation(JSON, Shape.TABLE)),
        ("application/json;as=Table;g=meta.k8s.io;v=v9,application/json", PLAIN),
        (
            "application/json;as=Table;g=meta.k8s.io;v=v1beta1",
            Representation(JSON, Shape.TABLE, "v1beta1"),
        ),
        (
            f"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;{META},"
            f"application/json;as=PartialObjectMetadataList;{META},application/json",
            Representation(JSON, Shape.METADATA_LIST),
        ),
    ],
)
def test_the_best_acceptable_representation_is_chosen(header, expected) -> None:
    assert accepted(header) == expected


@pytest.mark.parametrize(
    "header",
    [
        "text/html",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=Table;g=meta.k8s.io;v=v9",
        "application/json;as=Something;g=meta.k8s.io;v=v1",
        "application/json;q=0",
    ],
)
def test_nothing_acceptable_is_a_406_that_lists_what_is(header) -> None:
    with pytest.raises(StatusError) as refusal:
        accepted(header)

    assert (refusal.value.code, "application/json" in refusal.value.message) == (406, True)


def test_a_watch_falls_back_from_yaml_to_what_else_is_accepted() -> None:
    assert streamed("application/yaml, application/json;q=0.1") == PLAIN


def test_a_watch_in_yaml_alone_is_not_acceptable() -> None:
    with pytest.raises(StatusError) as refusal:
        streamed("application/yaml")

    assert refusal.value.code == 406


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", JSON),
        (";charset=utf-8", JSON),
        ("application/json; charset=utf-8", JSON),
        ("APPLICATION/YAML", YAML),
    ],
)
def test_a_body_is_json_unless_it_says_otherwise(header, expected) -> None:
    assert body_type(header, MEDIA_TYPES) == expected


def test_an_unknown_body_is_a_415() -> None:
    with pytest.raises(StatusError) as refusal:
        body_type("text/plain", MEDIA_TYPES)

    assert refusal.value.code == 415
