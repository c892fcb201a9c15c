"""What a cluster is told of the server, and the manifests that say the same."""

from base64 import b64decode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from apis.garden.v1beta1.register import RESOURCES
from quotaapi import tls
from quotaapi.registration.command import run
from quotaapi.registration.objects import Place, Serving, path_of, registration, serving_secret
from tests.frontproxy.pki import Authority

DEPLOY = Path(__file__).resolve().parents[3] / "hack" / "deploy"
NOW = datetime(2024, 1, 2, tzinfo=UTC)
WRITES = {"create", "update", "patch", "delete", "deletecollection", "*"}


def manifests(name: str) -> Sequence[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def named(objects: Sequence[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    return next(o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name))


def test_the_manifests_are_what_is_registered() -> None:
    assert manifests("registration.yaml") == list(registration(Place(), b""))


def test_a_dry_run_prints_what_is_registered(capsys, tmp_path) -> None:
    bundle = Authority(tmp_path, "ca").path

    code = run("register", ["--dry-run", "--namespace", "other", "--ca-file", str(bundle)])

    printed = list(yaml.safe_load_all(capsys.readouterr().out))
    assert (code, printed) == (0, list(registration(Place("other"), bundle.read_bytes())))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "holds no certificate"),
        (b"words", "is no PEM bundle of certificates"),
        (
            tls.issue_serving(["quota.example.org"], NOW).cert,
            "valid for quota.example.org, and kube-apiserver asks for quotaapi.quotaapi.svc",
        ),
    ],
)
def test_a_ca_file_that_cannot_do_is_refused_in_a_dry_run_too(
    capsys, tmp_path, content, told
) -> None:
    bundle = tmp_path / "ca.crt"
    bundle.write_bytes(content)

    code = run("register", ["--dry-run", "--ca-file", str(bundle)])

    said = capsys.readouterr()
    assert (code, said.out) == (1, "")
    assert said.err.startswith("quotaapi register: ")
    assert told in said.err


def test_a_ca_file_that_is_not_there_is_named_with_its_option(capsys, tmp_path) -> None:
    with pytest.raises(SystemExit) as ended:
        run("register", ["--ca-file", str(tmp_path / "nope")])

    assert ended.value.code == 2
    assert f"--ca-file {tmp_path}/nope: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["register", "unregister"])
def test_help_says_what_a_command_does_in_words_for_people(capsys, command) -> None:
    with pytest.raises(SystemExit):
        run(command, ["--help"])

    about, _options = capsys.readouterr().out.split("options:")
    assert "`quotaapi unregister`." not in about
    assert f"usage: quotaapi {command}" in about
    assert ("Remove what" in about) is (command == "unregister")


def test_the_bundle_is_the_api_services() -> None:
    service = named(registration(Place(), b"bundle"), "APIService", "v1beta1.garden.sapcloud.io")

    assert b64decode(service["spec"]["caBundle"]) == b"bundle"
    assert "insecureSkipTLSVerify" not in service["spec"]


@pytest.mark.parametrize("role", ["view", "edit", "admin"])
def test_no_role_of_the_clusters_writes_quotas_ledgers_limits_or_lent_secrets(role) -> None:
    rules = named(registration(Place(), b""), "ClusterRole", f"quotaapi:{role}")["rules"]
    written = {
        resource for rule in rules if WRITES & set(rule["verbs"]) for resource in rule["resources"]
    }

    assert written <= {"shoots", "privatesecretbindings"}


def test_viewers_read_everything_that_is_in_a_namespace() -> None:
    rules = named(registration(Place(), b""), "ClusterRole", "quotaapi:view")["rules"]
    read = {resource for rule in rules for resource in rule["resources"]}

    assert {r.plural for r in RESOURCES if r.namespaced} <= read


def test_the_server_reads_namespaces_and_single_secrets_and_writes_nothing() -> None:
    rules = named(registration(Place(), b""), "ClusterRole", "quotaapi")["rules"]

    assert {r: tuple(rule["verbs"]) for rule in rules for r in rule["resources"]} == {
        "namespaces": ("get", "list", "watch"),
        "secrets": ("get",),
    }


def test_paths_are_kube_apiservers() -> None:
    objects = registration(Place(), b"")

    assert path_of(named(objects, "APIService", "v1beta1.garden.sapcloud.io")) == (
        "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.garden.sapcloud.io"
    )
    assert path_of(serving_secret(Place(), Serving(b"", b"", b""))) == (
        "/api/v1/namespaces/quotaapi/secrets/quotaapi-serving"
    )


def test_the_deployment_is_what_the_service_selects() -> None:
    service = named(manifests("registration.yaml"), "Service", "quotaapi")["spec"]
    pod = named(manifests("deployment.yaml"), "Deployment", "quotaapi")["spec"]["template"]
    container = pod["spec"]["containers"][0]

    assert service["selector"].items() <= pod["metadata"]["labels"].items()
    assert service["ports"][0]["targetPort"] == container["ports"][0]["containerPort"]
    assert pod["spec"]["volumes"][0]["secret"]["secretName"] == "quotaapi-serving"
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_etcd_is_not_selected_by_the_service() -> None:
    service = named(manifests("registration.yaml"), "Service", "quotaapi")["spec"]
    etcd = named(manifests("etcd.yaml"), "StatefulSet", "quotaapi-etcd")["spec"]["template"]

    assert not service["selector"].items() <= etcd["metadata"]["labels"].items()


def test_a_serving_certificate_is_good_until_it_is_about_to_expire() -> None:
    names = Place().server_names
    made = tls.issue_serving(names, NOW)

    def good(days: int, wanted: Sequence[str] = names) -> bool:
        return tls.is_serving(
            made.cert, made.key, made.authority, wanted, NOW + timedelta(days=days)
        )

    assert (good(0), good(330), good(340)) == (True, True, False)
    assert not good(0, [*names, "another.example.org"])


def test_a_certificate_of_another_authority_is_not_good() -> None:
    names = Place().server_names
    made, other = tls.issue_serving(names, NOW), tls.issue_serving(names, NOW)

    assert not tls.is_serving(made.cert, made.key, other.authority, names, NOW)
    assert not tls.is_serving(made.cert, other.key, made.authority, names, NOW)
    assert not tls.is_serving(b"", b"", b"", names, NOW)


def test_authorities_that_expired_are_left_out() -> None:
    old = tls.issue_serving(["a"], NOW - timedelta(days=4000)).authority
    new = tls.issue_serving(["a"], NOW).authority

    assert tls.valid_authorities(old + new, NOW) == new
    assert tls.valid_authorities(b"", NOW) == b""
