"""What a client is told of what storage raises."""

import pytest

from apis.garden.v1beta1.register import QUOTA
from apis.meta.errors import StatusError
from apis.meta.transaction import (
    Conflict,
    OutcomeUnknown,
    TooLarge,
    TransactionError,
    Unavailable,
)
from quotaapi.registry.interpret import LowerError, read_error, write_error
from quotaapi.registry.options import DeleteOptions
from storage.interface import (
    BadContinueToken,
    Expired,
    SlowWatcher,
    TooLargeResourceVersion,
    UnreadableRecord,
)
from tests.builders import a_quota
from tests.fakes.registry_rig import NAMESPACE, USER, Rig, a_query, merging


@pytest.mark.parametrize(
    ("error", "code", "reason", "retry"),
    [
        (Unavailable(), 503, "ServiceUnavailable", 1),
        (OutcomeUnknown(), 504, "Timeout", 1),
        (TooLarge(), 413, "RequestEntityTooLarge", None),
        (Conflict({}, 0), 409, "Conflict", None),
        (TooLargeResourceVersion(9, 1), 504, "Timeout", 1),
        (TransactionError("?"), 500, "InternalError", None),
    ],
)
def test_a_failed_write(error: LowerError, code: int, reason: str, retry: int | None) -> None:
    status = write_error(error, QUOTA, "create", "a")

    assert (status.code, status.reason, status.retry_after_seconds) == (code, reason, retry)


@pytest.mark.parametrize(
    ("error", "code", "reason", "retry"),
    [
        (Unavailable(), 503, "ServiceUnavailable", 1),
        (Expired("too old resource version: 5"), 410, "Expired", None),
        (Expired(), 410, "Expired", None),
        (TooLargeResourceVersion(9, 1), 504, "Timeout", 1),
        (BadContinueToken(), 400, "BadRequest", None),
        (SlowWatcher(), 429, "TooManyRequests", 1),
    ],
)
def test_a_failed_read(error: LowerError, code: int, reason: str, retry: int | None) -> None:
    status = read_error(error)

    assert (status.code, status.reason, status.retry_after_seconds) == (code, reason, retry)
    assert status.message


def test_an_unknown_outcome_says_how_to_find_out() -> None:
    message = write_error(OutcomeUnknown(), QUOTA, "create", "a").message

    assert 'quotas.garden.sapcloud.io "a" is unknown' in message
    assert "get the object and compare its uid" in message


def test_a_future_version_has_the_cause_that_clients_look_for() -> None:
    status = read_error(TooLargeResourceVersion(9, 1)).status()

    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    "verb", ["create", "update", "patch", "delete", "collection", "get", "list", "current"]
)
async def test_no_verb_lets_a_storage_error_out(verb: str) -> None:
    rig = Rig()
    obj = a_quota(name="a", namespace=NAMESPACE)
    obj["metadata"]["resourceVersion"] = "5"
    rig.memory.failures.append(Unavailable())
    if verb == "create":
        del obj["metadata"]["resourceVersion"]
    calls = {
        "create": lambda: rig.create(obj),
        "update": lambda: rig.update(obj),
        "patch": lambda: rig.patch("a", merging({})),
        "delete": lambda: rig.delete("a"),
        "collection": lambda: rig.store.delete_collection(
            USER, NAMESPACE, a_query(), DeleteOptions()
        ),
        "get": lambda: rig.store.get(NAMESPACE, "a"),
        "list": lambda: rig.store.list(NAMESPACE, a_query()),
        "current": rig.store.current_version,
    }

    with pytest.raises(StatusError) as caught:
        await calls[verb]()

    assert caught.value.code == 503
    assert isinstance(caught.value.__cause__, Unavailable)


async def test_an_unavailable_store_in_the_midst_of_a_collection_is_told() -> None:
    rig = Rig()
    await rig.create(a_quota(name="a", namespace=NAMESPACE))
    rig.validating.append(lambda _attributes: rig.memory.failures.append(Unavailable()))

    with pytest.raises(StatusError) as caught:
        await rig.store.delete_collection(USER, NAMESPACE, a_query(), DeleteOptions())

    assert caught.value.code == 503
    assert '"a"' in caught.value.message


async def test_a_claim_is_given_back_after_an_error() -> None:
    rig = Rig()
    rig.memory.failures.append(Unavailable())

    with pytest.raises(StatusError):
        await rig.delete("a")

    assert not rig.memory.held(rig.key("a"))


def test_what_cannot_be_read_is_told_without_its_name_which_the_client_may_not_be_allowed_to_know() -> (
    None
):
    error = UnreadableRecord("garden.sapcloud.io/quotas/secret/name is stored in format 2")

    for status in (read_error(error), write_error(error, QUOTA, "create", "a")):
        assert (status.code, status.retry_after_seconds) == (503, 1)
        assert "in a format that this release of the server does not know" in status.message
        assert "secret" not in status.message
