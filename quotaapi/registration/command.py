"""`quotaapi register` and `quotaapi unregister`: the command line, and what is done in which order.

Nothing is changed before it is known that a kube-apiserver answers, and that it will accept the
server's certificate. Registering again changes only what has to change: objects are applied, and
the serving certificate is made anew only where it is missing, about to expire or lacks a name.
"""

import argparse
import asyncio
import os
import sys
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from apis.meta import codec
from quotaapi import tls
from quotaapi.auth.interface import ClusterAccessError
from quotaapi.auth.kube import KubeClient, KubeUnavailable
from quotaapi.commandline import Parser, file_faults
from quotaapi.config import in_pod
from quotaapi.registration import verifying
from quotaapi.registration.applying import Refused, apply, delete, recognise, shown
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
from quotaapi.registration.verifying import Untrusted

_ABOUT: Final = {
    "register": "Make a cluster serve garden.sapcloud.io through this server: create or update, by "
    "server-side apply, its Namespace, ServiceAccount, roles, Service, serving certificate and "
    "APIService. It takes a cluster-admin's rights. It may be repeated: what is as it should be "
    "stays unchanged, and a serving certificate is made anew only where it is missing, about to "
    "expire or lacks a name.",
    "unregister": "Remove what `quotaapi register` created, but for the Namespace. What the server "
    "has stored in etcd stays.",
}


def run(command: str, arguments: Sequence[str]) -> int:
    """The exit code."""
    options = _options(command, arguments)
    try:
        if command == "register":
            _run_register(options)
        else:
            _run_unregister(options)
    except (ClusterAccessError, Refused, Untrusted, OSError) as error:
        print(f"quotaapi {command}: {error}", file=sys.stderr)
        return 1
    return 0


def _options(command: str, arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser(f"quotaapi {command}", description=_ABOUT[command])
    add = parser.add_argument
    add(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="of the cluster (default: $KUBECONFIG, ~/.kube/config, the pod's service account)",
    )
    add("--namespace", default=NAME, metavar="NAME", help=f"of the server (default: {NAME})")
    if command == "register":
        add(
            "--external-name",
            default="",
            metavar="HOST",
            help="the server runs there, outside of the cluster",
        )
        add(
            "--port",
            type=int,
            default=443,
            metavar="N",
            help="of the service, or of HOST (default: 443)",
        )
        add(
            "--ca-file",
            type=Path,
            metavar="FILE",
            help="the CAs, in PEM, of a server certificate of your own, which must be valid for "
            f"{NAME}.NAMESPACE.svc (default: one is made, in Secret {SERVING_SECRET})",
        )
    change = "applied" if command == "register" else "deleted"
    add("--dry-run", action="store_true", help=f"print what would be {change}, and ask nobody")
    options = parser.parse_args(arguments)
    if command == "register" and options.ca_file:
        for fault in file_faults([("--ca-file", options.ca_file)]):
            parser.error(fault)
    return options


def _run_register(options: argparse.Namespace) -> None:
    place = Place(options.namespace, options.external_name, options.port)
    own = options.ca_file.read_bytes() if options.ca_file else b""
    if options.ca_file:
        verifying.check_bundle(own, place.server_names[0], f"--ca-file {options.ca_file}")
    if options.dry_run:
        _print(registration(place, own), secret=not own)
    else:
        asyncio.run(_at_cluster(options.kubeconfig, lambda client: _register(client, place, own)))


def _run_unregister(options: argparse.Namespace) -> None:
    place = Place(options.namespace)
    if options.dry_run:
        for obj in _leaving(place):
            print(f"{shown(obj)} would be deleted")
    else:
        asyncio.run(_at_cluster(options.kubeconfig, lambda client: _unregister(client, place)))


def _print(objects: Sequence[Object], *, secret: bool) -> None:
    if secret:
        print(
            f"# Registering also makes Secret {SERVING_SECRET} and puts its CA into the APIService."
        )
    print("---\n".join(codec.encode_yaml(obj).decode() for obj in objects), end="")


async def _at_cluster(given: Path | None, work: Callable[[KubeClient], Awaitable[None]]) -> None:
    kubeconfig = _kubeconfig(given)
    source = kubeconfig or "the pod's service account"
    try:
        client = await KubeClient.connect(kubeconfig, time.monotonic)
    except ClusterAccessError as error:
        raise Refused(f"{error}; name the cluster's with --kubeconfig or $KUBECONFIG") from error
    try:
        await recognise(client, source)
        await work(client)
    except KubeUnavailable as error:
        raise Refused(f"{client.server}, which {source} names: {error}") from error
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
    if own:
        await _check_own(client, place, own)
    namespace, *rest = registration(place, own)
    print(await apply(client, namespace))
    bundle = own
    if not own:
        serving = await _serving(client, place, datetime.now(UTC))
        print(await apply(client, serving_secret(place, serving)))
        rest = list(registration(place, serving.bundle)[1:])
        bundle = serving.bundle
    for obj in rest:
        print(await apply(client, obj))
    certificates = bundle.count(b"BEGIN CERTIFICATE")
    print(f"registered {rest[-1]['metadata']['name']}, its bundle has {certificates} CA(s)")


async def _check_own(client: KubeClient, place: Place, bundle: bytes) -> None:
    """Raises Untrusted; says so where there is no certificate to be looked at yet."""
    name = place.server_names[0]
    if place.external_name:
        if await verifying.check_server(place.external_name, place.port, bundle, name):
            return
        source = f"{place.external_name}:{place.port} does not answer yet"
    else:
        found = await _found_serving(client, place)
        if found.cert:
            source = f"Secret {place.namespace}/{SERVING_SECRET}"
            verifying.check_chain(found.cert, bundle, name, source, datetime.now(UTC))
            return
        source = f"there is no Secret {place.namespace}/{SERVING_SECRET} yet"
    print(f"{source}: its certificate must be signed by the given CAs and valid for {name}")


async def _unregister(client: KubeClient, place: Place) -> None:
    for obj in _leaving(place):
        print(await delete(client, obj))


def _leaving(place: Place) -> Sequence[Object]:
    """All but the namespace: what else is in it is not ours. The objects in etcd stay, too."""
    _, *objects = registration(place, b"")
    return [*reversed(objects), serving_secret(place, Serving(b"", b"", b""))]


async def _serving(client: KubeClient, place: Place, now: datetime) -> Serving:
    """The Secret's, where it is good; else a new one, which replaces it within a minute.

    While servers still serve the old one, kube-apiserver trusts both.
    """
    found = await _found_serving(client, place)
    if tls.is_serving(found.cert, found.key, found.bundle, place.server_names, now):
        return found
    made = tls.issue_serving(place.server_names, now)
    old = tls.valid_authorities(found.bundle, now)
    return Serving(made.cert, made.key, made.authority + old)


async def _found_serving(client: KubeClient, place: Place) -> Serving:
    """The Secret's; empty where there is none."""
    nothing = Serving(b"", b"", b"")
    answer = await client.request("GET", path_of(serving_secret(place, nothing)))
    if not answer.ok and answer.status != 404:
        raise Refused(f"Secret {place.namespace}/{SERVING_SECRET}: {answer.message}")
    return _decoded(answer.body) if answer.ok else nothing


def _decoded(secret: Any) -> Serving:
    data = secret.get("data") or {}
    cert, key, bundle = (b64decode(data.get(k, "")) for k in ("tls.crt", "tls.key", "ca.crt"))
    return Serving(cert, key, bundle)
