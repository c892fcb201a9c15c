"""The objects that a cluster needs, in the order in which they are applied."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apis.garden.v1beta1.register import GROUP, VERSION
from quotaapi.registration.roles import roles

Object = dict[str, Any]

NAME: Final = "quotaapi"
LABELS: Final = {"app.kubernetes.io/name": NAME}
SECURE_PORT: Final = 8443
SERVING_SECRET: Final = f"{NAME}-serving"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server is. `external_name`: a host outside of the cluster, else pods are selected."""

    namespace: str = NAME
    external_name: str = ""
    port: int = 443

    @property
    def server_names(self) -> Sequence[str]:
        """As what kube-apiserver asks for it; the first is the one."""
        service = f"{NAME}.{self.namespace}"
        names = [f"{service}.svc", f"{service}.svc.cluster.local", service]
        return [*names, *filter(None, [self.external_name])]


@dataclass(frozen=True, slots=True)
class Serving:
    """PEM. `bundle`: whom kube-apiserver is to trust."""

    cert: bytes
    key: bytes
    bundle: bytes


def registration(place: Place, bundle: bytes) -> Sequence[Object]:
    """`bundle` (PEM): of the server's certificate; empty: the APIService is left without one."""
    return (
        _object("v1", "Namespace", place.namespace),
        _object("v1", "ServiceAccount", NAME, place.namespace),
        *roles(NAME, place.namespace),
        _service(place),
        _api_service(place, bundle),
    )


def serving_secret(place: Place, serving: Serving) -> Object:
    content = {"tls.crt": serving.cert, "tls.key": serving.key, "ca.crt": serving.bundle}
    return {
        **_object("v1", "Secret", SERVING_SECRET, place.namespace),
        "type": "kubernetes.io/tls",
        "data": {key: b64encode(value).decode() for key, value in content.items()},
    }


def path_of(obj: Mapping[str, Any]) -> str:
    """Where kube-apiserver has an object."""
    version, kind, metadata = obj["apiVersion"], obj["kind"], obj["metadata"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if namespace := metadata.get("namespace"):
        base += f"/namespaces/{namespace}"
    return f"{base}/{kind.lower()}s/{metadata['name']}"


def _object(version: str, kind: str, name: str, namespace: str = "") -> Object:
    metadata: Object = {"name": name, "labels": dict(LABELS)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _service(place: Place) -> Object:
    spec: Object = {
        "selector": dict(LABELS),
        "ports": [{"name": "https", "port": place.port, "targetPort": SECURE_PORT}],
    }
    if place.external_name:
        spec = {"type": "ExternalName", "externalName": place.external_name}
    return {**_object("v1", "Service", NAME, place.namespace), "spec": spec}


def _api_service(place: Place, bundle: bytes) -> Object:
    spec: Object = {
        "group": GROUP,
        "version": VERSION,
        "groupPriorityMinimum": 1000,
        "versionPriority": 15,
        "service": {"name": NAME, "namespace": place.namespace, "port": place.port},
    }
    if bundle:
        spec["caBundle"] = b64encode(bundle).decode()
    found = _object("apiregistration.k8s.io/v1", "APIService", f"{VERSION}.{GROUP}")
    return {**found, "spec": spec}
