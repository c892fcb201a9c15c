"""The only place where what storage raises becomes what a client is told."""

from apis.meta import errors
from apis.meta.errors import StatusError
from apis.meta.resource import Resource
from apis.meta.transaction import (
    Conflict,
    NoSpace,
    OutcomeUnknown,
    TooLarge,
    TransactionError,
    Unavailable,
)
from storage.interface import (
    BadContinueToken,
    Expired,
    SlowWatcher,
    StorageError,
    TooLargeResourceVersion,
    UnreadableRecord,
)

RETRY_SECONDS = 1
"""After which a client should come again when the store is away: elections take about as long."""

UNREADABLE = (
    "what is stored is in a format that this release of the server does not know; nothing was done"
)

LowerError = TransactionError | StorageError
LOWER_ERRORS = (TransactionError, StorageError)


def read_error(error: LowerError) -> StatusError:
    """Of a get, list or watch."""
    match error:
        case TooLargeResourceVersion():
            return errors.too_large_resource_version(error.requested, error.current)
        case Expired():
            return errors.expired(str(error) or "The provided resource version is too old.")
        case BadContinueToken():
            return errors.bad_request(_continue_message(str(error)))
        case SlowWatcher():
            # Not 410: the version is still there, the client resumes from what it last saw.
            return errors.too_many_requests(
                "the watch fell too far behind and was closed; "
                "resume it from the last resourceVersion that was received",
                RETRY_SECONDS,
            )
        case UnreadableRecord():
            # Which one it is, is the log's: the client may have no right to know of it.
            return errors.service_unavailable(UNREADABLE, RETRY_SECONDS)
        case Unavailable():
            return errors.service_unavailable(
                "the server's storage cannot be reached", RETRY_SECONDS
            )
        case _:
            return errors.internal_error(f"unexpected storage error: {error}")


def write_error(error: LowerError, resource: Resource, verb: str, name: str) -> StatusError:
    """Of a create, update, patch or delete; `name` may be empty for a collection."""
    subject = f'{resource.group_resource} "{name}"' if name else resource.group_resource
    match error:
        case OutcomeUnknown():
            return errors.timeout(
                f"the outcome of the {verb} of {subject} is unknown: it may or may not have been "
                "carried out; get the object and compare its uid, resourceVersion and content "
                "before sending the request again",
                RETRY_SECONDS,
            )
        case UnreadableRecord():
            return read_error(error)
        case NoSpace():
            return errors.insufficient_storage(
                "etcd's database is full and takes no writes (reads go on): its operator has to compact and "
                "defragment it, or to raise its --quota-backend-bytes, and to disarm the alarm; "
                f"the {verb} of {subject} was not {_done(verb)}"
            )
        case Unavailable():
            return errors.service_unavailable(
                f"the server's storage cannot be reached; the {verb} of {subject} was not {_done(verb)}",
                RETRY_SECONDS,
            )
        case TooLarge():
            return errors.entity_too_large(f"{subject} exceeds what can be stored in one piece")
        case Conflict():
            return errors.conflict(resource, name)
        case _:
            return read_error(error)


def _done(verb: str) -> str:
    return "completed" if verb == "deletecollection" else "carried out"


def _continue_message(detail: str) -> str:
    if detail.startswith("invalid continue token"):
        return detail
    return f"invalid continue token: {detail or 'continue key is not valid'}"
