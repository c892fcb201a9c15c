"""Wires what speaks to etcd: client -> store -> group commit -> cache and claims. Starts nothing."""

import random
import ssl
import time
from dataclasses import dataclass

from quotaapi.config import Config
from quotaapi.resources.stores import extracts
from storage import stack
from storage.etcd.client import Client, tls_context
from storage.etcd.compaction import Compaction
from storage.etcd.group_commit import GroupCommit
from storage.etcd.merging import Limits
from storage.etcd.store import EtcdStore

_REQUEST_ROOM = 0.9
"""Of etcd's --max-request-bytes, what a group of transactions may fill: the rest is framing."""


@dataclass(frozen=True, slots=True)
class Storage:
    """What speaks to etcd."""

    client: Client
    store: EtcdStore
    group_commit: GroupCommit
    compaction: Compaction
    stack: stack.Stack


def build_storage(config: Config, endpoints: tuple[str, ...]) -> Storage:
    """To be called inside the event loop."""
    client = Client(endpoints, tls=_etcd_tls(config, endpoints))
    operations = config.etcd_max_txn_ops
    store = EtcdStore(client, prefix=config.etcd_prefix, max_operations=operations)
    room = int(config.etcd_max_request_bytes * _REQUEST_ROOM)
    group_commit = GroupCommit(store, limits=Limits(operations=operations, request_bytes=room))
    built = stack.build(
        backend=store,
        commit=group_commit.commit,
        max_operations=group_commit.max_operations,
        extracts=extracts(),
        monotonic=time.monotonic,
        jitter=random.random,
        limits=stack.Limits(window_events=config.watch_cache_size),
    )
    store.on_doubt = built.reflector.doubt
    interval = config.etcd_compaction_interval_seconds
    compaction = Compaction(store, group_commit.commit, interval_seconds=interval)
    return Storage(client, store, group_commit, compaction, built)


def _etcd_tls(config: Config, endpoints: tuple[str, ...]) -> ssl.SSLContext | None:
    if not any(endpoint.startswith("https://") for endpoint in endpoints):
        return None
    return tls_context(
        ca_file=str(config.etcd_cafile or ""),
        cert_file=str(config.etcd_certfile or ""),
        key_file=str(config.etcd_keyfile or ""),
    )
