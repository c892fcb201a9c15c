"""Client certificates with X.509 version 1 in their chain, which `openssl x509 -req` makes when it is
given no extensions. Go's verifier, and so kube-apiserver, takes them; `cryptography`'s does not.

What Go accepts and nothing more, less what is rare: name constraints and critical extensions that
are not known here refuse the chain.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID

MAX_SENT: Final = 8
"""Certificates between leaf and authority; it bounds the signatures that are computed, too."""

_Extension = TypeVar("_Extension", bound=x509.ExtensionType)

_HASHES: Final = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
_CHECKED: Final = (x509.BasicConstraints, x509.KeyUsage, x509.ExtendedKeyUsage)
_FOR_CLIENTS: Final = {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}


def until(
    leaf: x509.Certificate,
    sent: Sequence[x509.Certificate],
    roots: Sequence[x509.Certificate],
    now: datetime,
) -> datetime | None:
    """When the first certificate of the chain from `leaf` to one of `roots` ends.

    None where there is no chain that is valid `now`.
    """
    if len(sent) > MAX_SENT or not _is_valid(leaf, now) or not _is_for_clients(leaf):
        return None
    reached, left = [(leaf, leaf.not_valid_after_utc)], list(sent)
    for below in range(MAX_SENT + 1):  # the number of certificates between leaf and issuer
        for certificate, ends in reached:
            for root in roots:
                if _may_issue(root, below, now, trusted=True) and _issued(root, certificate):
                    return min(ends, root.not_valid_after_utc)
        further = []
        for issuer in list(left):
            if not _may_issue(issuer, below, now, trusted=False):
                continue
            signed = next((end for each, end in reached if _issued(issuer, each)), None)
            if signed is not None:
                left.remove(issuer)
                further.append((issuer, min(signed, issuer.not_valid_after_utc)))
        reached = further
    return None


def _is_valid(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc


def _may_issue(issuer: x509.Certificate, below: int, now: datetime, *, trusted: bool) -> bool:
    """Version 1 cannot say whether it is an authority; that it is trusted says so."""
    if not _is_valid(issuer, now):
        return False
    if issuer.version is x509.Version.v1:
        return trusted
    try:
        basic = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = _extension(issuer, x509.KeyUsage)
    except (ValueError, x509.ExtensionNotFound):
        return False
    short_enough = basic.path_length is None or below <= basic.path_length
    signs = usage is None or usage.key_cert_sign
    return basic.ca and short_enough and signs and _is_for_clients(issuer)


def _is_for_clients(certificate: x509.Certificate) -> bool:
    """Whether its extensions, where it has any, leave it this use."""
    try:
        extensions = certificate.extensions
        usage = _extension(certificate, x509.ExtendedKeyUsage)
    except (ValueError, x509.DuplicateExtension):
        return False
    for each in extensions:
        if isinstance(each.value, x509.NameConstraints):
            return False
        if each.critical and not isinstance(each.value, _CHECKED):
            return False
    return usage is None or not _FOR_CLIENTS.isdisjoint(usage)


def _extension(certificate: x509.Certificate, kind: type[_Extension]) -> _Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _issued(issuer: x509.Certificate, certificate: x509.Certificate) -> bool:
    """By name, by signature, and not by a hash that can be forged."""
    if certificate.issuer != issuer.subject:
        return False
    try:
        digest = certificate.signature_hash_algorithm  # None: Ed25519 and Ed448 bring their own
        if digest is not None and not isinstance(digest, _HASHES):
            return False
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        return False
    return True
