"""The watch cache: the state of every key and the recent events, fed by one etcd watch."""
