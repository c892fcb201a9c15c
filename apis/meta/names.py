"""What names, labels, annotations, finalizers and owner references may look like.

The rules and their words are apimachinery's. A rule answers a list of complaints, empty for a
good value, so that it can be used for any field; `validate_metadata` puts them together.
Lengths are counted in bytes, characters are ASCII: no other letter passes.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from apis.meta import codec, fields
from apis.meta.fields import ErrorType, FieldError
from apis.meta.structure import MAX_FAULTS

MAX_LABEL: Final = 63
MAX_SUBDOMAIN: Final = 253
MAX_ANNOTATIONS_BYTES: Final = 256 * 1024
"""Of all keys and values together."""

_ALPHANUMERIC_ENDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)


def _regex_complaint(words: str, pattern: str, *examples: str) -> str:
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {listed}regex used for validation is '{pattern}')"


_LABEL_PATTERN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_PATTERN = rf"{_LABEL_PATTERN}(\.{_LABEL_PATTERN})*"
_KEY_PATTERN = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_PATTERN = f"({_KEY_PATTERN})?"

_LABEL = re.compile(_LABEL_PATTERN)
_SUBDOMAIN = re.compile(_SUBDOMAIN_PATTERN)
_KEY = re.compile(_KEY_PATTERN)
_VALUE = re.compile(_VALUE_PATTERN)

_BAD_LABEL = _regex_complaint(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL_PATTERN,
    "my-name",
    "123-abc",
)
_BAD_SUBDOMAIN = _regex_complaint(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character",
    _SUBDOMAIN_PATTERN,
    "example.com",
)
_BAD_KEY = _regex_complaint(_ALPHANUMERIC_ENDS, _KEY_PATTERN, "MyName", "my.name", "123-abc")
_BAD_VALUE = _regex_complaint(
    f"a valid label must be an empty string or {_ALPHANUMERIC_ENDS.removeprefix('must ')}",
    _VALUE_PATTERN,
    "MyValue",
    "my_value",
    "12345",
)


def dns1123_label(value: str) -> list[str]:
    """A namespace's name."""
    complaints = []
    if _is_longer(value, MAX_LABEL):
        complaints.append(f"must be no more than {MAX_LABEL} characters")
    if not _LABEL.fullmatch(value):
        dotted = _SUBDOMAIN.fullmatch(value)
        complaints.append("must not contain dots" if dotted else _BAD_LABEL)
    return complaints


def dns1123_subdomain(value: str) -> list[str]:
    """An object's name."""
    complaints = []
    if _is_longer(value, MAX_SUBDOMAIN):
        complaints.append(f"must be no more than {MAX_SUBDOMAIN} characters")
    if not _SUBDOMAIN.fullmatch(value):
        complaints.append(_BAD_SUBDOMAIN)
    return complaints


@lru_cache(maxsize=2048)
def label_key(value: str) -> tuple[str, ...]:
    """A qualified name: of a label, an annotation (in lower case), a finalizer."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return (
            f"a valid label key {_BAD_KEY} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')",
        )
    complaints = []
    if slash and not prefix:
        complaints.append("prefix part must be non-empty")
    elif slash:
        complaints += [f"prefix part {complaint}" for complaint in dns1123_subdomain(prefix)]
    if not name:
        complaints.append("name part must be non-empty")
    elif _is_longer(name, MAX_LABEL):
        complaints.append(f"name part must be no more than {MAX_LABEL} bytes")
    if not _KEY.fullmatch(name):
        complaints.append(f"name part {_BAD_KEY}")
    return tuple(complaints)


def label_value(value: str) -> list[str]:
    complaints = []
    if _is_longer(value, MAX_LABEL):
        complaints.append(f"must be no more than {MAX_LABEL} bytes")
    if not _VALUE.fullmatch(value):
        complaints.append(_BAD_VALUE)
    return complaints


def _is_longer(value: str, limit: int) -> bool:
    return len(value) > limit or (not value.isascii() and len(value.encode()) > limit)


def validate_metadata(
    metadata: Mapping[str, Any], *, namespaced: bool, path: str = "metadata"
) -> list[FieldError]:
    """Everything that is wrong with an object's metadata, whose fields are of the right types.

    The name has been generated and the namespace filled in before.
    """
    errors = _validate_names(metadata, namespaced, path)
    if labels := metadata.get("labels"):
        errors += _validate_labels(labels, f"{path}.labels")
    if annotations := metadata.get("annotations"):
        errors += _validate_annotations(annotations, f"{path}.annotations")
    if owners := metadata.get("ownerReferences"):
        errors += _validate_owners(owners, f"{path}.ownerReferences")
    if finalizers := metadata.get("finalizers"):
        errors += _validate_finalizers(finalizers, f"{path}.finalizers")
    return errors


def _validate_names(metadata: Mapping[str, Any], namespaced: bool, path: str) -> list[FieldError]:
    errors = []
    if prefix := metadata.get("generateName"):
        # The dash at the end of a prefix is not the end of a name.
        stem = f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        errors += [
            fields.invalid(f"{path}.generateName", prefix, complaint)
            for complaint in dns1123_subdomain(stem)
        ]
    if name := metadata.get("name"):
        errors += [
            fields.invalid(f"{path}.name", name, complaint) for complaint in dns1123_subdomain(name)
        ]
    else:
        errors.append(fields.required(f"{path}.name", "name or generateName is required"))
    namespace = metadata.get("namespace")
    if namespaced and not namespace:
        errors.append(fields.required(f"{path}.namespace"))
    elif namespaced:
        errors += [
            fields.invalid(f"{path}.namespace", namespace, complaint)
            for complaint in dns1123_label(str(namespace))
        ]
    elif namespace:
        errors.append(fields.forbidden(f"{path}.namespace", "not allowed on this type"))
    return errors


def _validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in labels.items():
        if len(errors) >= MAX_FAULTS:
            break
        errors += [fields.invalid(path, key, complaint) for complaint in label_key(key)]
        errors += [fields.invalid(path, value, complaint) for complaint in label_value(value)]
    return errors


def _validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    faults = (
        fields.invalid(path, key, complaint)
        for key in annotations
        for complaint in label_key(key.lower())
    )
    errors = list(islice(faults, MAX_FAULTS))
    if sum(_bytes(key) + _bytes(value) for key, value in annotations.items()) > (
        MAX_ANNOTATIONS_BYTES
    ):
        errors.append(fields.too_long(path, MAX_ANNOTATIONS_BYTES))
    return errors


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _validate_owners(owners: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    """No more than MAX_FAULTS are sought: each fault of a second controller shows all owners."""
    errors: list[FieldError] = []
    controller = ""
    shown = ""
    for owner in owners:
        if len(errors) >= MAX_FAULTS:
            break
        errors += _validate_owner(owner, path)
        if not owner.get("controller"):
            continue
        found = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        if controller:
            detail = (
                'Only one reference can have Controller set to true. Found "true" in references '
                f"for {controller} and {found}"
            )
            shown = shown or _text_of([_shown(each) for each in owners])
            errors.append(_invalid_owner(path, shown, detail))
        controller = controller or found
    return errors


def _validate_owner(owner: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = []
    api_version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
    group, _, version = api_version.rpartition("/")
    if not version or "/" in group:
        detail = "version must not be empty"
        errors.append(fields.invalid(f"{path}.apiVersion", api_version, detail))
    errors += [
        fields.invalid(f"{path}.{name}", "", "must not be empty")
        for name in ("kind", "name", "uid")
        if not owner.get(name)
    ]
    if (api_version, kind) == ("v1", "Event"):
        detail = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(_invalid_owner(path, _text_of(_shown(owner)), detail))
    return errors


def _shown(owner: Mapping[str, Any]) -> dict[str, Any]:
    """In the order of fields, and with the empty ones, in which kube-apiserver shows an owner."""
    shown = {name: owner.get(name, "") for name in ("apiVersion", "kind", "name", "uid")}
    optional = ("controller", "blockOwnerDeletion")
    return {**shown, **{name: owner[name] for name in optional if name in owner}}


def _text_of(value: object) -> str:
    """In the order of fields, unlike `fields.show`."""
    text = codec.encode(value).decode()
    return text if len(text) <= fields.MAX_SHOWN else f"{text[: fields.MAX_SHOWN]}..."


def _invalid_owner(path: str, shown: str, detail: str) -> FieldError:
    return FieldError(ErrorType.INVALID, path, f"Invalid value: {shown}: {detail}")


def _validate_finalizers(finalizers: Sequence[str], path: str) -> list[FieldError]:
    faults = (
        fields.invalid(path, finalizer, complaint)
        for finalizer in finalizers
        for complaint in label_key(finalizer)
    )
    errors = list(islice(faults, MAX_FAULTS))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(fields.invalid(path, list(finalizers), detail))
    return errors
