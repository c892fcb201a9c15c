"""Certificate authorities of a cluster, made for one test run."""

import ipaddress
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVICE_NAMES = ("localhost", "quotaapi.quotaapi.svc")


@dataclass(frozen=True, slots=True)
class Pair:
    """Where a certificate and its key are."""

    cert: Path
    key: Path


class Authority:
    """Issues certificates like a cluster's: clients' ones have no alternative names."""

    def __init__(self, directory: Path, name: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        subject = _subject(name, ())
        self._cert = (
            _builder(subject, subject, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.path = directory / f"{name}.crt"
        self.path.write_bytes(self._cert.public_bytes(serialization.Encoding.PEM))

    @property
    def pem(self) -> str:
        return self.path.read_text()

    def client(
        self, common: str, *groups: str, below: bool = False, valid: timedelta = timedelta(days=1)
    ) -> Pair:
        """`below`: by an authority in between, whose certificate is sent along."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer, signer, chain = self._cert.subject, self._key, b""
        if below:
            signer = ec.generate_private_key(ec.SECP256R1())
            issuer = _subject(f"below {self._name}", ())
            between = (
                _builder(issuer, self._cert.subject, signer.public_key())
                .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
                .sign(self._key, hashes.SHA256())
            )
            chain = between.public_bytes(serialization.Encoding.PEM)
        cert = (
            _builder(_subject(common, groups), issuer, key.public_key(), valid)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .sign(signer, hashes.SHA256())
        )
        return self._write(f"{self._name}-{common}{'-below' if below else ''}", cert, key, chain)

    def plain_client(self, common: str) -> Pair:
        """Of X.509 version 1, which has no extensions: `cryptography` makes none."""
        pair = Pair(self._directory / f"{common}-v1.crt", self._directory / f"{common}-v1.key")
        signer, request = self._directory / "signer.key", self._directory / "request.csr"
        signer.write_bytes(_pem(self._key))
        for arguments in (
            ("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-keyout", pair.key, "-out", request, "-subj", f"/CN={common}"),
            ("x509", "-req", "-in", request, "-out", pair.cert, "-days", "1", "-CA", self.path,
             "-CAkey", signer, "-set_serial", "7"),
        ):  # fmt: skip
            subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=20)
        return pair

    def server(self, file_name: str, dns_names: Sequence[str] = SERVICE_NAMES) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in dns_names]
        names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        cert = (
            _builder(_subject("server", ()), self._cert.subject, key.public_key())
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return self._write(file_name, cert, key)

    def _write(
        self, name: str, cert: x509.Certificate, key: ec.EllipticCurvePrivateKey, chain: bytes = b""
    ) -> Pair:
        pair = Pair(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        pair.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM) + chain)
        pair.key.write_bytes(_pem(key))
        return pair


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _subject(common: str, organizations: tuple[str, ...]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    valid: timedelta = timedelta(days=1),
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + valid)
    )
