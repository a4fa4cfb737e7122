"""`anaphora agents run | check`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from anaphora.agents import Agent, AgentAnswer, AgentConfig, Mistake, Notice, Told, examine, notices_of, settings_for
from anaphora.agents.checking import keys_missing
from anaphora.cli.chat_input import LineSource, StopPressed, source_for_terminal
from anaphora.cli.options import AsJson, Db, SessionName, User
from anaphora.cli.output import clean, emit, note, say
from anaphora.errors import AnaphoraError, ConfigError, InvalidInput
from anaphora.settings import Settings, load

_FAILED = 1
_WRONG = 2

File = Annotated[Path, typer.Argument(metavar="FILE", help="JSON, TOML or YAML.", show_default=False)]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="JSON, TOML or YAML.", show_default=False)]


def run(
    file: File,
    *,
    user: User,
    session: SessionName,
    message: Annotated[
        str | None, typer.Option("--message", metavar="TEXT", help="Say this, print the answer, and end.")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Talk to the agent of a configuration file, in a terminal or line by line from a pipe.

    Keys and endpoints of its provider come from the environment. If the memory fails the agent answers without it, and
    a line on stderr says so.
    """
    if message is not None and not message.strip():
        raise InvalidInput("--message: say something, or leave it out to talk line by line")
    agent = Agent.from_config(file, user=user, session=session, settings=load(db=db))
    source: LineSource = Once(message) if message is not None else source_for_terminal({})
    turns, failed = anyio.run(_talk, agent, source, as_json)
    if as_json:
        emit({"agent": agent.agent_id, "session": session, "turns": turns})
    if failed:
        raise typer.Exit(_FAILED)


def check(files: Files, *, as_json: AsJson = False) -> None:
    """Say what is wrong with configuration files, and what may not be meant so; a wrong file ends with exit code 2.

    One line a mistake: the file, the key, what is wrong, and the nearest valid name. What works but may not be meant
    so, such as a memory that is not among the resources or a key that is not in the environment, is told on stdout.
    """
    settings = load()
    found = [(file, examine(file)) for file in files]
    told = [(file, [] if isinstance(config, tuple) else _notices(config, settings)) for file, config in found]
    wrong = [mistake for _, config in found if isinstance(config, tuple) for mistake in config]
    if as_json:
        emit({"files": [_shown(file, config, dict(told)[file]) for file, config in found]})
        if wrong:
            raise typer.Exit(_WRONG)
        return
    for (file, config), (_, notices) in zip(found, told, strict=True):
        if isinstance(config, AgentConfig):
            say(f"{file}: agent {config.agent_id!r}: the configuration is in order")
        for notice in notices:
            say(f"{file}: {notice}")
    if wrong:
        raise ConfigError("\n".join(map(str, wrong)))


class Once:
    """Fulfils `LineSource` with one line."""

    interactive = False

    def __init__(self, line: str) -> None:
        self._lines = [line]

    def recall(self, entries: Sequence[str]) -> None:
        """Nothing: there are no arrow keys."""

    async def read(self, prompt: str) -> str:  # noqa: ARG002 - nobody would see it
        """The line, then the end."""
        if not self._lines:
            raise EOFError
        return self._lines.pop()


async def _talk(agent: Agent, source: LineSource, as_json: bool) -> tuple[list[dict[str, Any]], bool]:  # noqa: FBT001
    """Talk until the lines end; the turns, and whether one of them failed."""
    turns: list[dict[str, Any]] = []
    failed = False
    async with agent, anyio.create_task_group() as group:
        group.start_soon(_obey_signals, group.cancel_scope)
        for notice in agent.notices:
            note(f"note: {notice}")
        with suppress(EOFError, StopPressed):
            while True:
                text = await source.read("you › ")
                if not text.strip():
                    continue
                try:
                    answer = await _turn(agent, text, quiet=as_json)
                except AnaphoraError as error:
                    if isinstance(source, Once):
                        raise
                    failed = True
                    note(f"anaphora: {error}")
                    continue
                turns.append(_turn_json(text, answer))
        with anyio.CancelScope(shield=True):
            # one message is hardly a whole conversation
            await agent.cleanup(end=not isinstance(source, Once))
        group.cancel_scope.cancel()
    return turns, failed


async def _turn(agent: Agent, text: str, *, quiet: bool) -> AgentAnswer:
    """Say it, and print the answer as it comes."""
    told = Told()
    async with aclosing(agent.chat_stream(text, told=told)) as pieces:
        async for piece in pieces:
            if not quiet:
                sys.stdout.write(clean(piece))
                sys.stdout.flush()
    if not quiet:
        say()
    answer = told.answer or AgentAnswer("")
    if "store" in answer.degraded:
        note("anaphora: the memory failed: this turn is not remembered (`anaphora doctor` examines the database)")
    return answer


async def _obey_signals(scope: anyio.CancelScope) -> None:
    """Whatever asks to end, ends; an answer under way is stored as far as it came."""
    wanted = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    with anyio.open_signal_receiver(*wanted) as signals:
        async for _ in signals:
            scope.cancel()


def _turn_json(text: str, answer: AgentAnswer) -> dict[str, Any]:
    return {
        "message": text,
        "answer": answer.text,
        "degraded": list(answer.degraded),
        "remembered": answer.remembered,
    }


def _notices(config: AgentConfig, settings: Settings) -> list[Notice]:
    """What may not be meant so, here and in this environment."""

    def all_of() -> Iterator[Notice]:
        mapped = settings_for(config, base=settings)
        yield from notices_of(config, mapped)
        yield from anyio.run(keys_missing, config, mapped)

    return list(all_of())


def _shown(file: Path, config: AgentConfig | tuple[Mistake, ...], notices: Sequence[Notice]) -> dict[str, Any]:
    mistakes = config if isinstance(config, tuple) else ()
    return {
        "file": str(file),
        "agent_id": None if isinstance(config, tuple) else config.agent_id,
        "ok": not mistakes,
        "mistakes": [{"key": each.key, "text": each.text, "nearest": each.nearest} for each in mistakes],
        "notices": [{"key": each.key, "text": each.text} for each in notices],
    }
