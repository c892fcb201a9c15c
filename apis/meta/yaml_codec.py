"""YAML to plain JSON values, as sigs.k8s.io/yaml reads it, and back. Use it through `codec`.

The values are built from the parser's events, with a stack of its own: nothing recurses, and
depth, size and the expansion of aliases are bounded while they grow, not afterwards.
Scalars follow the resolver of sigs.k8s.io/yaml (YAML 1.1, so `yes`, `on` and `y` are booleans and
`010` is 8; timestamps stay text), keys become text, merge keys (`<<`) are filled in.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import yaml

from apis.meta.decoded import (
    MAX_DEPTH,
    MAX_REPORTED_DUPLICATES,
    DecodeError,
    too_deep,
    yaml_failure,
)
from apis.meta.yaml_scalars import TAG, resolve, resolve_tagged

MAX_NODES = 100_000
"""Scalars and containers of one document: about two megabytes of ordinary YAML."""

MAX_ALIASED_BYTES = 1 << 20
"""JSON that all aliases of a document together may expand to."""

_UNSET: Any = object()
_MERGE: Any = object()


def compose(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """The value of the one document and the paths of its duplicate keys. Raises DecodeError."""
    builder = _Builder()
    try:
        for event in yaml.parse(data, Loader=yaml.CSafeLoader):
            builder.feed(event)
    except yaml.YAMLError as e:
        raise yaml_failure(_go_message(e)) from e
    return builder.value, tuple(builder.duplicates)


def _go_message(error: yaml.YAMLError) -> str:
    """The line is counted as go-yaml, another port of the same parser, counts it."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(getattr(error, "reason", "")) or "invalid document"
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        # The scanner stops before it has counted the line, the parser after.
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    problem = error.problem or "unknown problem parsing YAML content"
    return f"line {line}: {problem}" if line else problem


@dataclass(slots=True)
class _Frame:
    """A container that is being filled. `key` is the mapping's key that waits for its value."""

    container: dict[str, Any] | list[Any]
    anchor: str | None
    key: Any = _UNSET
    merges: list[Any] = field(default_factory=list)


class _Builder:
    """Takes the events of a stream, one by one, and has the value when the stream has ended."""

    def __init__(self) -> None:
        self.value: Any = None
        self.duplicates: list[str] = []
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Any] = {}
        self._encoded: dict[str, bytes] = {}
        self._nodes = 0
        self._aliased = 0
        self._documents = 0

    def feed(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._count()
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._count()
            self._open(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._count()
            self._place(self._resolve_alias(event.anchor or ""))
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise yaml_failure("only one document is accepted")

    def _count(self) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise yaml_failure(f"document has more than {MAX_NODES} nodes")

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        plain = event.implicit[0] and event.tag is None
        if plain and event.value == "<<" and self._awaits_key():
            self._stack[-1].key = _MERGE
            return
        value = resolve(event.value) if plain else resolve_tagged(event.tag, event.value)
        if event.anchor is not None:
            self._remember(event.anchor, value)
        self._place(value)

    def _awaits_key(self) -> bool:
        if not self._stack:
            return False
        frame = self._stack[-1]
        return isinstance(frame.container, dict) and frame.key is _UNSET

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        if self._awaits_key():
            raise yaml_failure("unsupported map key: only scalars are accepted")
        if len(self._stack) >= MAX_DEPTH:
            raise too_deep()
        if event.anchor is not None:
            self._remember(event.anchor, _UNSET)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        self._stack.append(_Frame({} if is_mapping else [], event.anchor))

    def _close(self) -> None:
        frame = self._stack.pop()
        if isinstance(frame.container, dict):
            for source in frame.merges:
                for key, value in source.items():
                    frame.container.setdefault(key, value)
        if frame.anchor is not None:
            self._remember(frame.anchor, frame.container)
        self._place(frame.container)

    def _place(self, value: Any) -> None:
        if not self._stack:
            self.value = value
            return
        frame = self._stack[-1]
        if isinstance(frame.container, list):
            frame.container.append(value)
        elif frame.key is _UNSET:
            frame.key = _key_text(value)
            if frame.key in frame.container:
                self._report_duplicate()
        elif frame.key is _MERGE:
            frame.merges.extend(_merge_sources(value))
            frame.key = _UNSET
        else:
            frame.container[frame.key] = value
            frame.key = _UNSET

    def _report_duplicate(self) -> None:
        path = "".join(_path_parts(self._stack)).removeprefix(".")
        if len(self.duplicates) < MAX_REPORTED_DUPLICATES and path not in self.duplicates:
            self.duplicates.append(path)

    def _remember(self, anchor: str, value: Any) -> None:
        self._anchors[anchor] = value
        self._encoded.pop(anchor, None)

    def _resolve_alias(self, anchor: str) -> Any:
        """A copy: two places of one object must never change together."""
        value = self._anchors.get(anchor, _MERGE)
        if value is _MERGE:
            raise yaml_failure(f"unknown anchor '{anchor}' referenced")
        if value is _UNSET:
            raise yaml_failure(f"anchor '{anchor}' value contains itself")
        encoded = self._encoded.get(anchor)
        if encoded is None:
            try:
                encoded = self._encoded[anchor] = orjson.dumps(value)
            except orjson.JSONEncodeError as e:
                raise too_deep() from e
        self._aliased += len(encoded)
        if self._aliased > MAX_ALIASED_BYTES:
            raise yaml_failure("document contains excessive aliasing")
        return orjson.loads(encoded)


def _path_parts(stack: list[_Frame]) -> Iterator[str]:
    for frame in stack:
        if isinstance(frame.container, list):
            yield f"[{len(frame.container)}]"
        elif frame.key is not _MERGE:
            yield f".{frame.key}"


def _merge_sources(value: Any) -> list[dict[str, Any]]:
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise yaml_failure("map merge requires map or sequence of maps as the value")
    return sources


def _key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    if isinstance(key, float):
        return repr(key).removesuffix(".0")
    raise yaml_failure("unsupported map key of type: null")


class _Dumper(yaml.CSafeDumper):
    """Sorted, block style, no aliases; quotes what the resolver above would not read as text."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    try:
        is_text = resolve(text) == text and text != "<<"
    except DecodeError:
        is_text = False
    style = None if is_text else '"'
    return dumper.represent_scalar(f"{TAG}str", text, style=style)


def _represent_float(dumper: _Dumper, value: float) -> yaml.ScalarNode:
    return dumper.represent_scalar(f"{TAG}float", repr(value))


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_float)


def serialise(obj: Any) -> bytes:
    text: bytes = yaml.dump(
        obj,
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=True,
        allow_unicode=True,
        width=1 << 20,  # lines are never folded: a long text stays on one line, as kubectl's
        encoding="utf-8",
    )
    return text
