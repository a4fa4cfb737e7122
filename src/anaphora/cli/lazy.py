"""Groups of commands that are loaded when they are called: `anaphora --help` must not load what it only names."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TextIO

import typer
import typer.main
from typer.core import TyperGroup

from anaphora.cli.logs import logging_to_stderr
from anaphora.cli.options import Verbose

#: what the shell reports for a program that wrote into a closed pipe
CLOSED_PIPE: Final = 141

if TYPE_CHECKING:
    from typer._click import Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One command: where its function is, and what the list of commands says of it."""

    #: below `anaphora.cli`
    module: str
    function: str
    help: str
    #: one command line that works
    example: str


class LazyCommands(MutableMapping[str, "Command"]):
    """Commands by name; those of the table are made when they are asked for."""

    def __init__(self, made: Mapping[str, Command], table: Mapping[str, Entry]) -> None:
        self._made = dict(made)
        self._table = table
        self._names = [*table, *(name for name in made if name not in table)]

    def __getitem__(self, name: str) -> Command:
        if name not in self._made:
            self._made[name] = load(name, self._table[name])
        return self._made[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self._made[name] = command
        if name not in self._names:
            self._names.append(name)

    def __delitem__(self, name: str) -> None:
        self._names.remove(name)
        self._made.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Formatter(Protocol):
    """What writes help."""

    width: int

    def section(self, name: str, /) -> AbstractContextManager[None]:
        """A part with a heading."""
        ...

    def write_dl(self, rows: Sequence[tuple[str, str]], /) -> None:
        """Terms and what they mean."""
        ...


class LazyGroup(TyperGroup):
    """A group whose commands stand in `table`; groups inside it are registered as usual."""

    table: ClassVar[Mapping[str, Entry]] = {}

    @property
    def commands(self) -> MutableMapping[str, Command]:
        """Commands by name, loaded when they are asked for."""
        return self._commands

    @commands.setter
    def commands(self, made: MutableMapping[str, Command]) -> None:
        self._commands = LazyCommands(made, self.table)

    def list_commands(self, _ctx: object) -> list[str]:
        """Names in the order in which help shows them."""
        return list(self.commands)

    def format_commands(self, ctx: object, formatter: Formatter) -> None:
        """Write the list of commands from the table, loading none of them."""
        room = max(20, formatter.width - 6 - max(map(len, self.commands)))
        rows = [(name, self._short_help(name, room)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _short_help(self, name: str, room: int) -> str:
        entry = self.table.get(name)
        return entry.help if entry else self.commands[name].get_short_help_str(room)


def load(name: str, entry: Entry) -> Command:
    """The command of an entry; its example becomes the end of its help, if that has none."""
    function = getattr(importlib.import_module(f"anaphora.cli.{entry.module}"), entry.function)
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    epilog = None if "Example:" in (function.__doc__ or "") else f"Example: {entry.example}"
    single.command(name, epilog=epilog)(with_verbose(function))
    return typer.main.get_command(single)


def with_verbose(function: Callable[..., object]) -> Callable[..., object]:
    """The function as a command that also takes `-v`."""
    signature = inspect.signature(function, eval_str=True)
    if "verbose" in signature.parameters:
        return function

    @functools.wraps(function)
    def command(*, verbose: int = 0, **given: object) -> object:
        with logging_to_stderr(verbose), quiet_pipe():
            return function(**given)

    parameters = {**signature.parameters, "verbose": _VERBOSE}
    command.__annotations__ = {each: parameter.annotation for each, parameter in parameters.items()}
    vars(command)["__signature__"] = signature.replace(parameters=list(parameters.values()))
    return command


_VERBOSE = inspect.Parameter("verbose", inspect.Parameter.KEYWORD_ONLY, default=0, annotation=Verbose)


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """Whoever reads our output may stop reading: then end without a word."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
        raise typer.Exit(CLOSED_PIPE) from None


def _discard(stream: TextIO) -> None:
    """Keep Python from complaining at exit about what it cannot write any more."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, descriptor)
    finally:
        os.close(nowhere)
