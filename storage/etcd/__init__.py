"""Records in etcd: reads, events, group commit, compaction, and the embedded etcd process."""
