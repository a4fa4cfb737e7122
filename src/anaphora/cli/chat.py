"""`anaphora chat`: talk to an agent that remembers."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Annotated, Final

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
from anaphora.cli.notepad_view import why_empty
from anaphora.cli.options import Agent, Db, Strategy, named
from anaphora.errors import InvalidInput, NotFound
from anaphora.memory import Memory, Session
from anaphora.services.settings import without_agent
from anaphora.settings import Settings, load

#: seconds that the work of a session that ended may take before the talk is over, where no model is asked
_SETTLES: Final = 2.0


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
        room = await _room(memory, settings, wanted)
        model = settings.chat_model(room.session.key.agent).model
        talk = Talk(room, view, _manner(settings, wanted, with_model=model is not None))
        context = await talk.context()
        view.welcome(
            user=wanted.user,
            session=room.session.key.session,
            messages=context.coverage.head,
            model=model,
            db=shown(settings.db),
        )
        if wanted.strategy not in {None, room.strategy}:
            view.keeps_strategy(session=room.session.key.session, strategy=room.strategy, wanted=wanted.strategy or "")
        loop = ChatLoop(talk, source, Commands(talk, source, lambda: temporary_room(settings, wanted)))
        async with anyio.create_task_group() as group:
            group.start_soon(_obey_signals, talk, group.cancel_scope)
            await loop.run()
            if not talk.manner.memory_model:  # what is left takes rules a moment
                with talk.stoppable():
                    await memory.idle(_SETTLES)
            group.cancel_scope.cancel()
        await talk.look()
        messages = (await talk.context()).coverage.head
        view.farewell(session=room.session.key.session, messages=messages, jobs=await room.left())


def reading(settings: Settings) -> Settings:
    """Without a memory model each turn is read for facts at once, by rules: that costs nothing.

    Unless somebody has said how sessions are read.
    """
    if "extraction" in settings.model_fields_set or _has_memory_model(settings):
        return settings
    return settings.model_copy(update={"extraction": "turn"})


def _has_memory_model(settings: Settings) -> bool:
    return settings.memory_model_for(settings.agent, task="extract").model is not None


def _manner(settings: Settings, wanted: Wanted, *, with_model: bool) -> Manner:
    memory_model = _has_memory_model(settings)
    return Manner(
        with_model=with_model,
        idle_seconds=settings.idle_seconds,
        budget=wanted.budget,
        memory_model=memory_model,
        reads_at_once=settings.extraction == "turn" and not memory_model,
        nothing_noted=why_empty(settings),
    )


async def _room(memory: Memory, settings: Settings, wanted: Wanted) -> Room:
    """The session, and the strategy that it has, or will have."""
    session = await _session(memory, wanted)
    own = settings.agents.get(session.key.agent)
    strategy = wanted.strategy or (own.strategy if own else None)
    with suppress(NotFound):
        strategy = (await session.row()).strategy
    return Room(memory=memory, session=session, strategy=without_agent(strategy or settings.strategy))


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
        strategy = without_agent((await session.row()).strategy or settings.strategy)
        yield Room(memory=memory, session=session, strategy=strategy, temporary=True)


async def _obey_signals(talk: Talk, scope: anyio.CancelScope) -> None:
    """Ctrl-C stops an answer; when there is none, and on every other wish to end, the conversation ends."""
    wanted = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    with anyio.open_signal_receiver(*wanted) as signals:
        async for number in signals:
            if number is not signal.SIGINT or not talk.interrupt():
                scope.cancel()
