"""The API as a client speaks it: plain HTTP and JSON, no code of the server's."""

from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.harness.server import GROUP_PATH

Object = dict[str, Any]

PLURALS = {
    "CloudProfile": "cloudprofiles",
    "CrossSecretBinding": "crosssecretbindings",
    "PrivateSecretBinding": "privatesecretbindings",
    "Quota": "quotas",
    "QuotaUsage": "quotausages",
    "SecretBinding": "secretbindings",
    "Shoot": "shoots",
    "ShootLimitRange": "shootlimitranges",
}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Object = field(repr=False)

    @property
    def message(self) -> str:
        """A Status's message."""
        text: str = self.body.get("message", "")
        return text

    def __repr__(self) -> str:
        return f"<{self.status} {self.body.get('kind')} {self.message[:300]}>"


def path_of(obj: Object) -> str:
    """The collection that an object belongs to."""
    plural, namespace = PLURALS[obj["kind"]], obj["metadata"].get("namespace")
    return f"namespaces/{namespace}/{plural}" if namespace else plural


class Api:
    """Requests below the group's version. Nothing is retried and no status is an exception."""

    CLIENT_ERRORS = (aiohttp.ClientError,)

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def request(self, method: str, path: str, body: object = None, **options: Any) -> Answer:
        where = path if path.startswith("/") else f"{GROUP_PATH}/{path}"
        async with self._session.request(method, where, json=body, **options) as response:
            return Answer(response.status, await response.json(content_type=None))

    async def create(self, obj: Object, *, dry_run: bool = False) -> Answer:
        params = {"dryRun": "All"} if dry_run else {}
        return await self.request("POST", path_of(obj), obj, params=params)

    async def have(self, *objects: Object) -> None:
        """Create what a test needs to stand."""
        for obj in objects:
            answer = await self.create(obj)
            assert answer.status == 201, (obj["kind"], obj["metadata"]["name"], answer)

    async def get(self, kind: str, namespace: str, name: str) -> Answer:
        return await self.request("GET", f"namespaces/{namespace}/{PLURALS[kind]}/{name}")

    async def delete(self, kind: str, namespace: str, name: str) -> Answer:
        return await self.request("DELETE", f"namespaces/{namespace}/{PLURALS[kind]}/{name}")

    async def delete_object(self, obj: Object) -> Answer:
        return await self.request("DELETE", f"{path_of(obj)}/{obj['metadata']['name']}")

    async def update(self, obj: Object, *, dry_run: bool = False) -> Answer:
        params = {"dryRun": "All"} if dry_run else {}
        path = f"{path_of(obj)}/{obj['metadata']['name']}"
        return await self.request("PUT", path, obj, params=params)

    async def patch(self, kind: str, namespace: str, name: str, patch: Object) -> Answer:
        """A merge patch."""
        return await self.request(
            "PATCH",
            f"namespaces/{namespace}/{PLURALS[kind]}/{name}",
            patch,
            headers={"Content-Type": "application/merge-patch+json"},
        )

    async def items(self, kind: str, namespace: str = "") -> list[Object]:
        plural = PLURALS[kind]
        path = f"namespaces/{namespace}/{plural}" if namespace else plural
        answer = await self.request("GET", path)
        assert answer.status == 200, answer
        found: list[Object] = answer.body["items"]
        return found

    async def used(self, namespace: str, quota: str) -> dict[str, str]:
        answer = await self.get("Quota", namespace, quota)
        assert answer.status == 200, answer
        found: dict[str, str] = answer.body["status"]["used"]
        return found

    async def namespace_used(self, namespace: str, quota: str) -> dict[str, str] | None:
        """What a namespace's QuotaUsage of a quota shows; None where there is none."""
        for usage in await self.items("QuotaUsage", namespace):
            if usage["spec"]["quotaRef"]["name"] == quota:
                found: dict[str, str] = usage["status"]["used"]
                return found
        return None
