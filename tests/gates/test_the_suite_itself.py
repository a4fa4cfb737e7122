"""The rules of tests/conftest.py hold: no network, one event loop on 127.0.0.1, no settings of the user."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

CONFTEST = Path(__file__).parents[1] / "conftest.py"
OFFENDERS = """
import contextlib
import socket
import threading

def test_connects():
    with contextlib.suppress(Exception), socket.socket() as sock:
        sock.connect(("192.0.2.1", 80))

def test_sends():
    with contextlib.suppress(Exception), socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ("192.0.2.1", 80))

def test_asks_for_a_name():
    with contextlib.suppress(Exception):
        socket.getaddrinfo("example.org", 80)

def quiet():
    with contextlib.suppress(Exception):
        socket.create_connection(("192.0.2.1", 80), timeout=1)

def test_connects_in_a_thread():
    thread = threading.Thread(target=quiet)
    thread.start()
    thread.join()

def test_stays_here():
    pass
"""


def test_a_test_that_leaves_this_machine_fails_even_when_the_error_is_caught(tmp_path: Path) -> None:
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    (tmp_path / "test_offenders.py").write_text(OFFENDERS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir=.", "."]
    environment = {**os.environ, "PYTHONPATH": str(CONFTEST.parents[1])}  # where its plugins are
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    lines = run.stdout.splitlines()
    named = {line.split("::")[1].split(" ")[0] for line in lines if line.startswith("ERROR ")}
    assert named == {"test_connects", "test_sends", "test_asks_for_a_name", "test_connects_in_a_thread"}, run.stdout


@pytest.mark.anyio
async def test_async_tests_run_on_asyncio_and_may_serve_on_loopback() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(4))
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("localhost", port, family=server.sockets[0].family)
        writer.write(b"ping")
        heard = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert heard == b"ping"


@pytest.mark.anyio
async def test_async_tests_may_use_unix_sockets(tmp_path: Path) -> None:
    path = tmp_path / "socket"

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_unix_server(hang_up, path):
        reader, writer = await asyncio.open_unix_connection(path)
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


@given(st.integers())
@pytest.mark.anyio
async def test_properties_may_be_async_and_are_repeatable(number: int) -> None:
    await asyncio.sleep(0)
    assert number == int(str(number))
    assert settings.default is not None
    assert settings.default.deadline is None


def test_no_key_or_setting_of_the_user_reaches_a_test() -> None:
    names = {name for name in os.environ if name.startswith(("ANAPHORA_", "OPENAI_"))}
    assert names <= {"ANAPHORA_MODELS", "ANAPHORA_EMBEDDER", "ANAPHORA_EXTRACTION", "ANAPHORA_TOPICS__BATCH"}
    assert os.environ["ANAPHORA_EXTRACTION"] == "none", "what tests do by default reads no session for facts"
    assert os.environ["ANAPHORA_EMBEDDER"] == "none", "what tests do by default goes by words"
