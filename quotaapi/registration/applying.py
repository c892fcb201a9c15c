"""One object at a time: applied or deleted at kube-apiserver, and told in kubectl's words."""

from collections.abc import Mapping
from typing import Final

from quotaapi.auth.asking import Answer
from quotaapi.auth.kube import APPLY, KubeClient
from quotaapi.registration.objects import NAME, Object, path_of

_AGGREGATION: Final = "/apis/apiregistration.k8s.io/v1"


class Refused(Exception):
    """kube-apiserver does not do it, or it is none."""


async def recognise(client: KubeClient, source: object) -> None:
    """Raises Refused where no kube-apiserver answers. `source`: who named it, for the message."""
    answer = await client.request("GET", _AGGREGATION)
    if answer.status == 403:
        return  # who may not look is told so at the first object
    if not answer.ok or not isinstance(answer.body, Mapping) or "resources" not in answer.body:
        raise Refused(
            f"{client.server}, which {source} names, is no kube-apiserver: to GET {_AGGREGATION} "
            f"it answered {answer.message}; name the cluster's kubeconfig with --kubeconfig"
        )


async def apply(client: KubeClient, obj: Object) -> str:
    """What became of it. Raises Refused."""
    path = path_of(obj)
    before = await client.request("GET", path)
    answer = await client.request(
        "PATCH",
        path,
        obj,
        query={"fieldManager": NAME, "force": "true"},
        content_type=APPLY,
    )
    if not answer.ok:
        raise _refused(obj, answer)
    return f"{shown(obj)} {_outcome(before, answer)}"


async def delete(client: KubeClient, obj: Object) -> str:
    """What became of it; one that is not there is no fault. Raises Refused."""
    answer = await client.request("DELETE", path_of(obj))
    if not answer.ok and answer.status != 404:
        raise _refused(obj, answer)
    return f"{shown(obj)} {'deleted' if answer.ok else 'not found'}"


def shown(obj: Object) -> str:
    metadata = obj["metadata"]
    where = f"{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"{obj['kind']} {where}{metadata['name']}"


def _outcome(before: Answer, after: Answer) -> str:
    """An apply that changes nothing writes nothing, so that the version stays."""
    if after.status == 201:
        return "created"
    return "unchanged" if before.ok and _version(before) == _version(after) else "configured"


def _version(answer: Answer) -> object:
    return answer.body["metadata"].get("resourceVersion")


def _refused(obj: Object, answer: Answer) -> Refused:
    hint = "; it takes a cluster-admin's rights" if answer.status == 403 else ""
    return Refused(f"{shown(obj)}: {answer.message}{hint}")
