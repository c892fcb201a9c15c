"""Every Status that kube-apiserver was recorded to answer is what our constructors make."""

import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from apis.meta import errors
from apis.meta.errors import StatusError
from apis.meta.fields import ErrorType, FieldError
from apis.meta.resource import Resource
from tests.shared_material import shared

Status = dict[str, Any]

GROUP = "garden.sapcloud.io"
NO_SCHEMA: Any = None
PRECONDITION = re.compile(
    r".*: the (UID|ResourceVersion) in the precondition \((.*)\) does not match the \1 in record \((.*)\)\. .*"
)
FIELDS = {"UID": "uid", "ResourceVersion": "resourceVersion"}


def resource(plural: str) -> Resource:
    kind = {"quotas": "Quota", "cloudprofiles": "CloudProfile"}[plural]
    return Resource(kind=kind, plural=plural, singular=kind.lower(), schema=NO_SCHEMA, group=GROUP)


def rebuild_conflict(status: Status) -> StatusError:
    details = status["details"]
    if found := PRECONDITION.fullmatch(status["message"]):
        field, wanted, record = FIELDS[found[1]], found[2], found[3]
        return errors.precondition_failed(
            resource("quotas"), details["name"], field=field, wanted=wanted, found=record
        )
    why = status["message"].partition(": ")[2]
    if why == errors.MODIFIED:
        return errors.conflict(resource(details["kind"]), details["name"])
    return errors.conflict(resource(details["kind"]), details["name"], why)


def rebuild_invalid(status: Status) -> StatusError:
    details = status["details"]
    if not details:
        return errors.unprocessable(status["message"])
    faults = [
        FieldError(ErrorType(cause["reason"]), cause["field"], cause["message"])
        for cause in details["causes"]
    ]
    kind, group, name = (details.get(key, "") for key in ("kind", "group", "name"))
    return errors.invalid(kind, group, name, faults)


def rebuild_already_exists(status: Status) -> StatusError:
    details = status["details"]
    terminating = status["message"].startswith("object is being deleted")
    return errors.already_exists(
        resource(details["kind"]), details["name"], terminating=terminating
    )


def media_types(status: Status) -> list[str]:
    listed: str = status["message"].rpartition(": ")[2]
    return listed.split(", ")


def rebuild_not_acceptable(status: Status) -> StatusError:
    return errors.not_acceptable(media_types(status))


REBUILD: dict[str, Callable[[Status], StatusError]] = {
    "NotFound": lambda status: errors.not_found(
        resource(status["details"]["kind"]), status["details"]["name"]
    ),
    "AlreadyExists": rebuild_already_exists,
    "Conflict": rebuild_conflict,
    "Invalid": rebuild_invalid,
    "BadRequest": lambda status: errors.bad_request(status["message"]),
    "NotAcceptable": rebuild_not_acceptable,
    "UnsupportedMediaType": lambda status: errors.unsupported_media_type(media_types(status)),
    "Expired": lambda status: errors.expired(status["message"]),
}


def golden() -> list[Status]:
    scenarios = orjson.loads(shared("conformance/golden.json").read_bytes())
    steps = [step for scenario in scenarios.values() for step in scenario]
    bodies = [step.get("body") for step in steps]
    bodies += [event["object"] for step in steps for event in step.get("events", ())]
    return [body for body in bodies if isinstance(body, dict) and body.get("kind") == "Status"]


def is_applied(status: Status) -> bool:
    """Server-side apply has conflicts of its own, by field."""
    return str(status["message"]).startswith("Apply failed")


def is_a_slip(status: Status) -> bool:
    """A 500 for a client's mistake, which this server never answers."""
    return bool(status["code"] == 500)


def is_wrong_shape(status: Status) -> bool:
    """The one 406 that lists no media types."""
    return "PartialObjectMetadata" in status["message"]


def test_every_recorded_failure_can_be_said_in_the_same_words() -> None:
    failures = [status for status in golden() if status["status"] == "Failure"]
    compared = 0
    for status in failures:
        if is_applied(status) or is_wrong_shape(status) or is_a_slip(status):
            continue
        rebuilt = REBUILD[status.get("reason", "")](status).status()
        assert rebuilt == status
        compared += 1
    assert compared > 80


def test_a_deletion_is_answered_as_recorded() -> None:
    answers = [status for status in golden() if status["status"] == "Success"]
    assert answers
    for status in answers:
        details = status["details"]
        built = errors.success_status(resource(details["kind"]), details["name"], details["uid"])
        assert built == status


@pytest.mark.parametrize(
    ("error", "code", "reason", "retry"),
    [
        (errors.timeout("etcd is away", 2), 504, "Timeout", 2),
        (errors.server_timeout(resource("quotas"), "create", 3), 504, "ServerTimeout", 3),
        (errors.service_unavailable("starting", 4), 503, "ServiceUnavailable", 4),
        (errors.too_many_requests("slow down", 5), 429, "TooManyRequests", 5),
        (errors.too_large_resource_version(9, 7), 504, "Timeout", 1),
    ],
)
def test_who_may_come_again_is_told_when(
    error: StatusError, code: int, reason: str, retry: int
) -> None:
    status = error.status()
    assert (status["code"], status["reason"]) == (code, reason)
    assert status["details"]["retryAfterSeconds"] == retry
    assert error.retry_after_seconds == retry


def test_a_version_that_is_too_large_is_told_apart_by_its_cause() -> None:
    status = errors.too_large_resource_version(9, 7).status()
    assert status["message"] == "Timeout: Too large resource version: 9, current: 7"
    assert [cause["reason"] for cause in status["details"]["causes"]] == ["ResourceVersionTooLarge"]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            errors.forbidden(resource("quotas"), "a", "exceeded quota"),
            403,
            'quotas.garden.sapcloud.io "a" is forbidden: exceeded quota',
        ),
        (
            errors.forbidden(resource("quotas"), "", "no"),
            403,
            "quotas.garden.sapcloud.io is forbidden: no",
        ),
        (errors.forbidden_path("no"), 403, "forbidden: no"),
        (errors.unauthorized(), 401, "Unauthorized"),
        (
            errors.method_not_allowed(resource("quotas"), "create"),
            405,
            'create is not supported on resources of kind "quotas.garden.sapcloud.io"',
        ),
        (errors.entity_too_large("limit is 3"), 413, "Request entity too large: limit is 3"),
        (errors.internal_error("oops"), 500, "Internal error occurred: oops"),
        (
            errors.unrecognized("Quota", "why"),
            400,
            "the object provided is unrecognized (must be of type Quota): why",
        ),
    ],
)
def test_the_words_of_errors_that_were_not_recorded(
    error: StatusError, code: int, message: str
) -> None:
    assert (error.code, error.message) == (code, message)
    assert error.status()["message"] == str(error)


def test_an_invalid_object_without_causes_has_no_details_of_any() -> None:
    status = errors.invalid("Quota", GROUP, "a", []).status()
    assert status["message"] == 'Quota.garden.sapcloud.io "a" is invalid'
    assert "causes" not in status["details"]


def test_names_are_quoted_as_go_quotes_them() -> None:
    error = errors.not_found(resource("quotas"), 'a"\n\u200b')
    assert error.message == r'quotas.garden.sapcloud.io "a\"\n\u200b" not found'
