from __future__ import annotations

import io
import os
from pathlib import Path

import anyio
import pytest

from anaphora.cli.chat_input import StreamSource

pytestmark = pytest.mark.anyio


async def lines_of(source: StreamSource) -> list[str]:
    lines = []
    while True:
        try:
            lines.append(await source.read(""))
        except EOFError:
            return lines


BYTES = "erste\r\n\nzwei ü\n".encode() + b"half \xff\nlast"
LINES = ["erste", "", "zwei ü", "half \ufffd", "last"]


async def test_lines_come_from_a_pipe_as_they_were_written() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as stream:
        os.write(writing, BYTES)
        os.close(writing)
        assert await lines_of(StreamSource(stream)) == LINES


async def test_lines_come_from_a_file_and_from_a_text_stream(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(BYTES)
    with file.open(encoding="utf-8") as stream:
        assert await lines_of(StreamSource(stream)) == LINES
    assert await lines_of(StreamSource(io.StringIO("one\ntwo"))) == ["one", "two"]


async def test_a_read_that_is_cancelled_loses_nothing() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as stream:
        source = StreamSource(stream)
        os.write(writing, b"half a ")
        with anyio.move_on_after(0.1) as scope:
            await source.read("")
        assert scope.cancelled_caught
        os.write(writing, b"line\n")
        os.close(writing)
        assert await lines_of(source) == ["half a line"]
