"""`anaphora serve` as its own process, with keys for those who ask it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process

from anaphora.bench.children import ChildFailed, started
from anaphora.bench.setup import Setup, plain_settings
from anaphora.memory import Memory

EMBEDDING: Final = "anaphora.bench.programs.embedding"
_DIMENSIONS: Final = 64
#: seconds for a start, and for an end
_PATIENCE: Final = 60.0
_RUN: Final = "import sys; from anaphora.cli import main; sys.exit(main())"
_LISTENS: Final = re.compile(rb"listens on http://127\.0\.0\.1:(\d+)")


@dataclass(slots=True)
class Service:
    """A service that runs."""

    port: int
    #: one for each user
    keys: Sequence[str]
    process: Process
    #: seconds that it took to end, when it has
    ended: float = 0.0

    async def end(self) -> None:
        """Tell it to end, and wait until it has.

        Raises:
            ChildFailed: it ended otherwise than it should.

        """
        began = time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        with anyio.fail_after(_PATIENCE):
            code = await self.process.wait()
        self.ended = time.perf_counter() - began
        if code != 0:
            raise ChildFailed(f"the service ended with code {code}")


def user_of(number: int) -> str:
    """The name of a user who asks."""
    return f"user{number}"


async def keys_for(db: Path, users: int) -> Sequence[str]:
    """A key for each user; the database is made."""
    async with Memory.open(settings=plain_settings(db), worker=False) as memory:
        return [(await memory.keys.create(user=user_of(number))).key for number in range(users)]


@asynccontextmanager
async def service(setup: Setup, db: Path, *, users: int) -> AsyncIterator[Service]:
    """The service on a database of its own, with its worker and a scripted embedder beside it.

    Neither the environment nor a file of settings has a say.
    """
    keys = await keys_for(db, users)
    async with started(EMBEDDING, setup) as embedding:
        await embedding.tell({"dimensions": _DIMENSIONS})
        url = (await embedding.hear())["url"]
        own = {name: value for name, value in setup.environment.items() if not name.startswith("ANAPHORA_")}
        given: Mapping[str, str] = {
            "ANAPHORA_EMBEDDER": "openai:scripted",
            "ANAPHORA_EMBEDDER_BASE_URL": url,
            "ANAPHORA_EMBEDDER_API_KEY": "none",
            "ANAPHORA_DURABILITY": "full",
            "ANAPHORA_SERVER__LOG": "none",
        }
        log = db.with_suffix(".log")
        with log.open("wb") as stderr:
            process = await anyio.open_process(
                [sys.executable, "-c", _RUN, "serve", "--db", str(db), "--port", "0"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=setup.folder,
                env={**own, **given},
            )
        async with process:
            try:
                yield Service(port=await _port(process, log), keys=keys, process=process)
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()


async def _port(process: Process, log: Path) -> int:
    with anyio.move_on_after(_PATIENCE):
        while process.returncode is None:
            found = _LISTENS.search(await anyio.Path(log).read_bytes())
            if found is not None:
                return int(found[1])
            await anyio.sleep(0.05)
    said = (await anyio.Path(log).read_text("utf-8", "replace")).strip().splitlines()
    raise ChildFailed(said[-1] if said else "the service did not start")
