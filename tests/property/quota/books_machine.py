"""Any sequence of writes, against sums that are recomputed from the objects that exist."""

from collections import Counter, defaultdict

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from admission.quota.usage import Usage, add, decode
from admission.quota.views import quota_references
from apis.meta.errors import StatusError
from apis.meta.keys import object_key
from apis.meta.transaction import Object
from tests import builders
from tests.admission_examples import charge_by
from tests.fakes.served_world import ServedWorld
from tests.fakes.world import World

NAMESPACES = ("garden-a", "garden-b")
QUOTAS = {"s1": "secret", "s2": "secret", "p1": "project", "p2": "project"}
BINDINGS = ("b1", "b2")
SHOOTS = ("x", "y", "z")
MACHINES = ("small", "large", "gpu")


def workers(pools: list[tuple[str, int, int]]) -> list[Object]:
    return [
        builders.a_worker(name=f"w{i}", machine=machine, maximum=count, minimum=0, size=f"{size}Gi")
        for i, (machine, count, size) in enumerate(pools)
    ]


POOLS = st.lists(
    st.tuples(st.sampled_from(MACHINES), st.integers(0, 3), st.integers(1, 9)),
    min_size=1,
    max_size=2,
)
LIMITS = st.dictionaries(
    st.sampled_from(("cpus", "memory", "machines", "shoots", "disk.standard", "gpu")),
    st.sampled_from(("0", "3", "8", "20Gi", "100Gi")),
)


class BooksMachine(RuleBasedStateMachine):
    """The model is the set of objects; every ledger must be the sum over it, after every write."""

    def __init__(self) -> None:
        super().__init__()
        self.world: World | ServedWorld = self.make_world()
        self.profile = builders.a_profile()

    def make_world(self) -> World | ServedWorld:
        return World()

    @initialize()
    def prices(self) -> None:
        self.world.put(self.profile)

    def attempt(self, obj: Object) -> bool:
        before = dict(self.world.records)
        try:
            self.world.put(obj)
        except StatusError as refused:
            code = refused.code
        else:
            return True
        assert code in (403, 409, 422)
        assert self.world.records == before
        return False

    def removed(self, kind: str, namespace: str, name: str) -> bool:
        try:
            self.world.delete(kind, namespace, name)
        except StatusError as refused:
            code = refused.code
        else:
            return True
        assert code == 409
        return False

    def objects(self, plural: str) -> dict[str, Object]:
        prefix = f"garden.sapcloud.io/{plural}/"
        found = self.world.records.items()
        return {key: record.object() for key, record in found if key.startswith(prefix)}

    @rule(name=st.sampled_from(sorted(QUOTAS)), metrics=LIMITS)
    def write_quota(self, name: str, metrics: dict[str, str]) -> None:
        quota = builders.a_quota(name=name, scope=QUOTAS[name])
        quota["spec"]["metrics"] = metrics
        assert self.attempt(quota)

    @rule(name=st.sampled_from(sorted(QUOTAS)))
    def delete_quota(self, name: str) -> None:
        key = object_key("quotas", "garden-trial", name)
        used = any(key in self.quotas_of(b) for b in self.objects("crosssecretbindings").values())
        if key in self.world.records:
            assert self.removed("Quota", "garden-trial", name) == (not used)

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        name=st.sampled_from(BINDINGS),
        quotas=st.lists(st.sampled_from(sorted(QUOTAS)), max_size=3, unique=True),
    )
    def write_binding(self, namespace: str, name: str, quotas: list[str]) -> None:
        before = self.objects("crosssecretbindings").get(
            object_key("crosssecretbindings", namespace, name)
        )
        admitted = self.attempt(builders.a_binding(name=name, namespace=namespace, quotas=quotas))
        exist = all(object_key("quotas", "garden-trial", q) in self.world.records for q in quotas)
        scopes = Counter(QUOTAS[q] for q in quotas)
        if before is None:
            assert admitted == (exist and all(n == 1 for n in scopes.values()))

    @rule(namespace=st.sampled_from(NAMESPACES), name=st.sampled_from(BINDINGS))
    def delete_binding(self, namespace: str, name: str) -> None:
        key = object_key("crosssecretbindings", namespace, name)
        if key not in self.world.records:
            return
        used = any(self.binding_of(shoot) == key for shoot in self.objects("shoots").values())
        assert self.removed("CrossSecretBinding", namespace, name) == (not used)

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        name=st.sampled_from(SHOOTS),
        binding=st.sampled_from(BINDINGS),
        pools=POOLS,
        nginx=st.booleans(),
    )
    def write_shoot(
        self,
        namespace: str,
        name: str,
        binding: str,
        pools: list[tuple[str, int, int]],
        nginx: bool,
    ) -> None:
        key = object_key("shoots", namespace, name)
        old = self.objects("shoots").get(key)
        if old is not None:
            binding = old["spec"]["cloud"]["secretBindingRef"]["name"]
        shoot = builders.a_shoot(
            name=name, namespace=namespace, binding=binding, workers=workers(pools), nginx=nginx
        )
        expected = self.fits(shoot, old)
        assert self.attempt(shoot) == expected

    @rule(namespace=st.sampled_from(NAMESPACES), name=st.sampled_from(SHOOTS))
    def delete_shoot(self, namespace: str, name: str) -> None:
        if object_key("shoots", namespace, name) in self.world.records:
            self.world.delete("Shoot", namespace, name)

    # -- the model ---------------------------------------------------------------------------

    @staticmethod
    def quotas_of(binding: Object) -> list[str]:
        return [object_key("quotas", ns, name) for ns, name in quota_references(binding)]

    @staticmethod
    def binding_of(shoot: Object) -> str:
        ref = shoot["spec"]["cloud"]["secretBindingRef"]
        return object_key("crosssecretbindings", shoot["metadata"]["namespace"], ref["name"])

    def cost(self, shoot: Object) -> Usage:
        return decode(charge_by(shoot, self.profile).charge)

    def sums(self) -> tuple[dict[str, Usage], dict[tuple[str, str], Usage], dict[str, Usage]]:
        """By quota of secret scope, by (quota, namespace), by binding."""
        bindings = self.objects("crosssecretbindings")
        whole: dict[str, Usage] = defaultdict(dict)
        parts: dict[tuple[str, str], Usage] = defaultdict(dict)
        ledgers: dict[str, Usage] = defaultdict(dict)
        for shoot in self.objects("shoots").values():
            binding, cost = self.binding_of(shoot), self.cost(shoot)
            add(ledgers[binding], cost)
            for quota in self.quotas_of(bindings[binding]):
                add(whole[quota], cost)
                add(parts[quota, shoot["metadata"]["namespace"]], cost)
        return whole, parts, ledgers

    def fits(self, shoot: Object, old: Object | None) -> bool:
        """Judged the long way round: the limits against sums over everything that exists."""
        binding = self.objects("crosssecretbindings").get(self.binding_of(shoot))
        if binding is None:
            return False
        whole, parts, _ = self.sums()
        new, before = self.cost(shoot), self.cost(old) if old is not None else {}
        if all(new.get(m, 0) <= before.get(m, 0) for m in {*new, *before}):
            return old is not None or not new
        for key in self.quotas_of(binding):
            quota = self.world.get(key)
            namespace = shoot["metadata"]["namespace"]
            is_secret = quota["spec"]["scope"] == "secret"
            used = whole[key] if is_secret else parts[key, namespace]
            limits = {
                {"cpus": "cpu", "disk.standard": "storage.standard"}.get(m, m): decode({m: q})[m]
                for m, q in quota["spec"]["metrics"].items()
            }
            for metric, limit in limits.items():
                grown = new.get(metric, 0) - before.get(metric, 0)
                if grown > 0 and used.get(metric, 0) + grown > limit:
                    return False
        return True

    @invariant()
    def every_ledger_is_the_sum_of_what_exists(self) -> None:
        whole, parts, ledgers = self.sums()
        for key, quota in self.objects("quotas").items():
            if quota["spec"]["scope"] == "secret":
                assert decode(self.world.records[key].header.charge) == whole[key]
                assert quota["status"]["used"].keys() == quota["spec"]["metrics"].keys()
        usages = {
            (
                object_key(
                    "quotas", u["spec"]["quotaRef"]["namespace"], u["spec"]["quotaRef"]["name"]
                ),
                u["metadata"]["namespace"],
            ): decode(self.world.records[key].header.charge)
            for key, u in self.objects("quotausages").items()
        }
        assert usages == {at: sums for at, sums in parts.items() if sums}
        stored = {
            key.removeprefix(".ledger/bindings/"): decode(record.header.charge)
            for key, record in self.world.records.items()
            if key.startswith(".ledger/bindings/")
        }
        assert stored == {
            key.removeprefix("garden.sapcloud.io/"): sums for key, sums in ledgers.items()
        }

    @invariant()
    def reference_counts_are_the_number_of_bindings(self) -> None:
        counts = Counter(
            key.removeprefix("garden.sapcloud.io/quotas/")
            for binding in self.objects("crosssecretbindings").values()
            for key in self.quotas_of(binding)
        )
        stored = {
            key.removeprefix(".ledger/quotas/"): record.header.count
            for key, record in self.world.records.items()
            if key.startswith(".ledger/quotas/")
        }
        assert stored == dict(counts)
