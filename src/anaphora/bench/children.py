"""The parent's side of a process that a question starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Any

import anyio
from anyio.abc import ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from anaphora.bench.setup import Setup
from anaphora.errors import AnaphoraError

#: the longest answer, in bytes
_LONGEST = 64 << 20


class ChildFailed(AnaphoraError):
    """A process that a question started did not answer."""


class Child:
    """A running process that hears and tells."""

    def __init__(self, process: Process, stdin: ByteSendStream, answers: BufferedByteReceiveStream, log: Path) -> None:
        self._process = process
        self._stdin = stdin
        self._answers = answers
        self._log = log

    async def tell(self, document: Mapping[str, Any]) -> None:
        """Say something.

        Raises:
            ChildFailed: nobody is there to hear it.

        """
        try:
            await self._stdin.send(json.dumps(document).encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise await self._failure() from None

    async def hear(self) -> Mapping[str, Any]:
        """The next answer.

        Raises:
            ChildFailed: the process ended before it; says why, if it said so.

        """
        try:
            line = await self._answers.receive_until(b"\n", _LONGEST)
        except (anyio.IncompleteRead, anyio.EndOfStream, anyio.ClosedResourceError):
            raise await self._failure() from None
        heard: Mapping[str, Any] = json.loads(line)
        return heard

    async def _failure(self) -> ChildFailed:
        code = await self._process.wait()
        said = (await anyio.Path(self._log).read_text("utf-8", "replace")).strip().splitlines()
        return ChildFailed(said[-1] if said else f"a process of the benchmark ended with code {code} and no word")


@asynccontextmanager
async def started(module: str, setup: Setup, more: Mapping[str, str] | None = None) -> AsyncIterator[Child]:
    """A process that runs a module of ours; killed if it has not ended by itself when it is left.

    Args:
        module: its dotted name.
        setup: gives the environment and the folder for what it says on stderr.
        more: further variables of its environment.

    """
    log, name = mkstemp(prefix="stderr-", dir=setup.folder)
    try:
        process = await anyio.open_process(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**setup.environment, **(more or {})},
        )
    finally:
        os.close(log)
    async with process:
        if process.stdin is None or process.stdout is None:
            raise ChildFailed("a process of the benchmark has no stdin or stdout")
        try:
            yield Child(process, process.stdin, BufferedByteReceiveStream(process.stdout), Path(name))
            await process.stdin.aclose()
            await process.wait()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
