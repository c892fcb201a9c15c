"""Certificates that are made here, and the TLS context; one of two doors to `cryptography`.

Files in the data directory (mode 0700; keys 0600), made on first start and used again:

    ca.crt ca.key            who vouches for the two below; ten years
    server.crt server.key    served; names localhost, the loopback addresses and the bind address
    admin.crt admin.key      CN admin, O system:masters

What has expired, is about to, or does not name the bind address is made anew at the next start.
"""

import ipaddress
import os
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Clock = Callable[[], datetime]

CA_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(days=365)
RENEW_BEFORE = timedelta(days=30)
_BACKDATE = timedelta(minutes=5)
"""Clients whose clock is a little slow accept a fresh certificate."""


@dataclass(frozen=True, slots=True)
class Material:
    """Where the files are that a start needs."""

    ca_cert: Path
    server_cert: Path
    server_key: Path
    admin_cert: Path
    admin_key: Path


@dataclass(frozen=True, slots=True)
class _Pair:
    cert: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def ensure(data_dir: Path, bind_address: str, clock: Clock) -> Material:
    """Make what is missing or worn out, and say where everything is."""
    data_dir.mkdir(parents=True, exist_ok=True)
    data_dir.chmod(0o700)
    now = clock()
    authority = _load(data_dir, "ca")
    if authority is None or _worn(authority.cert, now):
        authority = _issue_authority(now)
        _save(data_dir, "ca", authority)
    _ensure_leaf(data_dir, "server", authority, now, _server_template(bind_address))
    _ensure_leaf(data_dir, "admin", authority, now, _ADMIN)
    return material(data_dir)


def material(data_dir: Path) -> Material:
    """Where `ensure` puts everything."""
    return Material(
        ca_cert=data_dir / "ca.crt",
        server_cert=data_dir / "server.crt",
        server_key=data_dir / "server.key",
        admin_cert=data_dir / "admin.crt",
        admin_key=data_dir / "admin.key",
    )


@dataclass(frozen=True, slots=True)
class ServingPair:
    """A serving certificate, with what is sent along, and its key: PEM, as the files held them."""

    cert: bytes
    key: bytes

    @classmethod
    def read(cls, cert: Path, key: Path) -> "ServingPair":
        """Raises OSError."""
        return cls(cert.read_bytes(), key.read_bytes())


def server_context(pair: ServingPair, client_cas: bytes) -> ssl.SSLContext:
    """TLS 1.2 or newer; a client certificate is asked for, not required, and must be one of ours.

    `client_cas`: DER, one after the other. Raises OSError for what cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Python loads a certificate from paths alone. What is in memory serves on when its files are
    # gone, so it is shown as files that exist nowhere else.
    with _anonymous_file(pair.cert) as cert, _anonymous_file(pair.key) as key:
        context.load_cert_chain(cert, key)
    if client_cas:
        context.load_verify_locations(cadata=client_cas)
    context.verify_mode = ssl.CERT_OPTIONAL
    # A bundle may hold an authority that another one signed: it is trusted by itself, as in Go.
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    # A resumed session would bring the certificate along that was verified when it began, perhaps
    # by an authority that is trusted no more.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET
    # HTTP/2 is not spoken here; clients that offer both must hear so.
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextmanager
def _anonymous_file(content: bytes) -> Iterator[str]:
    with os.fdopen(os.memfd_create("pem"), "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


@dataclass(frozen=True, slots=True)
class Issued:
    """PEM of a serving certificate, its key, and the authority that was made for it alone."""

    cert: bytes
    key: bytes
    authority: bytes


def issue_serving(names: Sequence[str], now: datetime) -> Issued:
    """The authority's key is kept nowhere: nothing else will ever be signed with it."""
    authority = _issue_authority(now)
    template = _Template(
        _name(names[0]), ExtendedKeyUsageOID.SERVER_AUTH, tuple(x509.DNSName(n) for n in names)
    )
    leaf = _issue_leaf(authority, now, template)
    pem = serialization.Encoding.PEM
    return Issued(leaf.cert.public_bytes(pem), _key_pem(leaf), authority.cert.public_bytes(pem))


def is_serving(
    cert: bytes, key: bytes, authorities: bytes, names: Sequence[str], now: datetime
) -> bool:
    """Whether all (PEM) belong together, name everything that is asked for, and last a while."""
    try:
        leaf = x509.load_pem_x509_certificate(cert)
        private = serialization.load_pem_private_key(key, None)
        trusted = x509.load_pem_x509_certificates(authorities)
        found = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    return (
        private.public_key() == leaf.public_key()
        and not _worn(leaf, now)
        and set(names) <= set(found.get_values_for_type(x509.DNSName))
        and any(_issued_by(leaf, authority) for authority in trusted)
    )


def valid_authorities(pem: bytes, now: datetime) -> bytes:
    """Those of a bundle that still count."""
    try:
        found = x509.load_pem_x509_certificates(pem)
    except ValueError:
        return b""
    valid = [authority for authority in found if now < authority.not_valid_after_utc]
    return b"".join(authority.public_bytes(serialization.Encoding.PEM) for authority in valid)


@dataclass(frozen=True, slots=True)
class _Template:
    subject: x509.Name
    usage: x509.ObjectIdentifier
    names: tuple[x509.GeneralName, ...] = ()


def _server_template(bind_address: str) -> _Template:
    addresses = dict.fromkeys(ipaddress.ip_address(a) for a in ("127.0.0.1", "::1", bind_address))
    names: list[x509.GeneralName] = [x509.DNSName("localhost")]
    names += [x509.IPAddress(address) for address in addresses]
    return _Template(_name("quotaapi"), ExtendedKeyUsageOID.SERVER_AUTH, tuple(names))


def _name(common: str, organization: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


_ADMIN = _Template(_name("admin", "system:masters"), ExtendedKeyUsageOID.CLIENT_AUTH)


def _ensure_leaf(
    data_dir: Path, stem: str, authority: _Pair, now: datetime, template: _Template
) -> None:
    leaf = _load(data_dir, stem)
    if leaf is None or _worn(leaf.cert, now) or not _matches(leaf.cert, authority, template):
        _save(data_dir, stem, _issue_leaf(authority, now, template))


def _worn(cert: x509.Certificate, now: datetime) -> bool:
    return not cert.not_valid_before_utc <= now < cert.not_valid_after_utc - RENEW_BEFORE


def _matches(cert: x509.Certificate, authority: _Pair, template: _Template) -> bool:
    """Whether `cert` was issued by this CA for all the names of the template."""
    if not _issued_by(cert, authority.cert):
        return False
    if not template.names:
        return cert.subject == template.subject
    try:
        found = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    return set(template.names) <= set(found)


def _issued_by(cert: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        cert.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _builder(subject: x509.Name, issuer: x509.Name, now: datetime) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
    )


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, key_cert_sign=signs, crl_sign=signs,
        content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _issue_authority(now: datetime) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    # The time in the name tells a renewed CA from its predecessor where both are trusted.
    subject = _name(f"quotaapi-ca@{int(now.timestamp())}")
    cert = (
        _builder(subject, subject, now)
        .public_key(key.public_key())
        .not_valid_after(now + CA_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _Pair(cert, key)


def _issue_leaf(authority: _Pair, now: datetime, template: _Template) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority.key.public_key())
    builder = (
        _builder(template.subject, authority.cert.subject, now)
        .public_key(key.public_key())
        .not_valid_after(min(now + LEAF_LIFETIME, authority.cert.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([template.usage]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
            critical=False,
        )
    )
    if template.names:
        builder = builder.add_extension(x509.SubjectAlternativeName(template.names), critical=False)
    return _Pair(builder.sign(authority.key, hashes.SHA256()), key)


def _load(data_dir: Path, stem: str) -> _Pair | None:
    """None where a file is missing or unreadable as what it should be."""
    try:
        cert = x509.load_pem_x509_certificate((data_dir / f"{stem}.crt").read_bytes())
        key = serialization.load_pem_private_key((data_dir / f"{stem}.key").read_bytes(), None)
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != cert.public_key():
        return None
    return _Pair(cert, key)


def _save(data_dir: Path, stem: str, pair: _Pair) -> None:
    write_private(data_dir / f"{stem}.key", _key_pem(pair))
    write_private(data_dir / f"{stem}.crt", pair.cert.public_bytes(serialization.Encoding.PEM))


def _key_pem(pair: _Pair) -> bytes:
    return pair.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def write_private(path: Path, content: bytes) -> None:
    """Replace a file in one step; nobody but the owner can read it, at no moment."""
    temporary = path.with_name(f".{path.name}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
