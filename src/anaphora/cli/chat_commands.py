"""The commands of `chat`: lines that begin with a slash."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from enum import Enum, auto
from pathlib import Path
from types import MappingProxyType

import anyio
import anyio.to_thread

from anaphora.cli.chat_input import LineSource, StopPressed
from anaphora.cli.chat_talk import Room, Talk
from anaphora.cli.output import plural
from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.messages import Message
from anaphora.domain.topics import Segment
from anaphora.errors import InvalidInput, UnknownName

#: seconds that `/compact` waits
PATIENCE = 120.0
FOUND = 5
PAGE = 500
VERSIONS = 20

#: what can be typed, and what it does
HELP: Mapping[str, str] = MappingProxyType(
    {
        "/context": "show the exact prompt, its tokens, and where every message is",
        "/summaries": "show the chain of summaries",
        "/topics": "show the topics of this session",
        "/compact": "summarise now what is due",
        "/search": "WORDS: find messages by their words",
        "/memory": "show what is known of you",
        "/notepad": "show what was noted of earlier sessions",
        "/undo": "take back what was remembered last",
        "/retry": "answer the last unanswered message again",
        "/export": "[PATH]: write the session to a file, one JSON object a line",
        "/temp": "talk without a trace; again: back to the session",
        "/reset": "delete every message of this session",
        "/end": "end the session (also /quit and Ctrl-D)",
        "/help": "show these lines",
    }
)


#: what a session's strategy has to do at its end
_COMPACTS = frozenset({JobKind.SUMMARISE, JobKind.FOLLOW, JobKind.DESCRIBE})


_NO_MODEL = "a language model is waited for; until one is there, sentences that were chosen stand in for its words"


class After(Enum):
    """What follows an entry."""

    GO_ON = auto()
    #: a temporary conversation begins
    TEMPORARY = auto()
    #: the temporary conversation is over
    LEAVE_ROOM = auto()
    END = auto()


class Commands:
    """Does what a line with a slash asks for.

    Args:
        talk: where things are said.
        source: answers questions.
        open_temporary: a room that leaves no trace.

    """

    def __init__(
        self, talk: Talk, source: LineSource, open_temporary: Callable[[], AbstractAsyncContextManager[Room]]
    ) -> None:
        self.open_temporary = open_temporary
        self._talk = talk
        self._view = talk.view
        self._source = source
        self._table: Mapping[str, Callable[[str], Awaitable[After | None]]] = {
            "/context": self._context,
            "/summaries": self._summaries,
            "/topics": self._topics,
            "/compact": self._compact,
            "/search": self._search,
            "/memory": self._memory,
            "/notepad": self._notepad,
            "/undo": self._undo,
            "/retry": self._retry,
            "/export": self._export,
            "/temp": self._temp,
            "/reset": self._reset,
            "/end": self._end,
            "/quit": self._end,
            "/exit": self._end,
            "/help": self._help,
        }

    async def run(self, text: str) -> After:
        """Do what the line says.

        Raises:
            UnknownName: no such command; names the nearest.

        """
        name, _, rest = text.partition(" ")
        command = self._table.get(name.lower())
        if command is None:
            raise UnknownName("command", name, self._table)
        return await command(rest.strip()) or After.GO_ON

    async def _context(self, _: str) -> None:
        sent = self._talk.room.turn.context
        self._view.prompt(sent or await self._talk.context(), sent=sent is not None)

    async def _summaries(self, _: str) -> None:
        self._view.summaries(await self._talk.room.session.summaries(limit=VERSIONS))

    async def _topics(self, _: str) -> None:
        room = self._talk.room
        self._view.topics(await room.session.topics(limit=VERSIONS), strategy=room.strategy)

    async def _compact(self, _: str) -> None:
        """The end of a session plans everything that can be summarised; the next word reopens it."""
        room = self._talk.room
        newest, before = await room.session.summaries(limit=1), await self._closed()
        await room.session.end()
        with self._talk.stoppable():
            await room.memory.idle(PATIENCE)
        made = [v for v in await room.session.summaries(limit=VERSIONS) if not newest or v.version > newest[0].version]
        closed = await self._closed()
        topics = [closed[start] for start in sorted(closed.keys() - before.keys())]
        self._view.compacted(made[::-1], topics, await self._waiting())

    async def _closed(self) -> Mapping[int, Segment]:
        """The newest closed topics of the session by their first messages."""
        topics = await self._talk.room.session.topics(limit=VERSIONS)
        return {segment.range.start: segment for segment in topics if segment.topic is not None}

    async def _waiting(self) -> str | None:
        room = self._talk.room
        jobs = await room.memory.jobs.list(states=[JobState.QUEUED, JobState.RUNNING], limit=200)
        mine = [job for job in jobs if job.key == room.session.key and job.kind in _COMPACTS]
        if not mine:
            return None
        if not self._talk.manner.memory_model and all(job.needs_model for job in mine):
            return _NO_MODEL
        return mine[0].reason or "the work goes on in the background"

    async def _search(self, words: str) -> None:
        if not words:
            raise InvalidInput("say what to look for: /search WORDS")
        room = self._talk.room
        key = room.session.key
        self._view.found(words, await room.memory.search(words, user=key.user, tenant=key.tenant, limit=FOUND))

    async def _memory(self, _: str) -> None:
        await self._talk.look()
        room = self._talk.room
        self._view.known(await room.remembered.known(), user=room.session.key.user)

    async def _notepad(self, _: str) -> None:
        room = self._talk.room
        key = room.session.key
        page = await room.memory.notepad.show(user=key.user, agent=key.agent, tenant=key.tenant)
        self._view.noted(page, empty=self._talk.manner.nothing_noted)

    async def _undo(self, _: str) -> None:
        self._view.taken_back(*await self._talk.room.remembered.undo())

    async def _retry(self, _: str) -> None:
        await self._talk.answer(None)

    async def _reset(self, _: str) -> None:
        session = self._talk.room.session
        count = (await self._talk.context()).coverage.head
        question = f"Delete all {plural(count, 'message')} of session {session.key.session}, for good? [y/N] "
        if count and not await self._agreed(question):
            self._view.told("Nothing was deleted.")
            return
        self._view.told(f"Cleared {await session.reset()} messages from your history.")
        self._talk.forget_turn()

    async def _agreed(self, question: str) -> bool:
        if not self._source.interactive:
            self._view.told(question)
        try:
            answer = await self._source.read(question)
        except (EOFError, StopPressed):
            return False
        return answer.strip().lower() in {"y", "yes"}

    async def _export(self, path: str) -> None:
        key = self._talk.room.session.key
        name = path or f"{_plain(key.user)}-{_plain(key.session)}.jsonl"
        lines = [json.dumps(_exported(m, key.session), ensure_ascii=False) async for m in self._messages()]
        file = await anyio.to_thread.run_sync(_write_new, name, "".join(f"{line}\n" for line in lines))
        self._view.told(f"{plural(len(lines), 'message')} in {file}")

    async def _messages(self) -> AsyncIterator[Message]:
        start = 0
        while page := await self._talk.room.session.messages(start=start, limit=PAGE):
            for message in page:
                yield message
            start = page[-1].seq + 1

    async def _temp(self, _: str) -> After:
        return After.LEAVE_ROOM if self._talk.room.temporary else After.TEMPORARY

    async def _end(self, _: str) -> After:
        return After.END

    async def _help(self, _: str) -> None:
        self._view.commands(HELP)


def _plain(name: str) -> str:
    """A part of a file name."""
    return re.sub(r"[^\w-]+", "_", name).strip("_")[:60] or "chat"


def _write_new(name: str, text: str) -> Path:
    """Write a file that is not there yet."""
    file = Path(name).expanduser()
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise InvalidInput(f"{file} is there already: give another name, /export PATH") from None
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}") from None
    return file


def _exported(message: Message, session: str) -> dict[str, object]:
    """A line that `anaphora import` takes."""
    line: dict[str, object] = {
        "session": session,
        "seq": message.seq,
        "role": message.role.value,
        "content": message.content,
        "created_at": message.created_at.isoformat(),
    }
    if message.name:
        line["name"] = message.name
    if message.parts:
        line["parts"] = [dict(part) for part in message.parts]
    if message.metadata:
        line["metadata"] = dict(message.metadata)
    return line
