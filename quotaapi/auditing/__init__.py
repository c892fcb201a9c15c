"""The accounts recomputed from what etcd holds: pure, and independent of admission."""
