"""Programs that end when they are told to, as applications do that embed the library."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from types import FrameType
from typing import NoReturn

import anyio
import uvicorn
from fastapi import FastAPI, Request
from tests.faults.programs import (
    Quarter,
    Told,
    chat_of,
    memory_of,
    note,
    settings_for,
)

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.errors import StoreClosed
from anaphora.sync import Memory as BlockingMemory

TASKS = 8


async def application(told: Told) -> None:
    """Tasks that append until a signal comes; each finishes what it has in hand."""
    stopping = anyio.Event()

    async def talk(memory: Memory, task: int) -> None:
        chat = memory.session(user="u", session=f"t{task}")
        number = 0
        while not stopping.is_set():
            note(f"begin {task} {number}")
            receipt = await chat.add("user", f"{task} {number}")
            note(f"took {task} {number} {receipt.seq}")
            number += 1

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with memory_of(told, worker=told.worker) as memory, anyio.create_task_group() as group:
            for task in range(TASKS):
                group.start_soon(talk, memory, task)
            note("open")
            async for number in signals:
                note(f"signal {number}")
                break
            stopping.set()
    note("closed")


async def careless(told: Told) -> None:
    """The same, but its tasks are cancelled wherever they are."""

    async def talk(memory: Memory, task: int) -> None:
        chat = memory.session(user="u", session=f"t{task}")
        number = 0
        while True:
            note(f"begin {task} {number}")
            receipt = await chat.add("user", f"{task} {number}")
            note(f"took {task} {number} {receipt.seq}")
            number += 1

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with memory_of(told, worker=told.worker) as memory, anyio.create_task_group() as group:
            for task in range(TASKS):
                group.start_soon(talk, memory, task)
            note("open")
            async for number in signals:
                note(f"signal {number}")
                break
            group.cancel_scope.cancel()
    note("closed")


def blocking(told: Told) -> None:
    """Threads that append by the blocking API until a signal comes."""

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        note(f"signal {number}")
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    given = Overrides(chat_model=chat_of(told), counter=Quarter())

    def talk(memory: BlockingMemory, task: int) -> None:
        chat = memory.session(user="u", session=f"t{task}")
        number = 0
        with suppress(StoreClosed):
            while True:
                note(f"begin {task} {number}")
                receipt = chat.add("user", f"{task} {number}")
                note(f"took {task} {number} {receipt.seq}")
                number += 1

    with (
        ThreadPoolExecutor(TASKS) as threads,
        BlockingMemory.open(settings=settings_for(told.db, lease=told.lease), overrides=given) as memory,
    ):
        for task in range(TASKS):
            threads.submit(talk, memory, task)
        note("open")
        threading.Event().wait()


async def served(told: Told) -> None:
    """The application of the guide: one memory for the life of a server, which obeys the signals."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with memory_of(told) as memory:
            app.state.memory = memory
            yield
        note("closed")

    app = FastAPI(lifespan=lifespan)

    @app.post("/{session}/{number}")
    async def add(session: str, number: int, request: Request) -> dict[str, int]:
        chat = request.app.state.memory.session(user="u", session=session)
        receipt = await chat.add("user", f"{session[1:]} {number}")
        return {"seq": receipt.seq}

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()  # who comes before it is up waits
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    note(f"port {listener.getsockname()[1]}")
    await server.serve(sockets=[listener])


PROGRAMS: Mapping[str, Callable[[Told], Awaitable[None] | None]] = {
    program.__name__: program for program in (application, careless, blocking, served)
}
