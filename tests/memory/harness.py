"""A memory on a real file with a scripted model; conversations and their account are those of the shipped laws."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.databases.chosen import database

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.ports.clock import Clock, Failpoint
from anaphora.ports.models import ChatModel
from anaphora.settings import Settings
from anaphora.testing.conformance.memory_laws.conversations import (
    LONG,
    OPTIONS,
    QUARTER,
    ROLES,
    Quarter,
    block,
    brief,
    by_turns,
    check_account,
    check_spoken_for,
    conversation,
    entries,
    say,
    served,
    settle,
    spans,
    text,
)

__all__ = [
    "LONG",
    "ROLES",
    "Quarter",
    "block",
    "brief",
    "by_turns",
    "check_account",
    "check_spoken_for",
    "conversation",
    "entries",
    "opened",
    "say",
    "served",
    "settle",
    "spans",
    "text",
]


@asynccontextmanager
async def opened(
    folder: Path,
    *,
    chat: ChatModel | None = None,
    clock: Clock | None = None,
    failpoint: Failpoint | None = None,
    at_work: bool = False,
    **options: Any,
) -> AsyncIterator[Memory]:
    """The memory in that folder; open it twice for two processes' worth of writers."""
    settings = Settings(**{**await database(folder), **OPTIONS, **options})
    given = Overrides(chat_model=chat, clock=clock, counter=QUARTER, failpoint=failpoint)
    async with Memory.open(settings=settings, overrides=given, worker=at_work) as memory:
        yield memory
