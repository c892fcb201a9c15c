"""What etcd's failures mean: what is surely not done, and what may have been.

Every failure of a request is one of these:

* an exception of `apis.meta.transaction` or `storage.interface`: etcd gave a definite answer, or was
  never reached. Nothing was written. (`NoSpace` is the exception: etcd gives it also to the write
  that filled its database, and that one is applied.)
* `Unanswered`: the request went out and no definite answer came. A write may have been applied.
"""

from collections.abc import Sequence

from apis.meta.transaction import NoSpace, TooLarge, TransactionError, Unavailable
from storage.etcd import wire
from storage.interface import Expired, StorageError

_GRPC_UNCERTAIN = frozenset({1, 2, 4, 8, 10, 13, 14})
"""cancelled, unknown, deadline exceeded, resource exhausted, aborted, internal, unavailable."""


class Unanswered(TransactionError):
    """The request went out, but no definite answer came back: it may or may not have been done."""


class Disconnected(Unanswered):
    """The connection ended before the answer."""


class FutureRevision(StorageError):
    """The revision asked for does not exist yet."""


class Unreachable(Unavailable):
    """No connection came about, so that nothing was sent."""


_REFUSALS: Sequence[tuple[str, type[Exception]]] = (
    ("required revision has been compacted", Expired),
    ("required revision is a future revision", FutureRevision),
    ("request is too large", TooLarge),
    ("too many operations", TooLarge),
    ("message larger than max", TooLarge),
    ("database space exceeded", NoSpace),
    ("too many requests", Unavailable),
)


def refusal(status: int, data: bytes) -> Exception:
    """The exception for an answer that is not 200: what is surely not done, and what is uncertain."""
    try:
        error = wire.decode(data)
        message, code = (
            str(error.get("error") or error.get("message")),
            int(error.get("code") or error.get("grpc_code") or 2),
        )
    except (ValueError, AttributeError, TypeError):
        text = data[:200].decode(errors="replace").strip()
        return Unavailable(f"not the gateway of etcd 3.4 or newer, it answers {status}: {text}")
    for words, exception in _REFUSALS:
        if words in message:
            return exception(f"etcd: {message}")
    return (Unanswered if code in _GRPC_UNCERTAIN else Unavailable)(f"etcd: {message}")
