"""A file that is taken away under an open store: nothing is acknowledged into what nobody will find again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.storage.bench import append, opened

from anaphora.errors import StoreError
from anaphora.ports.store import Unit

pytestmark = pytest.mark.anyio


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def replaced(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").rename(path)


def count(unit: Unit) -> int:
    return len(unit.sessions.list("t"))


@pytest.mark.parametrize("taken", [moved, replaced, Path.unlink])
async def test_nothing_is_acknowledged_or_read_once_the_file_is_another_or_gone(
    tmp_path: Path, taken: Callable[[Path], None]
) -> None:
    path = tmp_path / "m.db"
    async with opened(path) as store:
        await store.append(append("before"))
        taken(path)
        with pytest.raises(StoreError, match="moved, replaced or deleted"):
            await store.append(append("after"))
        with pytest.raises(StoreError, match="moved, replaced or deleted"):
            await store.read("t", count)


async def test_what_was_refused_was_not_written_and_a_file_that_is_put_back_goes_on(tmp_path: Path) -> None:
    path, away = tmp_path / "m.db", tmp_path / "away.db"
    async with opened(path) as store:
        await store.append(append("before"))
        path.rename(away)
        with pytest.raises(StoreError):
            await store.append(append("refused"))
        away.rename(path)
        receipt = await store.append(append("after"))
        assert receipt.seq == 1


async def test_a_file_that_is_named_from_another_folder_later_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(Path("m.db")) as store:
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        assert (await store.append(append("hello"))).seq == 0
