"""Where `chat` gets its lines from: a prompt in a terminal, plain lines from anything else."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from typing import Protocol, TextIO

import anyio
import anyio.to_thread
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, WordCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

_CHUNK = 1 << 16


class StopPressed(Exception):
    """Ctrl-C at an empty prompt."""


class LineSource(Protocol):
    """Gives what a person types, one entry at a time. A read that is cancelled loses nothing."""

    @property
    def interactive(self) -> bool:
        """True if somebody sits there."""
        ...

    async def read(self, prompt: str) -> str:
        """The next entry, without its end of line.

        Raises:
            EOFError: there are no more.
            StopPressed: Ctrl-C at an empty prompt.

        """
        ...

    def recall(self, entries: Sequence[str]) -> None:
        """Entries of earlier, oldest first, in place of those so far: what the arrow keys bring back."""
        ...


class PromptSource:
    """A prompt with history, completion of commands, and Alt-Enter for a new line.

    The history is kept in memory only: what is said stands in the database, and nowhere if that is temporary.
    """

    interactive = True

    def __init__(self, commands: Mapping[str, str]) -> None:
        self._completer = _completer(commands)
        self._draft = ""
        self._prompt = self._session(())

    def recall(self, entries: Sequence[str]) -> None:
        """Start a history of these entries."""
        self._prompt = self._session(entries)

    def _session(self, entries: Sequence[str]) -> PromptSession[str]:
        return PromptSession(
            history=InMemoryHistory(entries),
            completer=self._completer,
            complete_while_typing=Condition(lambda: self._prompt.default_buffer.text.startswith("/")),
            key_bindings=_bindings(),
            multiline=True,
            prompt_continuation="    … ",
            reserve_space_for_menu=4,
        )

    async def read(self, prompt: str) -> str:
        """Ask; what was typed when the read was cancelled stands in the prompt the next time."""
        draft, self._draft = self._draft, ""
        try:
            return await self._prompt.prompt_async(
                FormattedText([("bold ansicyan", prompt)]), default=draft, handle_sigint=False
            )
        except anyio.get_cancelled_exc_class():
            self._draft = self._prompt.default_buffer.text
            raise


def _completer(commands: Mapping[str, str]) -> Completer:
    return WordCompleter(list(commands), meta_dict=dict(commands), sentence=True)


def _bindings() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=StopPressed(), style="class:aborting")

    return keys


class StreamSource:
    """Lines of a pipe, a file, or any text stream."""

    interactive = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._descriptor = _descriptor(stream)
        self._waits = self._descriptor is not None and _can_be_waited_for(self._descriptor)
        self._buffer = b""
        self._ended = False

    def recall(self, entries: Sequence[str]) -> None:
        """Nothing: there are no arrow keys."""

    async def read(self, prompt: str) -> str:  # noqa: ARG002 - nobody would see it
        """The next line; the last one need not be ended."""
        if self._descriptor is None:
            line = await anyio.to_thread.run_sync(self._stream.readline)
            if not line:
                raise EOFError
            return line.rstrip("\r\n")
        while b"\n" not in self._buffer and not self._ended:
            if self._waits:
                await anyio.wait_readable(self._descriptor)
            chunk = os.read(self._descriptor, _CHUNK)
            self._ended = not chunk
            self._buffer += chunk
        if not self._buffer:
            raise EOFError
        line_bytes, _, self._buffer = self._buffer.partition(b"\n")
        return line_bytes.decode("utf-8", errors="replace").rstrip("\r")


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (io.UnsupportedOperation, ValueError):
        return None


def _can_be_waited_for(descriptor: int) -> bool:
    """Files are always ready, and no event loop takes them; elsewhere than on POSIX only sockets can be waited for."""
    return os.name == "posix" and not stat.S_ISREG(os.fstat(descriptor).st_mode)


def source_for_terminal(commands: Mapping[str, str]) -> LineSource:
    """A prompt where somebody sits at both ends, lines elsewhere."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return PromptSource(commands)
    return StreamSource(sys.stdin)
