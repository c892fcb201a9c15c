"""What a user may, asked by the user: `kubectl auth can-i` and `kubectl auth whoami`.

Behind a kube-apiserver it is that server's to say. A server that stands alone is asked itself, so
it answers the three questions about oneself; nothing is stored.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from apis.meta import errors, fields
from apis.meta.fields import FieldError
from apis.meta.transaction import Object
from quotaapi.auth.interface import MASTERS, Authorizer
from quotaapi.endpoints import protobuf, query, respond
from quotaapi.endpoints.bodies import read_object
from quotaapi.endpoints.exchange import Exchange, Handler, read_body
from quotaapi.endpoints.negotiation import accepted

_AUTHORIZATION: Final = "authorization.k8s.io"
_AUTHENTICATION: Final = "authentication.k8s.io"

_ACCESS: Final = "SelfSubjectAccessReview"
_RULES: Final = "SelfSubjectRulesReview"
_SUBJECT: Final = "SelfSubjectReview"

_TEXT: Final = None
_PROTOBUF: Final[Mapping[str, protobuf.Fields]] = {
    _ACCESS: {
        2: (
            "spec",
            {
                1: (
                    "resourceAttributes",
                    {
                        1: ("namespace", _TEXT),
                        2: ("verb", _TEXT),
                        3: ("group", _TEXT),
                        4: ("version", _TEXT),
                        5: ("resource", _TEXT),
                        6: ("subresource", _TEXT),
                        7: ("name", _TEXT),
                    },
                ),
                2: ("nonResourceAttributes", {1: ("path", _TEXT), 2: ("verb", _TEXT)}),
            },
        )
    },
    _RULES: {2: ("spec", {1: ("namespace", _TEXT)})},
    _SUBJECT: {},
}
"""The fields' numbers: newer kubectls send these kinds as protobuf, and take JSON for an answer."""

Answer = Callable[[Exchange, Object], Awaitable[Object]]
"""A request's `spec` -> the answer's `status`. Raises 422."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`auth.interface.Attributes` of what a review asks about."""

    verb: str = ""
    path: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


def actions(authorizer: Authorizer) -> Mapping[str, Handler]:
    """Path -> what answers it, which is a POST's."""

    async def access(exchange: Exchange, spec: Object) -> Object:
        asked = _asked(spec)
        if MASTERS in exchange.user.groups:
            return {"allowed": True}
        decision = await authorizer.authorize(exchange.user, asked)
        reason = {"reason": decision.reason} if decision.reason else {}
        return {"allowed": decision.allowed, **reason}

    async def rules(exchange: Exchange, spec: Object) -> Object:
        namespace = spec.get("namespace")
        if not isinstance(namespace, str) or not namespace:
            raise errors.bad_request("no namespace on request")
        everything = Asked("*", group="*", version="*", resource="*", namespace=namespace)
        masters = MASTERS in exchange.user.groups
        allowed = masters or (await authorizer.authorize(exchange.user, everything)).allowed
        return _rules(everything=allowed)

    return {
        f"/apis/{_AUTHORIZATION}/v1/selfsubjectaccessreviews": _handler(
            _AUTHORIZATION, _ACCESS, access
        ),
        f"/apis/{_AUTHORIZATION}/v1/selfsubjectrulesreviews": _handler(
            _AUTHORIZATION, _RULES, rules
        ),
        f"/apis/{_AUTHENTICATION}/v1/selfsubjectreviews": _handler(
            _AUTHENTICATION, _SUBJECT, _subject
        ),
    }


def _handler(group: str, kind: str, answer: Answer) -> Handler:
    api_version = f"{group}/v1"

    async def handle(exchange: Exchange) -> web.StreamResponse:
        if exchange.request.method != "POST":
            raise errors.method_not_allowed_here()
        representation = accepted(exchange.header("Accept"))
        query.create_options(exchange.info.query, "")  # refuses what cannot be one
        review = await _review(exchange, kind)
        if (review.get("apiVersion"), review.get("kind")) != (api_version, kind):
            raise errors.bad_request(f"the object provided is no {kind} of {api_version}")
        spec = review.get("spec") or {}
        if not isinstance(spec, dict):
            wrong = fields.type_invalid("spec", type(spec).__name__, "must be an object")
            raise _invalid(group, kind, wrong)
        found: Object = {
            "kind": kind,
            "apiVersion": api_version,
            "metadata": {"creationTimestamp": None},
            **({} if kind == _SUBJECT else {"spec": spec}),
            "status": await answer(exchange, spec),
        }
        return respond.value(exchange, found, representation, status=201)

    return handle


async def _review(exchange: Exchange, kind: str) -> Object:
    media_type = exchange.header("Content-Type").partition(";")[0].strip().lower()
    if media_type != protobuf.MEDIA_TYPE:
        read: Object = (await read_object(exchange, kind)).value
        return read
    try:
        return protobuf.decode(await read_body(exchange), _PROTOBUF[kind])
    except ValueError as error:
        raise errors.unrecognized(kind, str(error)) from None


def _asked(spec: Object) -> Asked:
    """Raises 422 where it does not ask about exactly one thing."""
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        said = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        where = "spec.resourceAttributes" if resource is None else "spec.nonResourceAttributes"
        raise _invalid(_AUTHORIZATION, _ACCESS, fields.invalid(where, spec, said))
    names: tuple[str, ...] = ("verb", "path")
    if resource is not None:
        names = tuple(name for name in Asked.__slots__ if name != "path")
    return Asked(**_texts(resource if path is None else path, names))


def _texts(given: Any, names: tuple[str, ...]) -> dict[str, str]:
    """Those members of an object, each a text. Raises 422."""
    if not isinstance(given, dict):
        wrong = fields.type_invalid("spec", type(given).__name__, "must be an object")
        raise _invalid(_AUTHORIZATION, _ACCESS, wrong)
    found = {name: given.get(name) or "" for name in names}
    for name, value in found.items():
        if not isinstance(value, str):
            wrong = fields.type_invalid(f"spec.{name}", type(value).__name__, "must be a string")
            raise _invalid(_AUTHORIZATION, _ACCESS, wrong)
    return found


def _rules(*, everything: bool) -> Object:
    """Where rights are not by resource there are two cases, and both are told completely."""
    if not everything:
        return {"resourceRules": [], "nonResourceRules": [], "incomplete": False}
    return {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


async def _subject(exchange: Exchange, spec: Object) -> Object:
    del spec
    user = exchange.user
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {"userInfo": info}


def _invalid(group: str, kind: str, wrong: FieldError) -> errors.StatusError:
    return errors.invalid(kind, group, "", [wrong])
