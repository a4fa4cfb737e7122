"""`anaphora copy` at size: a hundred thousand messages to a server and back are the same to the byte."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import SETTINGS
from tests.databases.postgres import empty_database_of

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.settings import Settings
from anaphora.testing.conformance.memory_laws.conversations import QUARTER

pytestmark = [pytest.mark.deep, pytest.mark.timeout(1800)]

MESSAGES, SESSIONS, TENANTS = 100_000, 50, ("default", "acme")
#: messages that are appended to many sessions at once
ABREAST = 25
#: one in so many is edited, and one in so many deleted
EDITED, DELETED = 400, 700
_COMMAND = "import sys; from anaphora.cli import main; sys.exit(main())"
_WORDS = ("harbour", "peanuts", "violin", "comet", "garden", "ledger", "東京", "naïve", "timetable", "marmalade")


def said(session: int, seq: int) -> str:
    """What a message says: some words of its own, and some that others say too."""
    words = itertools.islice(itertools.cycle(_WORDS), (session + seq) % len(_WORDS), (session + seq) % len(_WORDS) + 6)
    return f"Item {session}-{seq}: {' '.join(words)} and item{seq} on day {seq % 31}."


async def fill(path: Path) -> None:
    """A file with all of it, made through the library: appends, summaries, edits, deletions."""
    settings = Settings(db=str(path), embedder="none", durability="normal")
    each = MESSAGES // SESSIONS
    async with Memory.open(settings=settings, overrides=Overrides(counter=QUARTER), worker=False) as memory:

        async def talk(number: int) -> None:
            chat = memory.session(tenant=TENANTS[number % 2], user=f"u{number % 7}", session=f"s{number}")
            for seq in range(each):
                await chat.add(("user", "assistant")[seq % 2], said(number, seq))
            for seq in range(number, each, EDITED):
                await chat.edit(seq, f"{said(number, seq)} Corrected.")
            for seq in range(number, each, DELETED):
                await chat.delete(seq)

        for first in range(0, SESSIONS, ABREAST):
            await asyncio.gather(*(talk(number) for number in range(first, first + ABREAST)))
        await memory.work()


class Commands:
    """Command lines in a folder, each timed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, **SETTINGS, "ANAPHORA_DURABILITY": "normal"}
        self.seconds: list[tuple[str, float]] = []

    def run(self, *words: str, out: Path | None = None) -> None:
        """One command, to its good end."""
        with self.timed(words[0]), (out or Path(os.devnull)).open("wb") as stdout:
            command = [sys.executable, "-c", _COMMAND, *words]
            done = subprocess.run(
                command, cwd=self._folder, env=self._environment, stdout=stdout, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 0, f"{words}: {done.stderr.decode()[-2000:]}"

    def timed(self, name: str) -> Timed:
        """A block whose length is noted."""
        return Timed(self.seconds, name)


class Timed:
    """How long a block took."""

    def __init__(self, seconds: list[tuple[str, float]], name: str) -> None:
        self._seconds, self._name = seconds, name

    def __enter__(self) -> None:
        self._begun = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._seconds.append((self._name, time.monotonic() - self._begun))


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    """The command lines of a test; what they took is told at its end (`-s`)."""
    made = Commands(tmp_path)
    yield made
    for name, seconds in made.seconds:
        print(f"{name}: {seconds:.1f} s")


def test_a_hundred_thousand_messages_go_to_a_server_and_back_to_the_byte(commands: Commands, tmp_path: Path) -> None:
    here, there, back = "here.db", asyncio.run(empty_database_of(tmp_path)), "back.db"
    with commands.timed("fill"):
        asyncio.run(fill(tmp_path / here))
    commands.run("copy", here, there)
    commands.run("copy", there, back)
    exports: dict[str, set[tuple[str, int]]] = {tenant: set() for tenant in TENANTS}
    for number, db in enumerate((here, there, back)):
        for tenant in TENANTS:
            file = tmp_path / f"{number}.{tenant}.jsonl"
            commands.run("export", "--db", db, "--tenant", tenant, out=file)
            with file.open("rb") as lines:
                exports[tenant].add((hashlib.file_digest(lines, "sha256").hexdigest(), file.stat().st_size))
        commands.run("doctor", "--db", db)
    assert {tenant: len(found) for tenant, found in exports.items()} == dict.fromkeys(TENANTS, 1), "not the same bytes"
    sizes = [size for found in exports.values() for _, size in found]
    assert min(sizes) > 100 * MESSAGES // len(TENANTS), "the messages are not there"
