"""Programs of those who compress and archive, and of those who erase meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from tests.faults.programs import Quarter, Told, chat_of, failpoint_of, note, settings_for

from anaphora import Memory
from anaphora.bootstrap import Overrides, open_services
from anaphora.domain.jobs import Job
from anaphora.settings import Settings
from anaphora.settings.sections import TokenBudgetSettings
from anaphora.testing.scripted import retelling

#: turns of the stretch that is archived first, and of the next one
TURNS = 4


def word_of(seq: int) -> str:
    """What only this message says."""
    return f"zz{seq:02}secret"


def _settings(told: Told) -> Settings:
    budget = TokenBudgetSettings(threshold_tokens=192, recent_messages_to_keep=2, archive_conversations=True)
    usual = settings_for(told.db, batch=64)
    return usual.model_copy(update={"strategy": "token_budget", "token_budget": budget, "extraction": "none"})


def _given(told: Told) -> Overrides:
    chat = chat_of(told)
    chat.script = retelling
    return Overrides(chat_model=chat, counter=Quarter(), failpoint=failpoint_of(told))


@asynccontextmanager
async def _memory(told: Told) -> AsyncIterator[Memory]:
    async with Memory.open(settings=_settings(told), overrides=_given(told), worker=False) as memory:
        yield memory


async def archive_first(told: Told) -> None:
    """A session with an archived stretch, and one that is due."""
    async with _memory(told) as memory:
        chat = memory.session(user="u", session="s")
        for stretch in range(2):
            for seq in range(2 * TURNS * stretch, 2 * TURNS * (stretch + 1), 2):
                await chat.add("user", f"I like {word_of(seq)}.")
                await chat.add("assistant", "Noted.")
            await chat.end()
            if stretch == 0:
                await memory.work()


async def archive_next(told: Told) -> None:
    """Claim and do the job that archives the next stretch."""

    def report(job: Job, ok: bool) -> None:
        note(f"job {job.attempt} {ok}")

    async with open_services(_settings(told), _given(told)) as services:
        await replace(services.worker, on_event=report).step()


async def archive_all(told: Told) -> None:
    """Do what is due."""
    async with _memory(told) as memory:
        await memory.work()


async def erase_one(told: Told) -> None:
    """Erase one message of the session, the one with the number `count`."""
    async with _memory(told) as memory:
        await memory.erase(user="u", session="s", message=told.count)


PROGRAMS: Mapping[str, Callable[[Told], Awaitable[None]]] = {
    program.__name__: program for program in (archive_first, archive_next, archive_all, erase_one)
}
