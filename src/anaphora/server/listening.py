"""Those who wait for news of a memory: how many there may be, and when each of them ends."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from anaphora.domain.changes import Change
from anaphora.domain.principals import Principal
from anaphora.server.problems import Refused
from anaphora.server.sse import event, remark

#: seconds between signs of life where nothing is told
BEAT: Final = 15.0
#: seconds after which it is asked again whether the listener is let in, whatever is told meanwhile
CHECK: Final = 3.0
#: milliseconds after which a browser that lost the connection comes again
_AGAIN: Final = 2000
#: the mark of a memory of which nothing ever changed, as browsers keep it
_NOTHING: Final = "0"


@dataclass(slots=True, kw_only=True)
class Listeners:
    """Counts them in this process."""

    #: of one principal
    each: int = 8
    #: of all together
    most: int = 1000
    beat: float = BEAT
    check: float = CHECK
    _now: Counter[tuple[str, str | None, str]] = field(default_factory=Counter)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def close(self) -> None:
        """Let everybody go, and nobody in."""
        self._ended.set()

    @contextmanager
    def one(self, principal: Principal) -> Iterator[None]:
        """One more.

        Raises:
            Refused: 429, the principal has enough of them; 503, there are too many, or the service ends.

        """
        who = (principal.tenant, principal.user, principal.by)
        if self._now[who] >= self.each:
            raise Refused(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"one key has at most {self.each} open streams of events: close one first",
                headers={"Retry-After": "5"},
            )
        if self._ended.is_set() or self._now.total() >= self.most:
            raise Refused(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "there are too many open streams of events: try again in a few seconds",
                headers={"Retry-After": "5"},
            )
        self._now[who] += 1
        try:
            yield
        finally:
            self._now[who] -= 1
            if not self._now[who]:
                del self._now[who]

    async def told(
        self, changes: AsyncGenerator[Change], mark: str, still: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[str]:
        """The changes as events, with signs of life in between; ends when they do, or when nobody may listen any more.

        Args:
            changes: what is told; closed at the end.
            mark: from where on.
            still: whether who listens is let in still.

        """
        yield f"retry: {_AGAIN}\nid: {mark or _NOTHING}\n\n"
        async with aclosing(changes):
            ended = asyncio.ensure_future(self._ended.wait())
            following = asyncio.ensure_future(anext(changes, None))
            quiet_since = time.monotonic()
            try:
                while not ended.done():
                    await asyncio.wait(
                        {ended, following}, timeout=self._pause(quiet_since), return_when=asyncio.FIRST_COMPLETED
                    )
                    if ended.done() or not await still():
                        return
                    if following.done():
                        change = following.result()
                        if change is None:
                            return
                        yield event(change.kind.value, change, mark=change.mark)
                        following = asyncio.ensure_future(anext(changes, None))
                    elif time.monotonic() - quiet_since >= self.beat:
                        yield remark("still here")
                    else:
                        continue
                    quiet_since = time.monotonic()
            finally:
                for task in (ended, following):
                    task.cancel()
                await asyncio.gather(ended, following, return_exceptions=True)

    def _pause(self, quiet_since: float) -> float:
        """How long nothing need be done if nothing happens."""
        return max(0.0, min(self.check, quiet_since + self.beat - time.monotonic()))
