"""What a path may be, and what is said when it cannot be opened."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.storage.bench import append, log_of, opened, row_of

from anaphora.errors import StoreError, StoreReadOnly, StoreTooNew

pytestmark = pytest.mark.anyio


def other_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()


def other_program_with_alembic(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('0001')")
    connection.close()


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (lambda path: path.write_text("dear diary, " * 100), "not an SQLite database"),
        (lambda path: path.mkdir(), "is a folder"),
        (other_program, "another program"),
        (other_program_with_alembic, "another program"),
    ],
)
async def test_a_file_that_is_not_ours_is_left_alone(
    tmp_path: Path, prepare: Callable[[Path], object], says: str
) -> None:
    path = tmp_path / "m.db"
    prepare(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(StoreError, match=says) as caught:
        async with opened(path):
            pass
    assert "\n" not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        async with opened(tmp_path / "nowhere" / "m.db"):
            pass
    assert list(tmp_path.iterdir()) == []


async def test_a_later_schema_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with opened(path):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    for read_only in (False, True):
        with pytest.raises(StoreTooNew, match="upgrade"):
            async with opened(path, read_only=read_only):
                pass


async def test_only_its_owner_can_read_a_new_file(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await store.append(append("a"))
        assert {path.name: path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {
            "m.db": 0,
            "m.db-wal": 0,
            "m.db-shm": 0,
        }


@pytest.mark.parametrize("name", ["m?mode=memory.db", "100%25.db", "file:m.db", "a#b.db", "ü 名.db"])
async def test_a_path_is_a_path_whatever_characters_it_has(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    async with opened(path) as store:
        await store.append(append("a"))
    assert path.stat().st_size > 0
    async with opened(path, read_only=True) as store:
        assert await log_of(store) == ["a"]


async def test_a_store_opened_for_reading_reads_what_others_write_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    async with opened(path) as store, opened(path, read_only=True) as reader:
        await store.append(append("a"))
        assert await log_of(reader) == ["a"]
        assert await reader.secret() == await store.secret()
        for call in (reader.append(append("b")), reader.write("t", row_of)):
            with pytest.raises(StoreReadOnly):
                await call
        await reader.wait_for_work(0.01)


async def test_a_file_that_is_not_there_cannot_be_opened_for_reading(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no database"):
        async with opened(tmp_path / "m.db", read_only=True):
            pass
    assert list(tmp_path.iterdir()) == []


async def test_an_older_schema_is_not_read_without_being_upgraded(tmp_path: Path) -> None:
    (tmp_path / "m.db").touch()
    with pytest.raises(StoreError, match="open it once for writing"):
        async with opened(tmp_path / "m.db", read_only=True):
            pass


LOCKED_DOWN = """
import asyncio, os, sys
from anaphora.errors import StoreReadOnly
from tests.storage.bench import append, log_of, opened

async def main():
    try:
        async with opened(sys.argv[1]) as store:
            await store.append(append("b"))
    except StoreReadOnly as error:
        print("refused:", "permissions" in str(error))
    async with opened(sys.argv[1], read_only=True) as store:
        print(await log_of(store))

if os.getuid() == 0:  # nothing is forbidden to root
    os.setgid(65534)
    os.setuid(65534)
asyncio.run(main())
"""


async def test_on_a_read_only_disk_writing_is_refused_and_reading_works() -> None:
    folder = Path(tempfile.mkdtemp())  # unlike tmp_path, other users can reach it
    folder.chmod(0o755)
    try:
        async with opened(folder / "m.db") as store:
            await store.append(append("a"))
        (folder / "m.db").chmod(0o444)
        folder.chmod(0o555)
        child = subprocess.run(
            [sys.executable, "-c", LOCKED_DOWN, str(folder / "m.db")], capture_output=True, text=True, check=False
        )
        assert child.stdout.splitlines() == ["refused: True", "['a']"], child.stderr
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


async def test_opening_a_file_that_is_up_to_date_does_not_load_the_migrations(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    async with opened(path):
        pass
    code = (
        "import asyncio, sys\nfrom tests.storage.bench import opened\n"
        "async def main():\n    async with opened(sys.argv[1]): pass\n"
        "asyncio.run(main())\nprint('alembic' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert child.stdout == "False\n"
