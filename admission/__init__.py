"""Decisions about one operation: defaults, references, limits, quota. Knows no HTTP and no etcd."""
