"""The server's own numbers for /metrics, collected from those who count."""

from collections.abc import Iterator, Sequence

from admission.quota.evaluator import Evaluator
from quotaapi.endpoints.metrics import Family, Labels, counter, gauge
from quotaapi.endpoints.mutations import Mutations
from quotaapi.endpoints.watching import Watches
from quotaapi.server.persistence import Storage


class Numbers:
    def __init__(
        self, storage: Storage, evaluator: Evaluator, mutations: Mutations, watches: Watches
    ) -> None:
        self._storage = storage
        self._evaluator = evaluator
        self._mutations = mutations
        self._watches = watches

    def statistics(self) -> Sequence[Family]:
        return [*self._requests(), *self._admission(), *self._etcd(), *self._cache()]

    def _requests(self) -> Iterator[Family]:
        yield gauge("quotaapi_writes_running", "Writes under way.", self._mutations.running)
        yield gauge("quotaapi_watches_open", "Open watches.", self._watches.open)

    def _admission(self) -> Iterator[Family]:
        found = self._evaluator.statistics()
        prefix = "quotaapi_admission"
        yield counter(f"{prefix}_batches_total", "Batches committed or confirmed.", found.batches)
        yield counter(f"{prefix}_admitted_total", "Metered requests admitted.", found.admitted)
        yield counter(f"{prefix}_refused_total", "Metered requests refused.", found.refused)
        yield counter(f"{prefix}_conflicts_total", "Batches evaluated again.", found.conflicts)
        yield counter(f"{prefix}_expired_total", "Requests that waited too long.", found.expired)
        yield gauge(f"{prefix}_waiting", "Requests that wait for a batch.", found.waiting)

    def _etcd(self) -> Iterator[Family]:
        found = self._storage.group_commit.statistics()
        prefix = "quotaapi_etcd"
        yield counter(f"{prefix}_txns_total", "Txns sent.", found.transactions)
        yield counter(f"{prefix}_operations_total", "Puts and deletes sent.", found.operations)
        yield counter(f"{prefix}_committed_total", "Transactions applied.", found.committed)
        yield counter(f"{prefix}_conflicts_total", "Transactions refused.", found.conflicts)
        yield counter(
            f"{prefix}_failed_compares_total", "Txns whose compare failed.", found.failed_compares
        )
        yield counter(
            f"{prefix}_lost_answers_total", "Txns whose answer was lost.", found.lost_answers
        )
        yield gauge(f"{prefix}_waiting", "Transactions that wait to be sent.", found.waiting)
        yield gauge(
            f"{prefix}_full",
            "1: etcd's database is full, and it takes no writes.",
            self._storage.store.space.full,
            together="max",
        )
        calls = self._storage.client.statistics()
        yield counter(f"{prefix}_calls_total", "Requests to etcd.", calls.calls)
        yield counter(f"{prefix}_call_failures_total", "Requests that failed.", calls.failures)
        yield gauge(f"{prefix}_endpoints_aside", "Endpoints set aside.", calls.endpoints_aside)

    def _cache(self) -> Iterator[Family]:
        stack = self._storage.stack
        # Every worker holds everything: the one that is behind is worth knowing.
        yield gauge(
            "quotaapi_cache_synced",
            "1: the watch cache is filled.",
            stack.reader.synced,
            together="min",
        )
        yield gauge(
            "quotaapi_cache_revision",
            "etcd revision of the cache.",
            stack.cache.revision,
            together="min",
        )
        yield counter(
            "quotaapi_cache_loads_total", "Full loads of the cache.", stack.reflector.loads
        )
        counts = stack.cache.statistics()
        for what, text in (("objects", "Objects held."), ("events", "Events kept for resuming.")):
            samples: dict[Labels, float] = {
                (("resource", name.partition(":")[2].strip("/").partition("/")[2]),): float(count)
                for name, count in counts.items()
                if name.startswith(f"{what}:")
            }
            yield Family(f"quotaapi_cache_{what}", "gauge", text, samples, "max")
