"""Rights, judged by the cluster: SubjectAccessReview for every request and every reference."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from apis.meta.names import dns1123_label, dns1123_subdomain
from apis.meta.request import UserInfo
from quotaapi.auth.asking import METADATA_ONLY, Asker
from quotaapi.auth.decisions import HOLDS_SECONDS, Decisions
from quotaapi.auth.interface import MASTERS, Attributes, Decision

PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

DECISIONS_KEPT: Final = 8192
MAX_KEPT_LENGTH: Final = 10_000
"""Characters of a question; longer ones are asked and not kept, as in kube-apiserver: whoever can
choose long names must not fill the memory with them."""

Extra = tuple[tuple[str, tuple[str, ...]], ...]
Target = tuple[str, str, str, str, str, str]
"""(group, version, resource, subresource, namespace, name); an empty resource: a path."""


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that a decision depends on."""

    user: str
    uid: str
    groups: tuple[str, ...]
    extra: Extra
    verb: str
    path: str
    target: Target

    @property
    def length(self) -> int:
        texts = (self.user, self.uid, *self.groups, self.verb, self.path, *self.target)
        extra = sum(len(key) + sum(map(len, values)) for key, values in self.extra)
        return sum(map(len, texts)) + extra


class AccessReviewAuthorizer:
    def __init__(
        self,
        asker: Asker,
        *,
        monotonic: Callable[[], float],
        spawn: Callable[..., object],
    ) -> None:
        self._asker = asker
        self._decisions = Decisions[Question, Decision](
            _holds, size=DECISIONS_KEPT, monotonic=monotonic, spawn=spawn
        )

    async def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:
        target, path = ("", "", "", "", "", ""), attributes.path
        if attributes.resource:
            target, path = _target(attributes), ""
        return await self._decide(user, attributes.verb, path, target)

    async def may(
        self, user: UserInfo, verb: str, group: str, resource: str, namespace: str, name: str
    ) -> bool:
        """`admission.plugins.lookups.Rights`."""
        if MASTERS in user.groups:
            return True
        version = "v1" if not group else "v1beta1"
        decision = await self._decide(
            user, verb, "", (group, version, resource, "", namespace, name)
        )
        return decision.allowed

    async def _decide(self, user: UserInfo, verb: str, path: str, target: Target) -> Decision:
        extra = tuple(sorted(user.extra.items())) if user.extra else ()
        question = Question(user.name, user.uid, user.groups, extra, verb, path, target)
        return await self._decisions.get(question, lambda: self._review(question))

    async def _review(self, question: Question) -> Decision:
        answer = await self._asker.post(PATH, _review_of(question))
        status = answer.body.get("status") if isinstance(answer.body, Mapping) else None
        if not answer.ok or not isinstance(status, Mapping):
            raise self._asker.useless(answer)
        allowed = status.get("allowed") is True and status.get("denied") is not True
        return Decision(allowed=allowed, reason=status.get("reason") or "")


class ClusterReferences:
    """`admission.plugins.lookups.ReferenceChecker` over the cluster.

    Whether a secret is there is asked each time, by its metadata: a secret's content is never read.
    """

    def __init__(self, authorizer: AccessReviewAuthorizer, asker: Asker) -> None:
        self._authorizer = authorizer
        self._asker = asker

    async def may(
        self, user: UserInfo, verb: str, group: str, resource: str, namespace: str, name: str
    ) -> bool:
        return await self._authorizer.may(user, verb, group, resource, namespace, name)

    async def secret_exists(self, namespace: str, name: str) -> bool | None:
        if dns1123_label(namespace) or dns1123_subdomain(name):
            return False  # nothing has such a name, and a path is not made of it
        path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
        answer = await self._asker.get(path, accept=METADATA_ONLY)
        if answer.status == 404:
            return False
        if not answer.ok:
            raise self._asker.useless(answer)
        return True


def _holds(question: Question) -> float:
    return 0.0 if question.length > MAX_KEPT_LENGTH else HOLDS_SECONDS


def _target(attributes: Attributes) -> Target:
    return (
        attributes.group,
        attributes.version,
        attributes.resource,
        attributes.subresource,
        attributes.namespace,
        attributes.name,
    )


def _review_of(question: Question) -> Mapping[str, Any]:
    spec: dict[str, Any] = {"user": question.user}
    if question.groups:
        spec["groups"] = list(question.groups)
    if question.uid:
        spec["uid"] = question.uid
    if question.extra:
        spec["extra"] = {key: list(values) for key, values in question.extra}
    if question.path:
        spec["nonResourceAttributes"] = {"path": question.path, "verb": question.verb}
    else:
        names = ("group", "version", "resource", "subresource", "namespace", "name")
        attributes = {k: v for k, v in zip(names, question.target, strict=True) if v}
        spec["resourceAttributes"] = {"verb": question.verb, **attributes}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": spec,
    }
