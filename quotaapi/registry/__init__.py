"""Generic REST logic: what k8s.io/apiserver's registry.Store does for any kind."""
