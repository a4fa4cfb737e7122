"""Who waits for an answer goes before work in the background."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from anaphora.testing import FakeClock
from anaphora.worker.manners import BUSY, PATIENCE, PAUSE, Manners

pytestmark = pytest.mark.anyio


class BusyLoop(FakeClock):
    """Somebody else works so long in each round of the event loop; nobody sleeps longer than asked."""

    def __init__(self, *rounds: float) -> None:
        super().__init__()
        self.rounds = list(rounds)
        self.slept: list[float] = []
        self.asked = 0

    def monotonic(self) -> float:
        self.asked += 1
        if self.asked % 2 == 0 and self.rounds:
            self._elapsed += self.rounds.pop(0)
        return super().monotonic()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await anyio.lowlevel.checkpoint()


async def test_in_a_loop_without_others_work_begins_at_once() -> None:
    clock = BusyLoop(BUSY / 2)
    await Manners(clock).make_way(anyio.Event())
    assert clock.slept == []


async def test_others_are_left_alone_until_they_are_done() -> None:
    clock = BusyLoop(2 * BUSY, 10 * BUSY, BUSY / 2)
    await Manners(clock).make_way(anyio.Event())
    assert clock.slept == [PAUSE, PAUSE]


async def test_work_begins_however_busy_others_are() -> None:
    clock = BusyLoop(*[10 * BUSY] * 1000)
    await Manners(clock).make_way(anyio.Event())
    assert sum(clock.slept) == pytest.approx(PATIENCE)


async def test_who_is_told_to_stop_waits_for_nobody() -> None:
    clock, stopping = BusyLoop(*[10 * BUSY] * 1000), anyio.Event()
    stopping.set()
    await Manners(clock).make_way(stopping)
    assert clock.slept == []
