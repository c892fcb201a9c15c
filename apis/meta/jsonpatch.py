"""JSON patch (RFC 6902), with the verdicts of the library that kube-apiserver uses (evanphx/json-patch, v4).

Where that is more lenient than the RFC, so is this, since clients are written against it:

* a member that an object does not have counts as null: `test` of it against null holds, `copy`
  of it makes a null, `replace` adds it; `remove` and `move` want it to be there;
* an operation without a `value` has the value null;
* an index may be signed, and a negative one counts from the end; `-` is for `add` alone;
* `~` before anything but 0 and 1 is a character like any other.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from apis.meta import codec

MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
"""What all `copy` operations of one patch may add: each of them can double the object."""

_SHOWN: Final = 100
"""Characters of a path or value that a message shows."""

Operation = Mapping[str, Any]


class OperationError(Exception):
    """The message says which operation cannot be carried out, and why."""


class _CannotError(Exception):
    """Why not."""


def apply(document: Any, operations: list[Operation]) -> Any:
    """The patched document. Both are used up: changed in place, and parts of the result.

    `op`, `path` and `from` are texts where they are given. Raises OperationError.
    """
    application = _Application(document)
    for index, operation in enumerate(operations):
        try:
            application.carry_out(operation)
        except _CannotError as why:
            raise OperationError(_message(index, operation, str(why))) from None
        except (TypeError, RecursionError):  # what encoding and comparing say of such a value
            why_deep = "the value is nested too deeply"
            raise OperationError(_message(index, operation, why_deep)) from None
    return application.document


def _message(index: int, operation: Operation, why: str) -> str:
    what = operation.get("op") or "no op"
    path = operation.get("path")
    where = "" if path is None else f" {_shown(path)}"
    return f"JSON patch: operation [{index}], {_cut(what)}{where}, cannot be carried out: {why}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _shown(value: Any) -> str:
    return _cut(codec.encode(value).decode())


class _Application:
    """One patch on its way through one document."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self._copied = 0

    def carry_out(self, operation: Operation) -> None:
        op = operation.get("op") or ""
        carry_out = _OPERATIONS.get(op)
        if carry_out is None:
            known = ", ".join(_OPERATIONS)
            raise _CannotError(f"there is no such operation; there are {known}")
        carry_out(self, operation)

    def add(self, operation: Operation) -> None:
        self._put(_pointer(operation, "path"), operation.get("value"))

    def remove(self, operation: Operation) -> None:
        parent, key = self._parent(_pointer(operation, "path"))
        _take(parent, key)

    def replace(self, operation: Operation) -> None:
        path, value = _pointer(operation, "path"), operation.get("value")
        if not path:
            if not isinstance(value, dict | list):
                raise _CannotError("the whole can be replaced by an object or an array only")
            self.document = value
            return
        parent, key = self._parent(path)
        if isinstance(parent, dict):
            parent[key] = value
        else:
            parent[_index(parent, key)] = value

    def move(self, operation: Operation) -> None:
        parent, key = self._parent(_pointer(operation, "from"))
        self._put(_pointer(operation, "path"), _take(parent, key))

    def copy(self, operation: Operation) -> None:
        value = self._get(_pointer(operation, "from"))
        encoded = codec.encode(value)
        self._copied += len(encoded)
        if self._copied > MAX_COPIED_BYTES:
            raise _CannotError(f"the patch copies more than {MAX_COPIED_BYTES} bytes")
        self._put(_pointer(operation, "path"), codec.decode_json(encoded).value)

    def test(self, operation: Operation) -> None:
        """Compared as JSON: to Python alone `true` equals 1.

        Python's comparison comes first all the same: it ends at the first difference, and
        thousands of tests of a large object take no longer than of a small one.
        """
        path, wanted = _pointer(operation, "path"), operation.get("value")
        found = self._get(path) if path else self.document
        if found != wanted or codec.encode_sorted(found) != codec.encode_sorted(wanted):
            raise _CannotError(f"the value is {_told(found)}, not {_told(wanted)}")

    def _put(self, path: list[str], value: Any) -> None:
        parent, key = self._parent(path)
        if isinstance(parent, dict):
            parent[key] = value
        elif key == "-":
            parent.append(value)
        else:
            parent.insert(_index(parent, key, room=1), value)

    def _get(self, path: list[str]) -> Any:
        parent, key = self._parent(path)
        return parent.get(key) if isinstance(parent, dict) else parent[_index(parent, key)]

    def _parent(self, path: list[str]) -> tuple[Any, str]:
        """The object or array in which the path's last part is, or is to be."""
        if not path:
            raise _CannotError("that is the whole object")
        place = self.document
        for at, part in enumerate(path):
            if not isinstance(place, dict | list):
                lacks = "does not exist" if place is None else "is no object and no array"
                raise _CannotError(f"{_text(path[:at])} {lacks}")
            if at == len(path) - 1:
                break
            place = place.get(part) if isinstance(place, dict) else place[_index(place, part)]
        return place, path[-1]


_OPERATIONS: Final[Mapping[str, Callable[[_Application, Operation], None]]] = {
    "add": _Application.add,
    "remove": _Application.remove,
    "replace": _Application.replace,
    "move": _Application.move,
    "copy": _Application.copy,
    "test": _Application.test,
}


def _pointer(operation: Operation, name: str) -> list[str]:
    """The parts of a JSON pointer; none for the whole document."""
    text = operation.get(name)
    if text is None:
        raise _CannotError(f"it has no {name}")
    if text and text[0] != "/":
        raise _CannotError(f"{name} {_shown(text)} does not begin with a slash")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _text(path: list[str]) -> str:
    return _shown("".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in path))


def _told(value: Any) -> str:
    return "absent or null" if value is None else _shown(value)


def _take(parent: Any, key: str) -> Any:
    if isinstance(parent, list):
        return parent.pop(_index(parent, key))
    if key not in parent:
        raise _CannotError(f"there is no {_shown(key)}")
    return parent.pop(key)


def _index(array: list[Any], text: str, *, room: int = 0) -> int:
    """`room`: how far behind the last item an index may be."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise _CannotError(f"{_shown(text)} is no index of an array")
    size = len(array) + room
    # Longer ones are out of range, and Python refuses to convert thousands of digits.
    index = int(text) if len(digits) < _SHOWN else size
    if not -size <= index < size:
        raise _CannotError(f"the array has {len(array)} items, index {_cut(text)} is none of them")
    return index + size if index < 0 else index
