"""Vectors that are kept at hand: what a search sees is what the database holds."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from tests.storage.bench import opened

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.vectors import Space
from anaphora.ports.rows import PassageVector
from anaphora.ports.store import Store, Unit
from anaphora.storage.sqlite.matrices import Matrices
from anaphora.testing.conformance.store_laws.tools import append, key_of

pytestmark = pytest.mark.anyio

SPACE = Space(profile="p", dimensions=2)
KEY = key_of()


async def say(store: Store, *texts: str, key: SessionKey = KEY) -> None:
    """Messages with their vectors."""
    await store.append(append(*texts, key=key))

    def embed(unit: Unit) -> None:
        row = unit.sessions.find(key)
        assert row is not None
        log = unit.messages.range(key.tenant, row.id, SeqRange(row.head - len(texts), row.head), limit=len(texts))
        unit.vectors.put(
            row,
            SPACE,
            [PassageVector(seq=m.seq, part=0, message_id=m.id, version=m.version, vector=(1.0, 0.0)) for m in log],
        )

    await store.write(key.tenant, embed)


async def found(store: Store, key: SessionKey = KEY) -> list[int]:
    """The numbers of what is found, in order."""
    matches = await store.read(
        key.tenant,
        lambda unit: unit.vectors.nearest(
            key.tenant, key.user, agent=None, session_id=None, space=SPACE, vector=(1.0, 0.0), limit=99
        ),
    )
    return sorted(match.seq for match in matches)


async def reset(store: Store, key: SessionKey = KEY) -> None:
    """Erase a session."""

    def work(unit: Unit) -> None:
        row = unit.sessions.find(key)
        assert row is not None
        unit.sessions.reset(key.tenant, row.id, now=row.updated_at)

    await store.write(key.tenant, work)


async def test_what_another_process_writes_and_erases_shows_in_the_next_search(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as here, opened(tmp_path / "m.db") as there:
        await say(here, "a", "b")
        assert await found(here) == await found(there) == [0, 1]
        await say(there, "c")
        assert await found(here) == [0, 1, 2]
        await reset(there)
        assert await found(here) == []
        await say(there, "new")
        assert await found(here) == [0]


async def test_rows_that_were_numbered_anew_hide_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with opened(path) as store:
        await say(store, "a", "b", key=key_of(session="gone"))
        await say(store, "c")
        await reset(store, key_of(session="gone"))
        assert await found(store) == [0]
        with sqlite3.connect(path, isolation_level=None) as other:
            other.execute("VACUUM")
        await say(store, "d")
        assert await found(store) == [0, 1]


async def test_vectors_of_a_transaction_that_failed_are_in_no_later_search(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await say(store, "a")
        assert await found(store) == [0]
        await store.append(append("b"))

        def fail(unit: Unit) -> None:
            row = unit.sessions.find(KEY)
            assert row is not None
            (message,) = unit.messages.range(KEY.tenant, row.id, SeqRange(1, 2), limit=1)
            vector = PassageVector(seq=1, part=0, message_id=message.id, version=message.version, vector=(1.0, 0.0))
            assert unit.vectors.put(row, SPACE, [vector]) == 1
            nearest = unit.vectors.nearest(
                KEY.tenant, KEY.user, agent=None, session_id=None, space=SPACE, vector=(1.0, 0.0), limit=9
            )
            assert len(nearest) == 2, "a transaction sees what it wrote"
            raise RuntimeError("no")

        with pytest.raises(RuntimeError, match="no"):
            await store.write(KEY.tenant, fail)
        assert await found(store) == [0]
        await say(store, "c")
        assert await found(store) == [0, 2]


@dataclass
class Heavy:
    """Something of so many bytes."""

    size: int


def grow(matrices: Matrices, user: str, size: int) -> None:
    matrices.of("t", user, "s").matrix = Heavy(size)
    matrices.measure("t", user, "s")


def there(matrices: Matrices, *users: str) -> list[str]:
    """Those of whom something is kept."""
    return [user for user in users if matrices.of("t", user, "s").matrix is not None]


def test_who_asked_longest_ago_is_forgotten_first() -> None:
    matrices = Matrices(most=100)
    grow(matrices, "a", 40)
    grow(matrices, "b", 40)
    matrices.of("t", "a", "s")
    grow(matrices, "c", 40)
    assert there(matrices, "a", "b", "c") == ["a", "c"]


def test_what_grows_is_counted_once() -> None:
    matrices = Matrices(most=100)
    for size in (10, 20, 30, 40):
        grow(matrices, "a", size)
    grow(matrices, "b", 60)
    assert there(matrices, "a", "b") == ["a", "b"]
    grow(matrices, "b", 61)
    assert there(matrices, "b", "a") == ["b"]


def test_what_was_forgotten_takes_no_room() -> None:
    matrices = Matrices(most=100)
    grow(matrices, "a", 90)
    matrices.forget()
    grow(matrices, "b", 50)
    grow(matrices, "c", 50)
    assert there(matrices, "b", "c") == ["b", "c"]


def test_the_newest_stays_however_large_it_is() -> None:
    matrices = Matrices(most=100)
    grow(matrices, "a", 40)
    grow(matrices, "b", 400)
    assert there(matrices, "b", "a") == ["b"]


async def test_vectors_that_another_process_erases_are_soon_kept_no_longer(tmp_path: Path) -> None:
    """I12: nobody searches meanwhile."""
    async with opened(tmp_path / "m.db") as here, opened(tmp_path / "m.db") as there:
        await say(here, "a", "b")
        assert await found(here) == [0, 1]
        kept: Matrices = here._matrices
        assert kept.kept, "hollow run: nothing is kept at hand"
        await anyio.sleep(0.5)  # the watch has begun
        assert kept.kept
        await reset(there)
        with anyio.fail_after(2.0):
            while kept.kept:
                await anyio.sleep(0.05)


async def test_nobody_is_named_when_nothing_of_a_user_is_left_and_all_others_notice(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as here, opened(tmp_path / "m.db") as there:
        await say(here, "a", "b")
        assert await found(there) == [0, 1]
        await reset(here)
        await here.write(KEY.tenant, lambda unit: unit.purging.of_user(KEY.tenant, KEY.user))
        with sqlite3.connect(tmp_path / "m.db") as connection:
            assert [user for (user,) in connection.execute("SELECT user_id FROM vector_marks")] == [""]
        await say(here, "new")
        assert await found(there) == [0]
