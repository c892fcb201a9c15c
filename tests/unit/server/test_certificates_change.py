"""Files of certificates change: each counts by itself, whatever became of the others."""

import logging
from pathlib import Path

import pytest

from quotaapi.server.clientcas import ClientCas
from quotaapi.server.entrance import Entrance
from quotaapi.server.serving import ServingTls
from quotaapi.trust import Authorities
from tests.frontproxy.pki import Authority, Pair


class Files:
    """Two files of client CAs and a serving pair, looked at by an entrance."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.first = Authority(directory, "first")
        self.second = Authority(directory, "second")
        self.serving: Pair = Authority(directory, "serving").server("server")
        self.trusted: list[Authorities] = []
        cas = ClientCas([self.first.path, self.second.path])
        self.tls = ServingTls(self.serving.cert, self.serving.key, cas.newest.der)
        self.entrance = Entrance(None, self.tls, cas, self.trust)  # type: ignore[arg-type]

    def trust(self, authorities: Authorities) -> None:
        self.tls.trust(authorities.der)
        self.trusted.append(authorities)

    def replace(self, authority: Authority) -> Authority:
        other = Authority(self.directory / "other", "other")
        authority.path.write_text(other.pem)
        return other

    def ders(self) -> set[bytes]:
        """Of the authorities that TLS lets in now."""
        return set(self.tls._newest.get_ca_certs(binary_form=True))


def der(*authorities: Authority) -> set[bytes]:
    return {Authorities(authority.pem.encode()).der for authority in authorities}


def spoil(path: Path, content: str | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_text(content)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.mark.parametrize("spoilt", ["cert", "key"])
@pytest.mark.parametrize("how", ["absent", "garbage"])
def test_client_cas_are_taken_while_the_serving_certificate_cannot_be_read(
    files: Files, spoilt: str, how: str
) -> None:
    path: Path = getattr(files.serving, spoilt)
    spoil(path, None if how == "absent" else "garbage")
    kept = der(files.second)
    other = files.replace(files.first)

    files.entrance.look()

    assert files.ders() == der(other) | kept


@pytest.mark.parametrize("content", [None, "", "garbage", "-----BEGIN CERTIFICATE-----\nA"])
def test_a_file_of_client_cas_that_cannot_be_used_counts_as_before_and_holds_up_nothing(
    files: Files, content: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    before = der(files.first)
    spoil(files.first.path, content)
    other = files.replace(files.second)
    renewed = Authority(files.directory / "renewed", "serving").server("server")
    files.serving.cert.write_bytes(renewed.cert.read_bytes())
    files.serving.key.write_bytes(renewed.key.read_bytes())

    for _ in range(3):
        files.entrance.look()

    assert files.ders() == before | der(other)
    assert files.tls._pair.cert == renewed.cert.read_bytes()
    warnings = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert ["first.crt" in r.getMessage() for r in warnings] == [True]


def test_a_serving_certificate_that_does_not_fit_its_key_is_told_once_and_taken_when_it_does(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    renewed = Authority(files.directory / "renewed", "serving").server("server")
    files.serving.cert.write_bytes(renewed.cert.read_bytes())
    for _ in range(3):
        files.entrance.look()
    warnings = [r for r in caplog.records if r.levelno == logging.WARNING]
    held = files.tls._pair.cert != renewed.cert.read_bytes()

    files.serving.key.write_bytes(renewed.key.read_bytes())
    files.entrance.look()

    assert (len(warnings), held) == (1, True)
    assert files.tls._pair.cert == renewed.cert.read_bytes()


def test_unchanged_files_are_left_alone(files: Files) -> None:
    before = files.tls._newest

    files.entrance.look()

    assert files.tls._newest is before
    assert files.trusted == []
