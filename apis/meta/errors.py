"""Everything that a client may be told went wrong: metav1 Status, in kube-apiserver's words.

Reasons and details are what client libraries branch on (`IsNotFound`, `IsConflict`, the seconds
after which to come again), so each has one constructor here and nobody assembles a Status by
hand. `status` is the answer to the client; `message` alone is the exception's text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apis.meta.fields import FieldError, go_quote

if TYPE_CHECKING:  # resource.py reaches schema.py, which may want this module
    from apis.meta.resource import Resource

Details = Mapping[str, Any]

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
"""Why an update with an outdated resourceVersion conflicts."""


MAX_CAUSES = 200
"""More faults than anybody reads: a body of a megabyte can have so many that telling them all would
take a hundred."""


class StatusError(Exception):
    """An answer other than success. A 500 is a fault of the server's own: its reason is InternalError."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Details | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after_seconds = retry_after_seconds

    def status(self) -> dict[str, Any]:
        """The metav1 Status object."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        status["reason"] = self.reason
        details = dict(self.details) if self.details is not None else None
        if self.retry_after_seconds is not None:
            details = {**(details or {}), "retryAfterSeconds": self.retry_after_seconds}
        if details is not None:
            status["details"] = details
        status["code"] = self.code
        return status


def success_status(resource: Resource, name: str, uid: str) -> dict[str, Any]:
    """The answer to a DELETE that removed the object."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": _details(resource, name, uid=uid),
    }


def not_found(resource: Resource, name: str) -> StatusError:
    message = f"{resource.group_resource} {go_quote(name)} not found"
    return StatusError(404, "NotFound", message, details=_details(resource, name))


def no_subresource(
    resource: Resource, name: str, subresource: str, known: Sequence[str]
) -> StatusError:
    """kube-apiserver says that the object is not found, whether it is there or not."""
    message = f"{resource.group_resource} has no subresource {go_quote(subresource)}"
    has = ", ".join(known) or "none"
    return StatusError(
        404, "NotFound", f"{message} (it has: {has})", details=_details(resource, name)
    )


def already_exists(resource: Resource, name: str, *, terminating: bool = False) -> StatusError:
    """`terminating`: the object that is in the way is being deleted."""
    message = f"{resource.group_resource} {go_quote(name)} already exists"
    if terminating:
        message = f"object is being deleted: {message}"
    return StatusError(409, "AlreadyExists", message, details=_details(resource, name))


def conflict(resource: Resource, name: str, why: str = MODIFIED) -> StatusError:
    message = f"Operation cannot be fulfilled on {resource.group_resource} {go_quote(name)}: {why}"
    return StatusError(409, "Conflict", message, details=_details(resource, name))


def precondition_failed(
    resource: Resource, name: str, *, field: str, wanted: str, found: str
) -> StatusError:
    """A delete whose precondition does not hold; `field` is `uid` or `resourceVersion`.

    kube-apiserver names the kind here where all other conflicts name the resource.
    """
    label, change = {
        "uid": ("UID", "deleted and then recreated"),
        "resourceVersion": ("ResourceVersion", "modified"),
    }[field]
    message = (
        f"Operation cannot be fulfilled on {resource.kind}.{resource.group} {go_quote(name)}: "
        f"the {label} in the precondition ({wanted}) does not match the {label} in record "
        f"({found}). The object might have been {change}"
    )
    details = {"name": name, "group": resource.group, "kind": resource.kind}
    return StatusError(409, "Conflict", message, details=details)


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    """422 with one cause per error. Equal errors are one in the message, each a cause of its own.

    At most MAX_CAUSES are told.

    `kind` is what kube-apiserver shows: the kind mostly, the plural for an update without a
    resourceVersion, `CreateOptions` (group `meta.k8s.io`) and the like for query parameters.
    """
    left_out = len(errors) - MAX_CAUSES
    errors = errors[:MAX_CAUSES]
    texts = list(dict.fromkeys(str(error) for error in errors))
    if left_out > 0:
        texts.append(f"and {left_out} more")
    message = f"{f'{kind}.{group}' if group else kind} {go_quote(name)} is invalid"
    if len(texts) == 1:
        message = f"{message}: {texts[0]}"
    elif texts:
        message = f"{message}: [{', '.join(texts)}]"
    details: dict[str, Any] = {
        key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value
    }
    if errors:
        details["causes"] = [
            {"reason": error.type.value, "message": error.message, "field": error.field}
            for error in errors
        ]
    return StatusError(422, "Invalid", message, details=details)


def unprocessable(why: str) -> StatusError:
    """A patch that is well-formed and cannot be applied. kube-apiserver does not say why."""
    return StatusError(422, "Invalid", why, details={})


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unrecognized(kind: str, why: str) -> StatusError:
    """A body that is no object of the expected kind."""
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why}")


def forbidden(resource: Resource, name: str, why: str) -> StatusError:
    """`name` is empty for a collection, and for an object that has no name yet."""
    subject = f"{resource.group_resource} {go_quote(name)}" if name else resource.group_resource
    message = f"{subject} is forbidden: {why}"
    return StatusError(403, "Forbidden", message, details=_details(resource, name))


def forbidden_path(why: str) -> StatusError:
    """A request that is about no resource."""
    return StatusError(403, "Forbidden", f"forbidden: {why}", details={})


def unauthorized(message: str = "Unauthorized") -> StatusError:
    return StatusError(401, "Unauthorized", message)


def method_not_allowed(resource: Resource, verb: str) -> StatusError:
    message = f"{verb} is not supported on resources of kind {go_quote(resource.group_resource)}"
    return StatusError(405, "MethodNotAllowed", message, details=_details(resource, ""))


def method_not_allowed_here() -> StatusError:
    """For a path that is no resource's."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return StatusError(406, "NotAcceptable", message)


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )
    return StatusError(415, "UnsupportedMediaType", message)


def entity_too_large(message: str) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def expired(message: str) -> StatusError:
    """A resourceVersion or continue token that is really gone: the client lists again."""
    return StatusError(410, "Expired", message)


def too_large_resource_version(requested: int, current: int) -> StatusError:
    """A version that no server has reached; the client comes again, it may be newer elsewhere."""
    return StatusError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {requested}, current: {current}",
        details={
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ]
        },
        retry_after_seconds=1,
    )


def server_timeout(resource: Resource, verb: str, seconds: int) -> StatusError:
    """The operation was not carried out, or nobody can tell; come again after `seconds`."""
    message = (
        f"The {verb} operation against {resource.group_resource} could not be completed at this "
        "time, please try again."
    )
    details = {"name": verb, "group": resource.group, "kind": resource.plural}
    return StatusError(504, "ServerTimeout", message, details=details, retry_after_seconds=seconds)


def timeout(message: str, seconds: int) -> StatusError:
    return StatusError(504, "Timeout", f"Timeout: {message}", retry_after_seconds=seconds)


def request_timeout(message: str) -> StatusError:
    """The client took too long to send its request; nothing was done."""
    return StatusError(408, "Timeout", f"Timeout: {message}")


def service_unavailable(message: str, seconds: int = 1) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message, retry_after_seconds=seconds)


def insufficient_storage(message: str) -> StatusError:
    """kube-apiserver has no such answer: it says 500 where etcd is full.

    Without a time to retry after: client-go would retry ten times before it shows the message.
    """
    return StatusError(507, "InsufficientStorage", message)


def too_many_requests(message: str, seconds: int = 1) -> StatusError:
    return StatusError(429, "TooManyRequests", message, retry_after_seconds=seconds)


def internal_error(message: str) -> StatusError:
    text = f"Internal error occurred: {message}"
    return StatusError(500, "InternalError", text, details={"causes": [{"message": message}]})


def _details(resource: Resource, name: str, uid: str = "") -> dict[str, Any]:
    details = {"name": name, "group": resource.group, "kind": resource.plural, "uid": uid}
    return {key: value for key, value in details.items() if value}
