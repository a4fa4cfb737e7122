"""Append imported conversations to the log: fast, in order, and only once.

Every message of a session has a position in what was read, counted from 1, and a digest of itself and of all messages
before it. Both are stored with it, under `IMPORT_MARK` in its metadata. So one look at the newest imported message of a
session says how far an earlier run came, and whether the file still begins with what that run appended: if so, the
import goes on behind it; if not, the file holds another conversation and is refused. Nothing depends on where blocks
began or ended, which makes an interrupted run and a file that grew the same case. One key a block would break when the
last block grew; one append a message would be slow; and a mere count of messages would take another conversation of the
same name for one that is already there, and lose it.

The idempotency key of a block is the position of its first message, which is always the first that the log lacks. Of
two imports at the same time only one can append there; the other looks again and goes on behind it.

The digest is over what was said (role, name, text, parts), not over times and metadata: an export that writes those
differently is still the same conversation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.abc import ObjectReceiveStream, ObjectSendStream

from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message, NewMessage, Receipt
from anaphora.errors import AnaphoraError, Erased, InvalidInput, KeyReused
from anaphora.ports.clock import Clock
from anaphora.services.importing.marks import Mark
from anaphora.services.importing.values import BadFile, ImportedConversation

#: messages of one append at most; others who append wait no longer than for a few of these
BLOCK = 50
#: appends of more messages than `_FEW` that may be under way at once
_LARGE_AT_ONCE = 1
#: the rest after one of them, as a part of the time that it took
_REST = 0.25
_FEW = 8
#: sessions that are appended to at once: many small appends share one transaction
LANES = 16


class Ingest(Protocol):
    """What an import needs of the log."""

    @property
    def clock(self) -> Clock:
        """The time for resting between large appends."""
        ...

    async def append(
        self,
        key: SessionKey,
        messages: Sequence[NewMessage],
        *,
        turns: str,
        source: str,
        idempotency_key: str | None,
        marks: Sequence[str],
    ) -> Receipt:
        """Append as one; a key is good for one session, and no longer than the messages that it brought.

        Raises:
            Erased: some of them were erased here: `marks` are what tells which.
            KeyReused: the key brought other messages to this session before.

        """
        ...

    def keyed(self, key: SessionKey, source: str, digest: str) -> str:
        """By what an imported message would be known again if it had been erased."""
        ...

    async def imported(self, key: SessionKey, source: str, *, upto: int | None = None) -> Message | None:
        """The newest message of the session with this source, or None; `upto`: at this position or before it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import has done so far."""

    #: distinct conversations that were read: samples in LoCoMo, elsewhere the sessions
    conversations: int = 0
    #: distinct sessions that were read
    sessions: int = 0
    #: messages that the log did not hold before
    messages: int = 0
    #: messages that it held already
    held: int = 0
    #: messages, facts, subjects and pages that were erased here: they are not brought in again
    erased: int = 0


Progress = Callable[[ImportReport], None]


async def import_conversations(
    ingest: Ingest,
    conversations: Iterable[ImportedConversation],
    *,
    default_user: str | None,
    agent: str,
    tenant: str,
    progress: Progress | None = None,
) -> ImportReport:
    """Append what the log does not hold yet; the same conversations again append nothing.

    Sessions are appended to side by side, each in its own order. A conversation that cannot be imported keeps no other
    out: the first complaint is raised when all others are in. A failing store stops everything; run again to go on.
    Memory grows with the number of sessions, not of messages.

    Args:
        ingest: the log.
        conversations: read in a thread, a few at a time, as they are needed.
        default_user: whose the conversations are that name no user.
        agent: with whom they were held.
        tenant: whose store.
        progress: told the totals after every block and at the end.

    Raises:
        BadFile: a place in the file is wrong, names no user where none is given, or the session already holds another
            conversation that was imported from the same format.
        StoreError: the log failed; what was appended stays.

    """
    run = _Run(ingest, default_user=default_user, agent=agent, tenant=tenant, progress=progress)
    async with AsyncExitStack() as receivers, anyio.create_task_group() as group, AsyncExitStack() as senders:
        lanes: list[ObjectSendStream[ImportedConversation]] = []
        for _ in range(LANES):
            send, receive = anyio.create_memory_object_stream[ImportedConversation](1)
            lanes.append(await senders.enter_async_context(send))
            await receivers.enter_async_context(receive)
            group.start_soon(run.work, receive, group.cancel_scope)
        await run.feed(iter(conversations), lanes)
    await run.compare_older()
    return run.result()


@dataclass(slots=True)
class _Cursor:
    """One session during a run."""

    #: its last piece
    file: str
    where: str
    #: the newest that the log holds
    stored: Mark
    #: the newest that was read
    read: Mark = field(default_factory=Mark)
    #: something was wrong: nothing may be appended behind the hole
    refused: bool = False


class _Run:
    def __init__(
        self, ingest: Ingest, *, default_user: str | None, agent: str, tenant: str, progress: Progress | None
    ) -> None:
        self._ingest = ingest
        self._default_user = default_user
        self._agent = agent
        self._tenant = tenant
        self._progress = progress
        self._large = anyio.Semaphore(_LARGE_AT_ONCE)
        self._cursors: dict[tuple[SessionKey, str], _Cursor] = {}
        self._wholes: set[tuple[str, str]] = set()
        self._alone = 0
        self._messages = 0
        self._held = 0
        self._erased = 0
        self._complaint: BadFile | None = None
        self._fault: AnaphoraError | None = None

    def result(self) -> ImportReport:
        """The totals, or the error that must be told."""
        self._tell()
        failure = self._fault or self._complaint
        if failure is not None:
            raise failure
        return self._report()

    async def feed(
        self, conversations: Iterator[ImportedConversation], lanes: Sequence[ObjectSendStream[ImportedConversation]]
    ) -> None:
        """Hand out the conversations, all pieces of one session to one lane."""
        while True:
            items, error = await anyio.to_thread.run_sync(_next_few, conversations)
            for item in items:
                await lanes[hash((self._user(item), item.session)) % len(lanes)].send(item)
            if error is not None:
                self._complaint = self._complaint or error
            if error is not None or not items:
                return

    async def work(self, items: ObjectReceiveStream[ImportedConversation], scope: anyio.CancelScope) -> None:
        """Append what comes, one piece after the other."""
        try:
            async for item in items:
                try:
                    await self._take(item)
                except BadFile as error:
                    self._complaint = self._complaint or error
        except AnaphoraError as error:
            self._fault = self._fault or error
            scope.cancel()

    async def compare_older(self) -> None:
        """A file that ends before the log does is an older copy, or another conversation: that must be told."""
        for (key, source), cursor in self._cursors.items():
            read = cursor.read
            if self._fault or cursor.refused or read.position >= cursor.stored.position:
                continue
            mark = Mark.of(await self._ingest.imported(key, source, upto=read.position))
            if mark.position == read.position and not mark.is_of(read, self._keying(key, source)):
                self._complaint = self._complaint or _another(cursor.file, cursor.where, key.session, cursor.stored)

    async def _take(self, item: ImportedConversation) -> None:
        key = self._key(item)
        cursor = self._cursors.get((key, item.source))
        if cursor is None:
            stored = Mark.of(await self._ingest.imported(key, item.source))
            cursor = self._cursors[key, item.source] = _Cursor(item.file, item.where, stored)
            if item.conversation is None:
                self._alone += 1
            else:
                self._wholes.add((key.user, item.conversation))
        if cursor.refused:
            return
        cursor.file, cursor.where = item.file, item.where
        size = max(1, len(item.messages)) if item.turns == "turn" else BLOCK
        try:
            for start in range(0, len(item.messages), size):
                await self._block(key, item, item.messages[start : start + size], cursor)
        except InvalidInput as error:
            cursor.refused = True
            raise error if isinstance(error, BadFile) else BadFile(item.file, item.where, str(error)) from error

    async def _block(
        self, key: SessionKey, item: ImportedConversation, messages: Sequence[NewMessage], cursor: _Cursor
    ) -> None:
        entries: list[tuple[Mark, NewMessage]] = []
        for message in messages:
            cursor.read = cursor.read.after(message)
            entries.append((cursor.read, cursor.read.on(message)))
        keyed = self._keying(key, item.source)
        erased: set[str] = set()
        while True:
            lacking = _lacking(entries, cursor.stored, item, keyed)
            block = [entry for entry in lacking if keyed(entry[0].digest) not in erased]
            self._erased += 0 if block else len(lacking)
            if not block:
                entries = entries[: len(entries) - len(lacking)]
                break
            first = block[0][0].position
            try:
                async with self._in_turn() if len(block) > _FEW else nullcontext():
                    receipt = await self._ingest.append(
                        key,
                        [message for _, message in block],
                        turns=item.turns,
                        source=item.source,
                        idempotency_key=f"{item.source}:{first}",
                        marks=[keyed(mark.digest) for mark, _ in block],
                    )
            except Erased as error:
                erased |= error.marks
                continue
            except KeyReused:
                cursor.stored = Mark.of(await self._ingest.imported(key, item.source))
                if cursor.stored.position < first:
                    raise BadFile(
                        item.file,
                        item.where,
                        f"message {first} of session {item.session!r} was imported before and is deleted: import the "
                        "conversation for another user or agent",
                    ) from None
                continue
            cursor.stored = block[-1][0]
            new = 0 if receipt.repeated else len(block)
            self._messages += new
            self._erased += len(lacking) - len(block)
            self._held += len(entries) - new - len(lacking) + len(block)
            self._tell()
            return
        self._held += len(entries)
        await anyio.lowlevel.checkpoint()

    @asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """One large append at a time, and then a rest, in which others find the database free."""
        clock = self._ingest.clock
        async with self._large:
            started = clock.monotonic()
            yield
            rest = _REST * (clock.monotonic() - started)
            if rest > 0:
                await clock.sleep(rest)

    def _keying(self, key: SessionKey, source: str) -> Callable[[str], str]:
        return lambda digest: self._ingest.keyed(key, source, digest)

    def _user(self, item: ImportedConversation) -> str | None:
        return self._default_user if item.user is None else item.user

    def _key(self, item: ImportedConversation) -> SessionKey:
        user = self._user(item)
        if user is None:
            raise BadFile(item.file, item.where, "the conversation names no user: say whose it is")
        return SessionKey(tenant=self._tenant, user=user, agent=self._agent, session=item.session)

    def _report(self) -> ImportReport:
        return ImportReport(
            conversations=self._alone + len(self._wholes),
            sessions=len(self._cursors),
            messages=self._messages,
            held=self._held,
            erased=self._erased,
        )

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._report())


def _next_few(conversations: Iterator[ImportedConversation]) -> tuple[list[ImportedConversation], BadFile | None]:
    """The next conversations, a block's worth of messages; none at the end; and what was wrong behind them."""
    few: list[ImportedConversation] = []
    total = 0
    try:
        for item in conversations:
            few.append(item)
            total += max(1, len(item.messages))
            if total >= BLOCK:
                break
    except BadFile as error:
        return few, error
    return few, None


def _lacking(
    entries: Sequence[tuple[Mark, NewMessage]],
    stored: Mark,
    item: ImportedConversation,
    keyed: Callable[[str], str],
) -> Sequence[tuple[Mark, NewMessage]]:
    """The entries behind the stored mark, if the entry at the mark is what is stored."""
    behind = max(0, stored.position - entries[0][0].position + 1)
    if 0 < behind <= len(entries) and not stored.is_of(entries[behind - 1][0], keyed):
        raise _another(item.file, item.where, item.session, stored)
    return entries[behind:]


def _another(file: str, where: str, session: str, stored: Mark) -> BadFile:
    return BadFile(
        file,
        where,
        f"session {session!r} already holds another conversation of {stored.position} messages, imported before: "
        "rename the session in the file, or import it for another user or agent",
    )
