"""The parts of a client that tell what changes, and that let a memory rest."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from typing import Final

import anyio
from pydantic import TypeAdapter

from anaphora.client.doorman import Who
from anaphora.client.events import events
from anaphora.client.wire import Wire
from anaphora.domain.changes import Change
from anaphora.errors import StoreError
from anaphora.memory.listening import Listening
from anaphora.memory.resting import Resting

_SINCE: Final = TypeAdapter(datetime)
_MAYBE: Final = TypeAdapter(datetime | None)
_YES: Final = TypeAdapter(bool)
_CHANGE: Final = TypeAdapter(Change)
#: the mark of a memory of which nothing ever changed, as events have it
_NOTHING: Final = "0"
#: seconds before a lost stream is taken up again
_AGAIN: Final = 1.0


class RemoteListening(Listening):
    """What changes of a memory, as it changes."""

    _wire: Wire
    _closed: anyio.Event

    async def changes(
        self, *, user: str, since: str | None = None, tenant: str | None = None
    ) -> AsyncGenerator[Change]:
        """What changes of a user's memory, as it changes, until the client is closed.

        A stream that is lost is taken up again where it ended.
        """
        mark = await self.mark(user=user, tenant=tenant) if since is None else since
        while not self._closed.is_set():
            try:
                async with aclosing(self._told(user, tenant, mark)) as told:
                    async for change in told:
                        mark = change.mark
                        yield change
            except StoreError:
                if self._closed.is_set():
                    return
            with anyio.move_on_after(_AGAIN):
                await self._closed.wait()

    async def mark(self, *, user: str, tenant: str | None = None) -> str:
        """The mark of now: `changes` since then leave out nothing that changes from now on."""
        who = Who(user=user, tenant=tenant)
        async with self._wire.stream("GET", "events", who=who) as lines, aclosing(events(lines)) as told:
            async for event in told:
                return "" if event.id == _NOTHING else event.id
        raise StoreError("the service ended before it said what is new: try again")

    async def _told(self, user: str, tenant: str | None, mark: str) -> AsyncGenerator[Change]:
        who, headers = Who(user=user, tenant=tenant), {"Last-Event-ID": mark or _NOTHING}
        opened = self._wire.stream("GET", "events", who=who, headers=headers)
        async with opened as lines, aclosing(events(lines)) as told:
            async for event in told:
                if event.kind:
                    yield _CHANGE.validate_json(event.data)


class RemoteResting(Resting):
    """Pauses of the memories of users."""

    _wire: Wire

    async def pause(self, *, user: str, tenant: str | None = None) -> datetime:
        """Let the memory of a user rest; since when it does. Twice is harmless."""
        return await self._wire.ask(_SINCE, "PUT", "pause", who=Who(user=user, tenant=tenant))

    async def resume(self, *, user: str, tenant: str | None = None) -> bool:
        """Let it go on; False if it did not rest."""
        return await self._wire.ask(_YES, "DELETE", "pause", who=Who(user=user, tenant=tenant))

    async def paused(self, *, user: str, tenant: str | None = None) -> datetime | None:
        """Since when the memory of a user rests; None: it does not."""
        return await self._wire.ask(_MAYBE, "GET", "pause", who=Who(user=user, tenant=tenant))
