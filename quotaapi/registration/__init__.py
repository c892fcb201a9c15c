"""`quotaapi register` and `unregister`: what a cluster has to be told of this server."""
