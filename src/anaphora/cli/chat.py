"""`anaphora chat`: talk to an agent that remembers."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import anyio
import typer
from rich.console import Console

from anaphora.agents.opening import with_folder
from anaphora.bootstrap.stores import shown
from anaphora.cli.chat_commands import HELP, Commands
from anaphora.cli.chat_input import LineSource, source_for_terminal
from anaphora.cli.chat_loop import ChatLoop
from anaphora.cli.chat_talk import Manner, Room, Talk
from anaphora.cli.chat_view import ChatView
from anaphora.cli.options import Agent, Db, Strategy, named
from anaphora.errors import InvalidInput
from anaphora.memory import Memory, Session
from anaphora.settings import Settings, load


def chat(
    *,
    user: Annotated[
        str,
        typer.Argument(metavar="USER", help="Who you are: the memory is yours.", show_default=False, callback=named),
    ],
    resume: Annotated[bool, typer.Option("--continue", help="Go on with the newest session.")] = False,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME", help="Go on with this session, or begin it.", callback=named),
    ] = None,
    strategy: Strategy = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Who answers, such as ollama:llama3.2.")
    ] = None,
    agent: Agent = None,
    budget: Annotated[
        int | None, typer.Option("--budget", metavar="TOKENS", help="Size of a prompt.", show_default="4000")
    ] = None,
    db: Db = None,
) -> None:
    """Talk to an agent that remembers: a new numbered session, or one of before.

    Without a model it keeps what you say and answers with what it remembers. Lines may come from a pipe.
    """
    if resume and session is not None:
        raise InvalidInput("--continue and --session exclude each other: name the session, or go on with the newest")
    settings = with_folder(load(db=db, agent=agent, model=model))
    wanted = Wanted(user=user, session=session, resume=resume, strategy=strategy, budget=budget)
    source = source_for_terminal(HELP)
    view = ChatView(Console(highlight=False))
    anyio.run(talk_with, settings, source, view, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line asks for."""

    user: str
    #: None = a new one, or the newest
    session: str | None = None
    #: go on with the newest
    resume: bool = False
    strategy: str | None = None
    budget: int | None = None


async def talk_with(settings: Settings, source: LineSource, view: ChatView, wanted: Wanted) -> None:
    """Open the memory, talk until the lines or the patience end, and close it."""
    settings = reading(settings)
    async with Memory.open(settings=settings) as memory:
        room = Room(memory=memory, session=await _session(memory, wanted))
        model = settings.chat_model(room.session.key.agent).model
        manner = Manner(
            with_model=model is not None,
            idle_seconds=settings.idle_seconds,
            budget=wanted.budget,
            reads_at_once=settings.extraction == "turn" and not _has_memory_model(settings),
        )
        talk = Talk(room, view, manner)
        context = await talk.context()
        view.welcome(
            user=wanted.user,
            session=room.session.key.session,
            messages=context.coverage.head,
            model=model,
            db=shown(settings.db),
        )
        loop = ChatLoop(talk, source, Commands(talk, source, lambda: temporary_room(settings, wanted)))
        async with anyio.create_task_group() as group:
            group.start_soon(_obey_signals, talk, group.cancel_scope)
            await loop.run()
            group.cancel_scope.cancel()
        await talk.look()
        view.farewell(session=room.session.key.session, messages=(await talk.context()).coverage.head)


def reading(settings: Settings) -> Settings:
    """Without a memory model each turn is read for facts at once, by rules: that costs nothing.

    Unless somebody has said how sessions are read.
    """
    if "extraction" in settings.model_fields_set or _has_memory_model(settings):
        return settings
    return settings.model_copy(update={"extraction": "turn"})


def _has_memory_model(settings: Settings) -> bool:
    return settings.memory_model_for(settings.agent, task="extract").model is not None


async def _session(memory: Memory, wanted: Wanted) -> Session:
    """The session that the command line names, the newest, or a new one."""
    if wanted.session is not None:
        return memory.session(user=wanted.user, session=wanted.session, strategy=wanted.strategy)
    if wanted.resume:
        agent = memory.session(user=wanted.user, session="1").key.agent
        newest = await memory.sessions(user=wanted.user, agent=agent, limit=1)
        if newest:
            return memory.session(user=wanted.user, session=newest[0].key.session, strategy=wanted.strategy)
    return await memory.new_session(user=wanted.user, strategy=wanted.strategy)


@asynccontextmanager
async def temporary_room(settings: Settings, wanted: Wanted) -> AsyncIterator[Room]:
    """A room in a memory of its own that is nowhere on disk."""
    async with Memory.open(":memory:", settings=settings) as memory:
        session = await memory.new_session(user=wanted.user, strategy=wanted.strategy)
        yield Room(memory=memory, session=session, temporary=True)


async def _obey_signals(talk: Talk, scope: anyio.CancelScope) -> None:
    """Ctrl-C stops an answer; when there is none, and on every other wish to end, the conversation ends."""
    wanted = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    with anyio.open_signal_receiver(*wanted) as signals:
        async for number in signals:
            if number is not signal.SIGINT or not talk.interrupt():
                scope.cancel()
