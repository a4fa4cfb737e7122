"""Where the lines of an export come from: a file, or anything that yields them."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

import anyio.to_thread

from anaphora.errors import InvalidInput
from anaphora.services.importing.exported import Source
from anaphora.services.importing.values import BadFile

#: characters that are kept in memory
_IN_MEMORY = 4 << 20
#: lines that are taken at once from what may block
_AT_ONCE = 500


def file_source(path: Path) -> Source:
    """The source behind a path; whether it is an export is seen when it is read."""
    return Source(name=str(path), open=partial(_opened, path))


@asynccontextmanager
async def source_of(given: str | PathLike[str] | Iterable[str] | AsyncIterable[str]) -> AsyncIterator[Source]:
    """The source behind a path, or behind lines: those are put aside first, since they are read more than once.

    Raises:
        InvalidInput: what yields the lines yields something else.

    """
    if isinstance(given, str | PathLike):
        yield file_source(Path(fspath(given)))
        return
    with SpooledTemporaryFile(max_size=_IN_MEMORY, mode="w+", encoding="utf-8", newline="\n") as aside:
        if isinstance(given, AsyncIterable):
            async for line in given:
                _put([line], aside)
        else:
            lines = iter(given)
            while await anyio.to_thread.run_sync(_put_some, lines, aside):
                pass
        yield Source(name="", open=partial(_rewound, aside))


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[str]]:
    if path.exists() and not path.is_file():
        raise BadFile(str(path), "", "expected a regular file")
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        yield lines


@contextmanager
def _rewound(aside: IO[str]) -> Iterator[Iterator[str]]:
    aside.seek(0)
    yield iter(aside)


def _put_some(lines: Iterator[str], aside: IO[str]) -> int:
    some = list(islice(lines, _AT_ONCE))
    _put(some, aside)
    return len(some)


def _put(lines: Iterable[str], aside: IO[str]) -> None:
    for line in lines:
        if not isinstance(line, str):
            raise InvalidInput(f"expected lines of an export as text, not {type(line).__name__}")
        try:
            aside.write(line if line.endswith("\n") else f"{line}\n")
        except UnicodeEncodeError:
            raise InvalidInput("expected lines of an export: this is not valid Unicode text") from None
