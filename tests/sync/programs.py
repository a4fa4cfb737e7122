"""What blocking programs in these tests have in common: a memory on a file, models that get stuck, Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import anyio

from anaphora.domain.messages import Message
from anaphora.sync import Memory, Session
from anaphora.testing.scripted import ScriptedChat

INTERRUPTED = {"interrupted": True}


def opened(folder: Path, **options: Any) -> AbstractContextManager[Memory]:
    wanted: dict[str, Any] = {"embedder": "none", "durability": "normal", "worker": False}
    return Memory.open(folder / "m.db", **wanted | options)


def conversation(memory: Memory, session: str = "s") -> Session:
    return memory.session(user="u", session=session)


def log_of(folder: Path) -> list[Message]:
    """What is on disk after everything was closed."""
    with opened(folder) as memory:
        return list(conversation(memory).messages(limit=1000))


def in_a_thread(function: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


@contextmanager
def ctrl_c_once(reached: threading.Event) -> Iterator[None]:
    """Press Ctrl-C when something has been reached."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def press() -> None:
        if reached.wait(20):
            time.sleep(0.05)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = in_a_thread(press)
    try:
        yield
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)


class Stuck:
    """A pause of a model that never ends; says when it began and when it was given up."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.given_up = threading.Event()

    async def __call__(self) -> None:
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.given_up.set()


class Halting(ScriptedChat):
    """A model that is stuck after two words."""

    def __init__(self) -> None:
        super().__init__()
        self.stuck = Stuck()

    async def stream(self, *args: Any, **options: Any) -> Any:
        async for n, word in _numbered(super().stream(*args, **options)):
            if n == 2:
                await self.stuck()
            yield word


async def _numbered(words: Any) -> Any:
    n = 0
    async for word in words:
        yield n, word
        n += 1
