"""Fill a database before the question is asked: through the same service as every append, many messages at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import anyio

from anaphora.bench.words import Words
from anaphora.bootstrap import Services
from anaphora.domain.keys import SessionKey
from anaphora.rules.admission import new_message
from anaphora.services.ingest import MAX_BATCH

#: appends under way at once: the next is made ready while one is written
LANES = 4


def warm_up(services: Services) -> None:
    """Let the tokenizer read its tables, which it does at its first count: where that is not the question."""
    services.ingest.counter.count("warm")


def key_of(user: str, session: str) -> SessionKey:
    """The session of a user with the default agent."""
    return SessionKey(tenant="default", user=user, agent="default", session=session)


async def fill(services: Services, words: Words, conversations: Iterable[tuple[SessionKey, int]]) -> int:
    """Append so many messages to each session; how many in all."""
    done = 0
    waiting = iter(conversations)

    async def lane() -> None:
        nonlocal done
        for key, size in waiting:
            talk = words.talk(f"{key.user}/{key.session}")
            for start in range(0, size, MAX_BATCH):
                part = islice(talk, min(MAX_BATCH, size - start))
                await services.ingest.append(key, [new_message(role, text) for role, text in part])
            done += size

    async with anyio.create_task_group() as group:
        for _ in range(LANES):
            group.start_soon(lane)
    return done


def spread(messages: int, *, users: int, sessions: int) -> Iterator[tuple[SessionKey, int]]:
    """That many messages, shared out evenly among so many sessions of so many users."""
    each, more = divmod(messages, sessions)
    for number in range(sessions):
        size = each + (number < more)
        if size:
            yield key_of(f"user{number % users}", f"session{number}"), size
