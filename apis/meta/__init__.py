"""API machinery that no kind owns: what k8s.io/apimachinery is to Kubernetes."""
