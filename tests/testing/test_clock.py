from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import anyio
import pytest

from anaphora.errors import InvalidInput
from anaphora.ports.clock import Clock, Randomness
from anaphora.testing import FakeClock, SeededRandom

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_time_stands_still_until_it_is_moved() -> None:
    clock: Clock = FakeClock(NOON)
    assert (clock.now(), clock.monotonic()) == (NOON, 0.0)
    assert (clock.now(), clock.monotonic()) == (NOON, 0.0)


def test_a_clock_tells_utc_and_takes_no_naive_time() -> None:
    clock = FakeClock(datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2))))
    assert clock.now().isoformat() == "2026-03-01T12:00:00+00:00"
    with pytest.raises(InvalidInput, match="aware"):
        clock.set(datetime(2026, 3, 1))  # noqa: DTZ001  the mistake under test


async def test_advancing_moves_both_clocks_and_never_back() -> None:
    clock = FakeClock(NOON)
    await clock.advance(90)
    assert (clock.now(), clock.monotonic()) == (NOON + timedelta(seconds=90), 90.0)
    with pytest.raises(InvalidInput, match="jump"):
        await clock.advance(-1)


async def test_a_jump_and_a_set_move_the_wall_clock_only_and_wake_nobody() -> None:
    clock = FakeClock(NOON)
    async with anyio.create_task_group() as group:
        group.start_soon(clock.sleep, 10)
        await anyio.wait_all_tasks_blocked()
        clock.jump(3600)
        clock.jump(-7200)
        clock.set(NOON - timedelta(days=1))
        await anyio.wait_all_tasks_blocked()
        assert (clock.now(), clock.monotonic(), clock.sleeping) == (NOON - timedelta(days=1), 0.0, 1)
        await clock.advance(10)
    assert clock.now() == NOON - timedelta(days=1) + timedelta(seconds=10)


async def test_sleepers_wake_in_the_order_of_their_time_and_at_their_time() -> None:
    clock = FakeClock(NOON)
    woken: list[tuple[str, float]] = []

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    async with anyio.create_task_group() as group:
        for name, seconds in (("late", 9), ("early", 2), ("also early", 2), ("later still", 30)):
            group.start_soon(sleep, name, seconds)
        await clock.advance(10)
        assert woken == [("early", 2.0), ("also early", 2.0), ("late", 9.0)]
        assert clock.sleeping == 1
        await clock.advance(20)


async def test_who_sleeps_again_wakes_again_within_one_advance() -> None:
    clock = FakeClock()
    beats: list[float] = []

    async def heart() -> None:
        while len(beats) < 5:
            await clock.sleep(2)
            beats.append(clock.monotonic())

    async with anyio.create_task_group() as group:
        group.start_soon(heart)
        await clock.advance(11)
    assert beats == [2.0, 4.0, 6.0, 8.0, 10.0]


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = FakeClock()
    with anyio.move_on_after(0.01):
        await clock.sleep(5)
    assert clock.sleeping == 0


async def test_no_sleep_needs_no_advance() -> None:
    clock = FakeClock()
    await clock.sleep(0)
    assert clock.monotonic() == 0


def test_the_same_seed_gives_the_same_bytes_and_every_call_others() -> None:
    first: Randomness = SeededRandom(7)
    again, other = SeededRandom(7), SeededRandom(8)
    drawn = [first(16) for _ in range(3)]
    assert drawn == [again(16) for _ in range(3)]
    assert len({*drawn, other(16)}) == 4
    assert [len(first(size)) for size in (0, 1, 1000)] == [0, 1, 1000]


def test_chances_are_spread_between_zero_and_one() -> None:
    random = SeededRandom(1)
    chances = [random.chance() for _ in range(200)]
    assert 0 <= min(chances) < 0.1
    assert 0.9 < max(chances) < 1
