"""What a DELETE asks for besides its object: DeleteOptions, in its body or its query.

Where there is a body it alone says what is asked for, as with kube-apiserver. The query is judged
all the same, which kube-apiserver does not do: a request of which any part cannot be read deletes
nothing. A dry run may be asked for by either.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apis.meta import codec, errors, fields
from apis.meta.fields import FieldError
from apis.meta.structure import ABSENT
from quotaapi.endpoints.query import Query, boolean, dry_run_faults, integer, parse, refuse
from quotaapi.registry.options import DeleteOptions

_POLICIES: Final = ("Foreground", "Background", "Orphan")


def delete_options(text: str, body: Any = ABSENT) -> DeleteOptions:
    """`text`: the query; `body`: decoded, ABSENT where there is none. Raises 400 and 422."""
    asked = [_of_query(parse(text))]
    if body is not ABSENT:
        asked.append(_of_body(body))
    for options in asked:
        refuse("DeleteOptions", [*_policy_faults(options), *dry_run_faults(options["dryRun"])])
    given = asked[-1]
    policy: str = given["propagationPolicy"] or ""
    if (orphan := given["orphanDependents"]) is not None:
        policy = "Orphan" if orphan else "Background"
    return DeleteOptions(
        dry_run=any(options["dryRun"] for options in asked),
        uid=given["preconditions"].get("uid"),
        resource_version=given["preconditions"].get("resourceVersion"),
        propagation=policy,
        grace_period_seconds=given["gracePeriodSeconds"],
    )


def _policy_faults(given: Mapping[str, Any]) -> list[FieldError]:
    policy = given["propagationPolicy"]
    if policy is None:
        return []
    faults = []
    if given["orphanDependents"] is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        faults.append(fields.invalid("propagationPolicy", policy, why))
    if policy not in _POLICIES:
        faults.append(fields.not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    return faults


def _of_query(query: Query) -> dict[str, Any]:
    """An empty precondition in a query is none."""
    given = {name: values[0] for name, values in query.items()}
    return {
        "dryRun": list(query.get("dryRun", ())),
        "propagationPolicy": given.get("propagationPolicy"),
        "orphanDependents": boolean(query, "orphanDependents"),
        "gracePeriodSeconds": integer(query, "gracePeriodSeconds"),
        "preconditions": {
            name: given[name] for name in ("uid", "resourceVersion") if given.get(name)
        },
    }


_TYPES: Final[Mapping[str, tuple[type, str]]] = {
    "gracePeriodSeconds": (int, "int64"),
    "preconditions": (dict, "v1.Preconditions"),
    "orphanDependents": (bool, "bool"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "dryRun": (list, "[]string"),
    "ignoreStoreReadErrorWithClusterBreakingPotential": (bool, "bool"),
}
"""Field -> its type, in Python and in Go. null is as if the field were absent."""


def _of_body(given: Any) -> dict[str, Any]:
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise _no_options(f"{codec.json_type(given)} into Go value of type v1.DeleteOptions")
    for key in ("apiVersion", "kind"):
        value = given.get(key)
        if value is not None and not isinstance(value, str):
            raise _no_options(
                f"{codec.json_type(value)} into Go struct field .{key} of type string"
            )
    if given.get("kind") not in (None, "", "DeleteOptions"):
        raise errors.bad_request("decoded object cannot be converted to DeleteOptions")
    options: dict[str, Any] = {}
    for key, (wanted, go_type) in _TYPES.items():
        value = options[key] = given.get(key)
        if value is not None:
            _check_type(value, wanted, f"DeleteOptions.{key}", go_type)
    options["dryRun"] = _texts(options["dryRun"] or ())
    options["preconditions"] = options["preconditions"] or {}
    for key, go_type in (("uid", "types.UID"), ("resourceVersion", "string")):
        value = options["preconditions"].get(key)
        if value is not None:
            _check_type(value, str, f"Preconditions.preconditions.{key}", go_type)
    return options


def _texts(values: Sequence[Any]) -> list[str]:
    """null in a list of texts is an empty one, as in Go."""
    for value in values:
        if value is not None:
            _check_type(value, str, "DeleteOptions.dryRun", "string")
    return [value or "" for value in values]


def _check_type(value: object, wanted: type, where: str, go_type: str) -> None:
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        found = codec.json_type(value)
        raise errors.bad_request(
            f"json: cannot unmarshal {found} into Go struct field {where} of type {go_type}"
        )


def _no_options(why: str) -> errors.StatusError:
    return errors.bad_request(
        f"couldn't get version/kind; json parse error: json: cannot unmarshal {why}"
    )
