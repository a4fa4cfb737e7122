"""Those who use an embedded server, in this process and in others."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
from tests.processes import lives, until

from anaphora.storage.postgres.embedded import Server

#: opens a folder and leaves it when its standard input ends; root becomes the user with the number, if one is given
USER = """
import os, sys
from pathlib import Path
from anaphora.storage.postgres.embedded import embedded
if len(sys.argv) > 2:
    os.setgroups([]), os.setgid(int(sys.argv[2])), os.setuid(int(sys.argv[2]))
with embedded(Path(sys.argv[1]), durable=False):
    print("ready", flush=True)
    sys.stdin.read()
"""


def asked(server: Server, *statements: str) -> Any:
    """What the last of some statements says."""

    async def ask() -> Any:
        connection = await asyncpg.connect(server.dsn(), timeout=10)
        try:
            for statement in statements[:-1]:
                await connection.execute(statement)
            return await connection.fetchval(statements[-1])
        finally:
            await connection.close()

    return asyncio.run(ask())


def number(server: Server) -> int:
    """The number of the server's first process."""
    return int((server.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])


@contextmanager
def program(*words: str, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that runs until the end of the block at most."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how) as process:
        try:
            until(lambda: lives(process.pid))
            yield process
        finally:
            process.kill()


def other_user(folder: Path, *more: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """Another process that uses the server of `folder`."""
    return program(sys.executable, "-c", USER, str(folder), *more)


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def leave(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 0
