"""`quotaapi register [--dry-run]`, `quotaapi unregister`.

Registering again changes nothing but what has to change: objects are applied, and the serving
certificate is made anew only where it is missing, about to expire or lacks a name.
"""

import argparse
import asyncio
import os
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apis.meta import codec
from quotaapi import tls
from quotaapi.auth.interface import ClusterAccessError
from quotaapi.auth.kube import APPLY, KubeClient, KubeUnavailable
from quotaapi.config import in_pod
from quotaapi.registration.objects import (
    NAME,
    SERVING_SECRET,
    Object,
    Place,
    Serving,
    path_of,
    registration,
    serving_secret,
)


class Refused(Exception):
    """kube-apiserver does not do it."""


def run(command: str, arguments: Sequence[str]) -> int:
    """The exit code."""
    options = _options(command, arguments)
    place = Place(options.namespace, options.external_name, options.port)
    try:
        own = options.ca_file.read_bytes() if options.ca_file else b""
        if options.dry_run:
            if command == "register":
                _print(registration(place, own), secret=not own)
            else:
                _print_leaving(place)
            return 0
        asyncio.run(_run(command, options.kubeconfig, place, own))
    except (ClusterAccessError, KubeUnavailable, Refused, OSError) as error:
        print(f"quotaapi {command}: {error}", file=sys.stderr)
        return 1
    return 0


def _options(command: str, arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(f"quotaapi {command}", description=__doc__)
    add = parser.add_argument
    add(
        "--kubeconfig",
        type=Path,
        default=None,
        help="default: $KUBECONFIG, ~/.kube/config, the pod's",
    )
    add("--namespace", default=NAME, help=f"of the server (default {NAME})")
    add(
        "--external-name",
        default="",
        metavar="HOST",
        help="the server runs there, outside of the cluster",
    )
    add("--port", type=int, default=443, help="of the service, or of HOST (default 443)")
    add(
        "--ca-file",
        type=Path,
        help=f"signed the server's certificate; absent: one is made, in Secret {SERVING_SECRET}",
    )
    change = "applied" if command == "register" else "removed"
    add("--dry-run", action="store_true", help=f"print what would be {change}, and ask nobody")
    return parser.parse_args(arguments)


def _print(objects: Sequence[Object], *, secret: bool) -> None:
    if secret:
        print(
            f"# Registering also makes Secret {SERVING_SECRET} and puts its CA into the APIService."
        )
    print("---\n".join(codec.encode_yaml(obj).decode() for obj in objects), end="")


def _print_leaving(place: Place) -> None:
    for obj in _leaving(place):
        print(f"{_shown(obj)} would be removed")


async def _run(command: str, kubeconfig: Path | None, place: Place, own: bytes) -> None:
    client = await KubeClient.connect(_kubeconfig(kubeconfig), time.monotonic)
    try:
        if command == "register":
            await _register(client, place, own)
        else:
            await _unregister(client, place)
    finally:
        await client.close()


def _kubeconfig(given: Path | None) -> Path | None:
    """As kubectl looks for it; None: the pod's own."""
    if given is not None:
        return given
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    usual = Path(named) if named else Path("~/.kube/config").expanduser()
    return None if not usual.exists() and in_pod(os.environ) else usual


async def _register(client: KubeClient, place: Place, own: bytes) -> None:
    before = registration(place, own)
    namespace, *rest = before
    await _apply(client, namespace)
    bundle = own
    if not own:
        serving = await _serving(client, place, lambda: datetime.now(UTC))
        await _apply(client, serving_secret(place, serving))
        rest = list(registration(place, serving.bundle)[1:])
        bundle = serving.bundle
    for obj in rest:
        await _apply(client, obj)
    certificates = bundle.count(b"BEGIN CERTIFICATE")
    print(f"registered {rest[-1]['metadata']['name']}, its bundle has {certificates} CA(s)")


async def _unregister(client: KubeClient, place: Place) -> None:
    for obj in _leaving(place):
        answer = await client.request("DELETE", path_of(obj))
        if not answer.ok and answer.status != 404:
            raise Refused(f"{_shown(obj)}: {answer.message}")
        print(f"{_shown(obj)} {'removed' if answer.ok else 'was not there'}")


def _leaving(place: Place) -> Sequence[Object]:
    """All but the namespace: what else is in it is not ours. The objects in etcd stay, too."""
    _, *objects = registration(place, b"")
    return [*reversed(objects), serving_secret(place, Serving(b"", b"", b""))]


async def _apply(client: KubeClient, obj: Object) -> None:
    answer = await client.request(
        "PATCH",
        path_of(obj),
        obj,
        query={"fieldManager": NAME, "force": "true"},
        content_type=APPLY,
    )
    if not answer.ok:
        raise Refused(f"{_shown(obj)}: {answer.message}")
    print(f"{_shown(obj)} {'created' if answer.status == 201 else 'applied'}")


async def _serving(client: KubeClient, place: Place, clock: Callable[[], datetime]) -> Serving:
    """The Secret's, where it is good; else a new one, which replaces it within a minute.

    While servers still serve the old one, kube-apiserver trusts both.
    """
    answer = await client.request("GET", path_of(serving_secret(place, Serving(b"", b"", b""))))
    if not answer.ok and answer.status != 404:
        raise Refused(f"Secret {SERVING_SECRET}: {answer.message}")
    found = _decoded(answer.body) if answer.ok else Serving(b"", b"", b"")
    if tls.is_serving(found.cert, found.key, found.bundle, place.server_names, clock()):
        return found
    made = tls.issue_serving(place.server_names, clock())
    old = tls.valid_authorities(found.bundle, clock())
    return Serving(made.cert, made.key, made.authority + old)


def _decoded(secret: Any) -> Serving:
    data = secret.get("data") or {}
    cert, key, bundle = (b64decode(data.get(k, "")) for k in ("tls.crt", "tls.key", "ca.crt"))
    return Serving(cert, key, bundle)


def _shown(obj: Object) -> str:
    metadata = obj["metadata"]
    where = f"{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"{obj['kind']} {where}{metadata['name']}"
