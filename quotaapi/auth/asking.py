"""What is asked of kube-apiserver, and what comes back: the values, and the one who asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from apis.meta import errors

METADATA_ONLY: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

RETRY_SECONDS: Final = 1
UNAVAILABLE: Final = "kube-apiserver, which decides this, cannot be asked for now"
"""The reason is the log's and /readyz's: it may name hosts."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`body`: decoded JSON, as it came."""

    status: int
    body: Any

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """A Status's message, for logs."""
        text = self.body.get("message", "") if isinstance(self.body, Mapping) else ""
        return f"HTTP {self.status}: {text}"


class Away(errors.StatusError):
    """A 503: kube-apiserver does not answer, or answers that it cannot for now."""

    def __init__(self) -> None:
        super().__init__(503, "ServiceUnavailable", UNAVAILABLE, retry_after_seconds=RETRY_SECONDS)


class Asker(Protocol):
    """Raises Away where nobody answers: nothing is decided by guess."""

    async def get(self, path: str, *, accept: str = "application/json") -> Answer: ...

    async def post(self, path: str, body: Mapping[str, Any]) -> Answer: ...

    def useless(self, answer: Answer) -> errors.StatusError:
        """For an answer that decides nothing: mostly the server's own rights are missing."""
        ...


def unavailable() -> errors.StatusError:
    """For an answer that decides nothing."""
    return errors.service_unavailable(UNAVAILABLE, RETRY_SECONDS)
