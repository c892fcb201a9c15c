"""Fixtures with a real etcd."""

from tests.etcd_fixtures import etcd_process, own_etcd, prefix, shared_etcds  # noqa: F401
