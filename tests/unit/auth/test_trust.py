"""Whom a bundle of authorities vouches for: what Go's verifier takes, so what kube-apiserver takes."""

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quotaapi.trust import Authorities, Named, Refused

AUTHORITY = "basicConstraints=critical,CA:TRUE"


class Pki:
    """Certificates as openssl makes them; without extensions they are of version 1."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def issue(
        self, name: str, issuer: str = "", extensions: Sequence[str] = (), digest: str = "sha256"
    ) -> str:
        """Self-signed without an issuer."""
        self._run("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                  "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")  # fmt: skip
        signer = ("-CA", f"{issuer}.crt", "-CAkey", f"{issuer}.key", "-CAcreateserial")
        arguments = list(signer if issuer else ("-signkey", f"{name}.key"))
        if extensions:
            (self._directory / f"{name}.ext").write_text("\n".join(extensions))
            arguments += ["-extfile", f"{name}.ext"]
        self._run("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", "-days", "2",
                  f"-{digest}", *arguments)  # fmt: skip
        return name

    def pem(self, name: str) -> bytes:
        return (self._directory / f"{name}.crt").read_bytes()

    def verify(self, root: str, *chain: str, now: datetime) -> datetime:
        ders = [Named.all_of(self.pem(name))[0].der for name in chain]
        return Authorities(self.pem(root)).verify(ders, now)

    def _run(self, *arguments: str) -> None:
        subprocess.run(
            ["openssl", *arguments],
            cwd=self._directory,
            check=True,
            capture_output=True,
            timeout=20,
        )


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    made = Pki(tmp_path)
    made.issue("root", extensions=[AUTHORITY])
    return made


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC) + timedelta(minutes=1)


@pytest.mark.parametrize(
    "extensions",
    [
        [],
        ["subjectKeyIdentifier=hash"],
        ["extendedKeyUsage=clientAuth"],
        ["keyUsage=digitalSignature"],
    ],
)
def test_certificates_of_versions_1_and_3_count(pki: Pki, now: datetime, extensions) -> None:
    pki.issue("user", "root", extensions)

    assert now < pki.verify("root", "user", now=now) < now + timedelta(days=3)


def test_version_1_counts_below_an_authority_in_between(pki: Pki, now: datetime) -> None:
    pki.issue("between", "root", [AUTHORITY])
    pki.issue("user", "between")

    assert pki.verify("root", "user", "between", now=now) > now


@pytest.mark.parametrize("extensions", [[], ["extendedKeyUsage=clientAuth"]])
def test_a_trusted_authority_may_be_of_version_1(pki: Pki, now: datetime, extensions) -> None:
    pki.issue("old-root")
    pki.issue("user", "old-root", extensions)

    assert pki.verify("old-root", "user", now=now) > now


@pytest.mark.parametrize("days", [-1, 3])
def test_version_1_counts_while_it_is_valid(pki: Pki, now: datetime, days: int) -> None:
    pki.issue("user", "root")

    with pytest.raises(Refused):
        pki.verify("root", "user", now=now + timedelta(days=days))


def test_version_1_of_a_stranger_is_refused_though_its_issuer_has_the_name(
    pki: Pki, now: datetime, tmp_path: Path
) -> None:
    (tmp_path / "strange").mkdir()
    stranger = Pki(tmp_path / "strange")
    stranger.issue("root", extensions=[AUTHORITY])
    stranger.issue("user", "root")
    der = Named.all_of(stranger.pem("user"))[0].der

    with pytest.raises(Refused):
        Authorities(pki.pem("root")).verify([der], now)


@pytest.mark.parametrize(
    "extensions",
    [
        [],
        ["basicConstraints=CA:FALSE"],
        ["subjectKeyIdentifier=hash"],
        [AUTHORITY, "keyUsage=digitalSignature"],
        [AUTHORITY, "extendedKeyUsage=serverAuth"],
        [AUTHORITY, "nameConstraints=permitted;DNS:example.org"],
        [AUTHORITY, "1.2.3.4=critical,DER:0500"],
    ],
)
def test_who_may_sign_no_users_vouches_for_no_version_1(
    pki: Pki, now: datetime, extensions
) -> None:
    pki.issue("between", "root", extensions)
    pki.issue("user", "between")

    with pytest.raises(Refused):
        pki.verify("root", "user", "between", now=now)


def test_a_path_length_bounds_chains_of_version_1(pki: Pki, now: datetime) -> None:
    pki.issue("short", extensions=["basicConstraints=critical,CA:TRUE,pathlen:0"])
    pki.issue("direct", "short")
    pki.issue("between", "short", [AUTHORITY])
    pki.issue("user", "between")

    assert pki.verify("short", "direct", now=now) > now
    with pytest.raises(Refused):
        pki.verify("short", "user", "between", now=now)


def test_a_user_of_version_1_signs_nobody(pki: Pki, now: datetime) -> None:
    pki.issue("user", "root")
    pki.issue("forged", "user")

    with pytest.raises(Refused):
        pki.verify("root", "forged", "user", now=now)


def test_a_hash_that_can_be_forged_is_no_signature(pki: Pki, now: datetime) -> None:
    pki.issue("user", "root", digest="sha1")

    with pytest.raises(Refused):
        pki.verify("root", "user", now=now)


@pytest.mark.parametrize(
    "extensions",
    [["extendedKeyUsage=serverAuth"], ["1.2.3.4=critical,DER:0500"]],
)
def test_an_authority_of_version_1_admits_no_other_use(pki: Pki, now: datetime, extensions) -> None:
    pki.issue("old-root")
    pki.issue("user", "old-root", extensions)

    with pytest.raises(Refused):
        pki.verify("old-root", "user", now=now)
