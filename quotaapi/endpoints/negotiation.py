"""What a client accepts and what it sends: media types, pure and remembered by header text.

Clients send few different headers, many times: parsing is paid once per text.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from apis.meta import errors
from apis.meta.values import valueclass

JSON = "application/json"
YAML = "application/yaml"
MEDIA_TYPES = (JSON, YAML)

_LONGEST_REMEMBERED = 512
"""Longer headers are parsed each time, so that the memory of a cache is bounded in bytes."""


class Shape(StrEnum):
    """What an object is turned into before it is encoded."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


@valueclass
class Representation:
    """`version` is meta.k8s.io's, for a shape other than OBJECT."""

    media_type: str = JSON
    shape: Shape = Shape.OBJECT
    version: str = "v1"

    @property
    def plain(self) -> bool:
        """Stored bytes are the answer's bytes."""
        return self.media_type == JSON and self.shape is Shape.OBJECT

    @property
    def yaml(self) -> bool:
        return self.media_type == YAML


_PLAIN = Representation()


def accepted(header: str) -> Representation:
    """The best representation that the Accept header allows. Raises 406 where there is none."""
    if not header or header == JSON:
        return _PLAIN
    found = _remembered(header) if len(header) <= _LONGEST_REMEMBERED else _negotiate(header)
    if found is None:
        raise errors.not_acceptable(MEDIA_TYPES)
    return found


@lru_cache(maxsize=256)
def _remembered(header: str) -> Representation | None:
    return _negotiate(header)


def _negotiate(header: str) -> Representation | None:
    for clause in clauses(header):
        media_type = _media_type(clause.media_range)
        if clause.quality > 0 and media_type:
            shape = clause.parameters.get("as", "")
            if not shape:
                return Representation(media_type)
            if (known := _shape(clause.parameters)) is not None:
                return Representation(media_type, known, clause.parameters.get("v", "v1"))
    return None


@valueclass
class Clause:
    """One alternative of an Accept header; names in lower case."""

    media_range: str
    quality: float
    parameters: dict[str, str]


def clauses(header: str) -> list[Clause]:
    """The alternatives, the preferred first."""
    found = [_clause(text) for text in header.split(",")]
    found.sort(key=lambda clause: -clause.quality)  # stable: the client's order decides ties
    return found


def _clause(text: str) -> Clause:
    media_range, *rest = (part.strip() for part in text.split(";"))
    parameters = {}
    for part in rest:
        key, _, value = part.partition("=")
        parameters[key.strip().lower()] = value.strip().strip('"')
    try:
        quality = float(parameters.pop("q", "1"))
    except ValueError:
        quality = 1.0
    return Clause(media_range.lower(), quality, parameters)


def _media_type(media_range: str) -> str:
    """The first of ours that the range covers."""
    if media_range in ("*/*", "application/*", "*"):
        return JSON
    return media_range if media_range in MEDIA_TYPES else ""


def _shape(parameters: dict[str, str]) -> Shape | None:
    if parameters.get("g") != "meta.k8s.io" or parameters.get("v") not in ("v1", "v1beta1"):
        return None
    try:
        return Shape(parameters["as"])
    except ValueError:
        return None


def streamed(header: str) -> Representation:
    """As `accepted`, for a watch: its frames are lines of JSON, YAML has no framing."""
    found = accepted(header)
    if not found.yaml:
        return found
    without = ",".join(part for part in header.split(",") if YAML not in part.lower())
    if not without.strip():
        raise errors.not_acceptable((JSON,))
    return streamed(without)


def body_type(header: str, allowed: Sequence[str], default: str = JSON) -> str:
    """The media type of a body. Raises 415 with what is allowed."""
    if header in allowed:
        return header
    media_type = header.partition(";")[0].strip().lower()
    if not media_type:
        media_type = default
    if media_type not in allowed:
        raise errors.unsupported_media_type(allowed)
    return media_type
