"""Whatever comes in gets a Status with the right code, and nothing of it is stored."""

import gzip
from collections.abc import Iterator

import pytest
import requests

from apis.meta.codec import encode
from tests.builders import a_binding, a_profile, a_quota, a_shoot, a_worker
from tests.harness.api import Object, path_of
from tests.harness.etcd import counters
from tests.harness.server import ServerProcess

JSON = "application/json"
YAML = "application/yaml"
QUOTAS = "namespaces/garden-trial/quotas"


def quota_text(**replaced: str) -> bytes:
    """A valid quota's JSON with parts of the text replaced."""
    text = encode(a_quota(metrics={"cpu": "20"})).decode()
    for old, new in replaced.items():
        text = text.replace(f'"{old}"', new)
    return text.encode()


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)

BODIES = {
    "nothing": (b"", JSON, {400, 422}),
    "not json": (b"{nope", JSON, {400}),
    "half of it": (encode(a_quota())[:-5], JSON, {400}),
    "two objects": (encode(a_quota()) * 2, JSON, {400}),
    "a list": (b"[]", JSON, {400}),
    "a number": (b"7", JSON, {400}),
    "null": (b"null", JSON, {400, 422}),
    "no utf-8": (b'{"kind": "\xff\xfe"}', JSON, {400}),
    "a lone surrogate": (quota_text(quota=r'"\ud800"'), JSON, {400, 422}),
    "a nul byte": (quota_text(quota=r'"a\u0000b"'), JSON, {422}),
    "not a number": (quota_text(**{"20": "NaN"}), JSON, {400}),
    "infinity": (quota_text(**{"20": "Infinity"}), JSON, {400}),
    "very deep": (b"[" * 200_000, JSON, {400, 413}),
    "very deep and closed": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, JSON, {400, 413}),
    "very large": (encode(a_quota() | {"more": "x" * (8 << 20)}), JSON, {400, 413}),
    "another kind": (quota_text(Quota='"Shoot"'), JSON, {422}),
    "an unknown kind": (quota_text(Quota='"Nope"'), JSON, {422}),
    "another version": (
        quota_text(**{"garden.sapcloud.io/v1beta1": '"garden.sapcloud.io/v1"'}),
        JSON,
        {400},
    ),
    "another namespace": (encode(a_quota(namespace="garden-other")), JSON, {400}),
    "metadata is text": (
        b'{"apiVersion":"garden.sapcloud.io/v1beta1","kind":"Quota","metadata":"x"}',
        JSON,
        {400, 422},
    ),
    "no metadata": (
        b'{"apiVersion":"garden.sapcloud.io/v1beta1","kind":"Quota"}',
        JSON,
        {400, 422},
    ),
    "protobuf": (b"k8s\x00\x00", "application/vnd.kubernetes.protobuf", {415}),
    "a form": (b"a=b", "application/x-www-form-urlencoded", {415}),
    "no media type at all": (encode(a_quota()), "nonsense", {415}),
    "yaml that is none": (b"a: [", YAML, {400}),
    "yaml with a tag": (b"!!python/object/apply:os.system ['true']", YAML, {400}),
    "yaml with a tab": (b"a:\n\t- b", YAML, {400}),
    "a yaml bomb": (BOMB.encode(), YAML, {400, 413}),
    "a yaml that refers to itself": (b"a: &a [*a]", YAML, {400}),
    "two yaml documents": (b"a: 1\n---\nb: 2\n", YAML, {400}),
}

SPECS: dict[str, tuple[str, object]] = {
    "a metric of letters": ("metrics", {"cpu": "lots"}),
    "a metric with an unknown suffix": ("metrics", {"cpu": "1Zi"}),
    "a negative metric": ("metrics", {"cpu": "-1"}),
    "a metric beyond all sense": ("metrics", {"cpu": "1e999999999"}),
    "a metric of many digits": ("metrics", {"cpu": "9" * 100_000}),
    "a metric that is a list": ("metrics", {"cpu": ["1"]}),
    "a metric that is an object": ("metrics", {"cpu": {"value": "1"}}),
    "a metric that is a boolean": ("metrics", {"cpu": True}),
    "a metric without a name": ("metrics", {"": "1"}),
    "an unknown metric": ("metrics", {"unicorns": "1"}),
    "twins together": ("metrics", {"cpu": "1", "cpus": "1"}),
    "metrics of text": ("metrics", "cpu"),
    "an unknown scope": ("scope", "galaxy"),
    "a scope of numbers": ("scope", 7),
    "a lifetime of zero": ("clusterLifetimeDays", 0),
    "a negative lifetime": ("clusterLifetimeDays", -1),
    "half a day": ("clusterLifetimeDays", 0.5),
    "a lifetime of text": ("clusterLifetimeDays", "7"),
    "a lifetime beyond all sense": ("clusterLifetimeDays", 10**30),
}

WORKERS: dict[str, Object] = {
    "an unknown machine": {"machineType": "nope"},
    "an unknown volume": {"volumeType": "nope"},
    "a volume without a unit": {"volumeSize": "20"},
    "a volume of letters": {"volumeSize": "large"},
    "a volume beyond all sense": {"volumeSize": "9" * 1000 + "Gi"},
    "more at least than at most": {"autoScalerMin": 5, "autoScalerMax": 1},
    "a negative number": {"autoScalerMin": -1},
    "a number of text": {"autoScalerMax": "1"},
    "a number beyond all sense": {"autoScalerMax": 10**40},
    "no name": {"name": ""},
}

NAMES = {
    "too long": "x" * 254,
    "absurdly long": "x" * 100_000,
    "upper case": "Quota",
    "a slash": "a/b",
    "dots that climb": "..",
    "a space": "a b",
    "empty": "",
    "not latin": "квота",
}

QUERIES = [
    ("GET", f"{QUOTAS}?limit=nope", {400}),
    ("GET", f"{QUOTAS}?continue=nope", {400, 410}),
    ("GET", f"{QUOTAS}?resourceVersion=nope", {400}),
    ("GET", f"{QUOTAS}?resourceVersion=-1", {400}),
    ("GET", f"{QUOTAS}?resourceVersion=99999999999999", {504}),
    ("GET", f"{QUOTAS}?resourceVersionMatch=Exact", {400, 422}),
    ("GET", f"{QUOTAS}?labelSelector=a%20b%20c", {400}),
    ("GET", f"{QUOTAS}?fieldSelector=spec.nope=1", {400}),
    ("GET", f"{QUOTAS}?watch=1&resourceVersion=nope", {400}),
    ("GET", f"{QUOTAS}/nope", {404}),
    ("GET", f"{QUOTAS}/nope/nope", {404}),
    ("PUT", QUOTAS, {400, 405}),
    ("POST", f"{QUOTAS}?dryRun=maybe", {400, 422}),
    ("POST", f"{QUOTAS}?fieldValidation=maybe", {400, 422}),
    ("BREW", QUOTAS, {400, 405, 501}),
]


@pytest.fixture
def stored_nothing(server: ServerProcess, etcd_url: str) -> Iterator[None]:
    """The test may not have moved etcd's revision."""
    before = counters(etcd_url).revision
    yield
    assert counters(etcd_url).revision == before


@pytest.fixture(scope="module")
def _stage(server: ServerProcess) -> None:
    for obj in (
        a_profile(),
        a_quota(name="stage"),
        a_binding(name="binding", quotas=["stage"]),
    ):
        assert server.request("POST", path_of(obj), obj).status_code == 201


def assert_status(answer: requests.Response, codes: set[int]) -> Object:
    assert answer.status_code in codes, f"{answer.status_code}: {answer.text[:500]}"
    status: Object = answer.json()
    assert status["kind"] == "Status"
    assert status["status"] == "Failure"
    assert status["code"] == answer.status_code
    assert status["message"]
    assert "Traceback" not in answer.text
    return status


@pytest.mark.usefixtures("stored_nothing")
@pytest.mark.parametrize("what", BODIES)
def test_a_body_that_is_no_quota_is_refused(server: ServerProcess, what: str) -> None:
    data, media_type, codes = BODIES[what]

    answer = server.request("POST", QUOTAS, data=data, headers={"Content-Type": media_type})

    assert_status(answer, codes)


@pytest.mark.usefixtures("stored_nothing")
@pytest.mark.parametrize("what", SPECS)
def test_a_quota_whose_field_is_wrong_is_refused_at_that_field(
    server: ServerProcess, what: str
) -> None:
    name, value = SPECS[what]
    quota = a_quota()
    quota["spec"][name] = value

    status = assert_status(server.request("POST", QUOTAS, quota), {400, 422})

    if status["code"] == 422:
        fields = [cause["field"] for cause in status["details"]["causes"]]
        assert any(field.startswith(f"spec.{name}") for field in fields), fields


@pytest.mark.usefixtures("_stage", "stored_nothing")
@pytest.mark.parametrize("what", WORKERS)
def test_a_shoot_whose_worker_is_wrong_is_refused_at_that_field(
    server: ServerProcess, what: str
) -> None:
    shoot = a_shoot(workers=[a_worker() | WORKERS[what]])

    status = assert_status(server.request("POST", path_of(shoot), shoot), {400, 422})

    if status["code"] == 422:
        fields = [cause["field"] for cause in status["details"]["causes"]]
        assert any(field.startswith("spec.cloud.aws.workers[0]") for field in fields), fields


@pytest.mark.usefixtures("stored_nothing")
@pytest.mark.parametrize("what", NAMES)
def test_a_name_that_is_none_is_refused(server: ServerProcess, what: str) -> None:
    quota = a_quota(name=NAMES[what])

    assert_status(server.request("POST", QUOTAS, quota), {400, 413, 422})


@pytest.mark.usefixtures("stored_nothing")
@pytest.mark.parametrize(("method", "path", "codes"), QUERIES)
def test_a_request_that_makes_no_sense_is_refused(
    server: ServerProcess, method: str, path: str, codes: set[int]
) -> None:
    body = a_quota() if method in {"POST", "PUT"} else None

    assert_status(server.request(method, path, body), codes)


@pytest.mark.usefixtures("_stage", "stored_nothing")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "nope"),
        ("GET", "/apis/garden.sapcloud.io/v2/quotas"),
        ("POST", "quotas"),
        ("DELETE", "quotas"),
        ("DELETE", "namespaces/garden-trial/cloudprofiles"),
    ],
)
def test_a_path_at_which_nothing_is_served_is_not_found(
    server: ServerProcess, method: str, path: str
) -> None:
    answer = server.request(method, path, a_quota() if method == "POST" else None)

    # kube-apiserver's own words, which are no Status.
    assert (answer.status_code, answer.text) == (404, "404 page not found\n")


PATCHES = [
    ("application/json-patch+json", b"{}", {400}),
    ("application/json-patch+json", b'[{"op": "nope", "path": "/spec"}]', {400, 422}),
    ("application/json-patch+json", b'[{"op": "remove", "path": "/nope"}]', {422}),
    ("application/json-patch+json", b'[{"op": "test", "path": "/kind", "value": "x"}]', {422}),
    ("application/json-patch+json", b'[{"op": "remove", "path": ""}]', {400, 422}),
    ("application/json-patch+json", b'[{"op": "add", "path": "/metadata/name", "value": "x"}]', {400, 422}),
    ("application/json-patch+json", b"[" + b'{"op":"add","path":"/spec/x","value":1},' * 20_000 + b"{}]", {400, 413, 422}),
    ("application/merge-patch+json", b"[]", {400, 422}),
    ("application/merge-patch+json", b"nope", {400}),
    ("application/merge-patch+json", b'{"metadata": {"namespace": "garden-dev"}}', {400, 422}),
    ("application/merge-patch+json", b'{"kind": "Shoot"}', {400, 422}),
    ("application/merge-patch+json", b'{"spec": null}', {422}),
    ("application/merge-patch+json", b'{"spec": {"scope": "project"}}', {422}),
    ("text/plain", b"{}", {415}),
]  # fmt: skip


@pytest.mark.usefixtures("_stage", "stored_nothing")
@pytest.mark.parametrize(("media_type", "data", "codes"), PATCHES, ids=range(len(PATCHES)))
def test_a_patch_that_makes_no_sense_is_refused(
    server: ServerProcess, media_type: str, data: bytes, codes: set[int]
) -> None:
    answer = server.request(
        "PATCH", f"{QUOTAS}/stage", data=data, headers={"Content-Type": media_type}
    )

    assert_status(answer, codes)


@pytest.mark.usefixtures("stored_nothing")
def test_a_compressed_body_is_no_way_around_the_limit(server: ServerProcess) -> None:
    bomb = gzip.compress(encode(a_quota() | {"more": "x" * (64 << 20)}))
    headers = {"Content-Type": JSON, "Content-Encoding": "gzip"}

    answer = server.request("POST", QUOTAS, data=bomb, headers=headers)

    assert_status(answer, {400, 413, 415})


def test_the_server_is_well_afterwards(server: ServerProcess) -> None:
    assert server.request("GET", "/readyz").status_code == 200
    assert "Traceback" not in server.log()
