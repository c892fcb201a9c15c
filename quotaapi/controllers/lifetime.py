"""Deletes shoots whose time is over, through the ordinary path: admission, accounts, finalizers.

Every round looks at the bytes of all cached shoots, about a microsecond each; only what carries
the annotation with a time that has passed is decoded. There is no state to keep or to lose: what
could not be deleted is tried again in the next round.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

from apis.garden.v1beta1.shoot import EXPIRATION
from apis.meta.errors import StatusError
from apis.meta.request import UserInfo
from apis.meta.selectors import FieldSelector, LabelSelector
from apis.meta.times import parse_rfc3339
from apis.meta.transaction import Record
from quotaapi.controllers.duty import Carry
from quotaapi.registry.heavy import Breath, breaths
from quotaapi.registry.options import DeleteOptions
from quotaapi.registry.rest import ListQuery, Rest

_log = logging.getLogger(__name__)

ROUND_SECONDS: Final = 60.0
USER: Final = UserInfo("system:quotaapi:lifetime", ("system:authenticated",))

_BREATH: Final = Breath(2000, 8 * 1024 * 1024)
"""Shoots looked at in one go; then others have their turn."""

_WHATEVER_IS_CACHED: Final = ListQuery(
    LabelSelector.parse(""), FieldSelector.parse("", ()), resource_version=0
)
_MARK: Final = f'"{EXPIRATION}":"'.encode()


class Lifetime:
    """A duty of the leader's: `shoots` writes under its mandate."""

    def __init__(
        self,
        shoots: Rest,
        carry_out: Carry,
        clock: Callable[[], datetime],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._shoots = shoots
        self._carry_out = carry_out
        self._clock = clock
        self._sleep = sleep
        self.deleted = 0

    async def run(self) -> None:
        """Look at once, for what expired while nobody led, and then again and again."""
        while True:
            try:
                await self.round()
            except StatusError as error:
                _log.warning("looking for expired shoots is put off: %s", error)
            await self._sleep(ROUND_SECONDS)

    async def round(self) -> None:
        """Delete what has expired by now. Raises StatusError where the shoots cannot be listed."""
        page = await self._shoots.list("", _WHATEVER_IS_CACHED)
        now = self._clock()
        for records in breaths(page.records, _BREATH):
            for record in records:
                if _may_be_expired(record.body, now):
                    await self._delete_expired(record, now)
            await asyncio.sleep(0)

    async def _delete_expired(self, record: Record, now: datetime) -> None:
        metadata = record.object()["metadata"]
        expires = _moment((metadata.get("annotations") or {}).get(EXPIRATION))
        if expires is None or expires > now or "deletionTimestamp" in metadata:
            return
        namespace, name = metadata["namespace"], metadata["name"]
        # Its version too: a shoot whose time was just extended is another one than was judged.
        options = DeleteOptions(uid=metadata["uid"], resource_version=metadata["resourceVersion"])
        try:
            await self._carry_out(self._shoots.delete(USER, namespace, name, options))
        except StatusError as error:
            if error.reason not in ("NotFound", "Conflict"):
                _log.warning("expired shoot %s/%s is not deleted: %s", namespace, name, error)
            return
        self.deleted += 1
        _log.info("shoot %s/%s expired at %s and is deleted", namespace, name, expires)


def _may_be_expired(body: bytes, now: datetime) -> bool:
    """Whether the annotation's first appearance in the bytes has passed, or cannot be told."""
    at = body.find(_MARK)
    if at < 0:
        return False
    start = at + len(_MARK)
    moment = _moment(body[start : body.find(b'"', start)].decode(errors="replace"))
    return moment is None or moment <= now


def _moment(text: str | None) -> datetime | None:
    try:
        return parse_rfc3339(text) if text else None
    except ValueError:
        return None
