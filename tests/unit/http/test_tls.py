"""Certificates of the stand-alone server."""

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from apis.meta import codec
from quotaapi import kubeconfig, tls
from quotaapi.server.clientcas import ClientCas
from quotaapi.server.serving import ServingTls
from quotaapi.trust import Authorities

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def ensure(directory: Path, *, at: datetime = NOW, address: str = "127.0.0.1") -> tls.Material:
    return tls.ensure(directory, address, lambda: at)


def test_the_first_start_makes_everything_for_the_owner_alone(tmp_path) -> None:
    directory = tmp_path / "data"

    ensure(directory)

    assert sorted(contents(directory)) == [
        "admin.crt", "admin.key", "ca.crt", "ca.key", "server.crt", "server.key",
    ]  # fmt: skip
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


def test_the_next_start_uses_what_is_there(tmp_path) -> None:
    ensure(tmp_path)
    before = contents(tmp_path)

    ensure(tmp_path, at=NOW + timedelta(days=300))

    assert contents(tmp_path) == before


def test_certificates_near_their_end_are_renewed_by_the_same_ca(tmp_path) -> None:
    ensure(tmp_path)
    before = contents(tmp_path)

    ensure(tmp_path, at=NOW + timedelta(days=340))

    after = contents(tmp_path)
    assert after["ca.crt"] == before["ca.crt"]
    assert after["server.crt"] != before["server.crt"]
    assert after["admin.crt"] != before["admin.crt"]


def test_another_bind_address_needs_another_serving_certificate(tmp_path) -> None:
    ensure(tmp_path)
    before = contents(tmp_path)

    ensure(tmp_path, address="127.0.0.2")

    after = contents(tmp_path)
    assert after["server.crt"] != before["server.crt"]
    assert after["admin.crt"] == before["admin.crt"]


@pytest.mark.parametrize("name", ["ca.key", "server.crt", "admin.key"])
def test_a_file_that_is_missing_or_spoilt_is_made_anew_with_what_depends_on_it(
    tmp_path, name
) -> None:
    ensure(tmp_path)
    (tmp_path / name).write_bytes(b"garbage")

    material = ensure(tmp_path)

    pair = tls.ServingPair.read(material.server_cert, material.server_key)
    context = tls.server_context(pair, Authorities(material.ca_cert.read_bytes()).der)
    client = ssl.create_default_context(cafile=str(material.ca_cert))
    client.load_cert_chain(material.admin_cert, material.admin_key)
    assert context.verify_mode is ssl.CERT_OPTIONAL


def test_a_file_that_cannot_be_used_is_named(tmp_path) -> None:
    made = ensure(tmp_path)
    spoilt = tmp_path / "spoilt.crt"
    spoilt.write_bytes(b"garbage")

    for cert in (tmp_path / "absent.crt", spoilt):
        with pytest.raises(OSError, match=cert.name):
            ServingTls(cert, made.server_key)
    for authority in (tmp_path / "absent-ca.crt", spoilt):
        with pytest.raises(OSError, match=authority.name):
            ClientCas([made.ca_cert, authority])


def test_the_kubeconfig_holds_all_that_kubectl_needs(tmp_path) -> None:
    path = tmp_path / "admin.kubeconfig"

    made = ensure(tmp_path / "data")
    kubeconfig.write(path, "https://127.0.0.1:1", made.ca_cert, made)

    config = codec.decode_yaml(path.read_bytes()).value
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"
    assert set(config["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
