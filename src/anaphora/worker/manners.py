"""A worker beside people: in the process of an app, whoever waits for an answer goes before work in the background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import anyio
import anyio.lowlevel

from anaphora.ports.clock import Clock

#: seconds that one round of the event loop takes when somebody else has things to do in it
BUSY: Final = 0.004
#: seconds for which they are left alone, and for how long in all: work that never began would be forgotten
PAUSE: Final = 0.05
PATIENCE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Manners:
    """Tells by the event loop itself whether others are busy in it: no app has to say so."""

    clock: Clock

    async def make_way(self, stopping: anyio.Event) -> None:
        """Wait until a round of the event loop is short, for `PATIENCE` seconds at most, or until told to stop."""
        patience = PATIENCE
        while patience > 0 and not stopping.is_set() and await self._round() > BUSY:
            await self.clock.sleep(PAUSE)
            patience -= PAUSE

    async def _round(self) -> float:
        began = self.clock.monotonic()
        await anyio.lowlevel.checkpoint()
        return self.clock.monotonic() - began
