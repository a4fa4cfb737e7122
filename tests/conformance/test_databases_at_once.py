"""Several databases in one process: what is done to one of them happens in no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: in a process of its own: when connections get mixed up, SQLite takes the whole process with it
MAKES_MANY = """
import asyncio, sys
from pathlib import Path
from anaphora import Memory

async def fill(path):
    async with Memory.open(path, worker=False, embedder="none", durability="normal") as memory:
        session = memory.session(user="u", session="s")
        await session.add("user", path.name)
        return [message.content for message in await session.messages()]

async def main():
    paths = [Path(sys.argv[1]) / f"{number}.db" for number in range(6)]
    filled = await asyncio.gather(*map(fill, paths))
    assert filled == [[path.name] for path in paths], filled

asyncio.run(main())
print("every one is whole")
"""


def test_databases_that_are_made_at_once_do_not_get_into_each_other(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKES_MANY, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout == "every one is whole\n"
