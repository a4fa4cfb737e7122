from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import anyio.lowlevel
import pytest

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import IMPORT_MARK, Message, NewMessage, Receipt, Role
from anaphora.errors import InvalidInput, KeyReused, StoreBusy
from anaphora.ports.clock import Clock
from anaphora.services.importing.formats import BadFile, ImportedConversation, read
from anaphora.services.importing.run import BLOCK, ImportReport, import_conversations
from anaphora.testing import FakeClock

DATA = Path(__file__).parent.parent / "data"
SAMPLES = ("openai-tools.json", "finetune.jsonl", "chat-log.jsonl", "sharegpt.json", "locomo.json")

pytestmark = pytest.mark.anyio


class Log:
    """A log in memory that keeps the promises of the port."""

    def __init__(self) -> None:
        self.clock: Clock = FakeClock()
        self.sessions: dict[SessionKey, list[Message]] = defaultdict(list)
        self.keys: dict[tuple[SessionKey, str], tuple[tuple[NewMessage, ...], Receipt]] = {}
        self.blocks: list[int] = []
        self.turns: set[str] = set()
        #: appends that succeed before the log fails
        self.left: int | None = None

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
        assert len(marks) == len(messages)
        for _ in range(10 if idempotency_key == f"{source}:1" else 1):
            await anyio.lowlevel.checkpoint()
        if any(message.content == "too large" for message in messages):
            raise InvalidInput("a message is over the limit")
        if self.left is not None:
            if self.left == 0:
                raise StoreBusy("the database is busy")
            self.left -= 1
        assert idempotency_key is not None
        known = self.keys.get((key, idempotency_key))
        if known is not None:
            if known[0] != tuple(messages):
                raise KeyReused("another body")
            return replace(known[1], repeated=True)
        log = self.sessions[key]
        start = len(log)
        for new in messages:
            log.append(_stored(new, len(log), source))
        receipt = Receipt(id=UUID(int=len(self.keys)), range=SeqRange(start, len(log)))
        self.keys[key, idempotency_key] = (tuple(messages), receipt)
        self.blocks.append(len(messages))
        self.turns.add(turns)
        return receipt

    async def imported(self, key: SessionKey, source: str, *, upto: int | None = None) -> Message | None:
        await anyio.lowlevel.checkpoint()
        for message in reversed(self.sessions[key]):
            if message.source == source and (upto is None or message.metadata[IMPORT_MARK]["position"] <= upto):
                return message
        return None

    def keyed(self, key: SessionKey, source: str, digest: str) -> str:
        return f"{key.session}:{source}:{digest}"

    def said(self) -> dict[tuple[str, str], list[str]]:
        return {(key.user, key.session): [m.content for m in log] for key, log in self.sessions.items() if log}


def _stored(new: NewMessage, seq: int, source: str) -> Message:
    return Message(
        id=UUID(int=seq),
        seq=seq,
        turn=seq,
        role=new.role,
        content=new.content,
        name=new.name,
        parts=new.parts,
        metadata=new.metadata,
        tokens=1,
        created_at=new.created_at or datetime(2024, 1, 1, tzinfo=UTC),
        source=source,
    )


async def run(log: Log, conversations: Iterable[ImportedConversation], **more: Any) -> ImportReport:
    options = {"default_user": "me", "agent": "default", "tenant": "default", **more}
    return await import_conversations(log, conversations, **options)


def conversation(session: str, texts: Iterable[str], user: str | None = None) -> ImportedConversation:
    return ImportedConversation(
        user=user,
        session=session,
        started_at=None,
        messages=tuple(NewMessage(role=Role.USER, content=text) for text in texts),
        turns="single",
        where=session,
        file="chat.json",
        source="import:openai",
    )


def said(conversation: ImportedConversation) -> list[str]:
    return [message.content for message in conversation.messages]


def numbers(stop: int, start: int = 0) -> list[str]:
    return [str(number) for number in range(start, stop)]


async def test_importing_twice_appends_nothing_the_second_time() -> None:
    log = Log()
    for name in SAMPLES:
        first = await run(log, read(DATA / name))
        before = log.said()
        again = await run(log, read(DATA / name))
        assert first.messages > 0
        assert again == replace(first, messages=0, held=first.messages)
        assert log.said() == before


async def test_a_report_counts_samples_sessions_and_messages() -> None:
    assert await run(Log(), read(DATA / "locomo.json")) == ImportReport(conversations=1, sessions=2, messages=3)
    assert await run(Log(), read(DATA / "finetune.jsonl")) == ImportReport(conversations=2, sessions=2, messages=3)


@pytest.mark.parametrize("held", [1, BLOCK - 1, BLOCK, BLOCK + 1, 450])
async def test_a_file_that_grew_appends_only_what_is_new(held: int) -> None:
    log = Log()
    await run(log, [conversation("s", numbers(held))])
    report = await run(log, [conversation("s", numbers(470))])
    assert (report.messages, report.held) == (470 - held, held)
    assert log.said() == {("me", "s"): numbers(470)}
    assert max(log.blocks) <= BLOCK


@pytest.mark.parametrize("left", range(12))
async def test_an_interrupted_import_goes_on_where_it_stopped(left: int) -> None:
    whole = [conversation(f"s{n}", numbers(50 + 150 * n)) for n in range(5)]
    log = Log()
    log.left = left
    if left < 10:
        with pytest.raises(StoreBusy):
            await run(log, whole)
    log.left = None
    done = sum(map(len, log.said().values()))
    report = await run(log, whole)
    assert (report.messages, report.held) == (1750 - done, done)
    assert log.said() == {("me", c.session): said(c) for c in whole}


async def test_two_imports_at_once_append_everything_once() -> None:
    log = Log()
    whole = [conversation(f"s{n}", numbers(450)) for n in range(4)]
    grown = [conversation(f"s{n}", numbers(470)) for n in range(4)]
    reports: list[ImportReport] = []

    async def one(conversations: list[ImportedConversation]) -> None:
        reports.append(await run(log, conversations))

    async with anyio.create_task_group() as group:
        group.start_soon(one, whole)
        group.start_soon(one, grown)
        group.start_soon(one, grown)
    assert log.said() == {("me", c.session): said(c) for c in grown}
    assert sum(report.messages for report in reports) == 4 * 470


async def test_a_session_in_pieces_is_one_session_in_order() -> None:
    log = Log()
    pieces = [conversation(s, numbers(n + 10, n), "me" if n else None) for n in (0, 10, 20) for s in ("a", "b")]
    assert await run(log, pieces) == ImportReport(conversations=2, sessions=2, messages=60)
    assert log.said() == {("me", "a"): numbers(30), ("me", "b"): numbers(30)}
    assert (await run(log, pieces)).messages == 0


@pytest.mark.parametrize("texts", [["x", "y"], ["0", "y", "2"], ["x"], ["0", "y"], [*numbers(2), "x", "y", "z"]])
async def test_another_conversation_under_the_same_name_is_refused_not_lost(texts: list[str]) -> None:
    log = Log()
    await run(log, [conversation("s", numbers(3))])
    with pytest.raises(BadFile, match="session 's' already holds another conversation"):
        await run(log, [conversation("s", texts), conversation("t", ["new"])])
    assert log.said() == {("me", "s"): numbers(3), ("me", "t"): ["new"]}


async def test_an_older_copy_of_a_file_appends_nothing() -> None:
    log = Log()
    await run(log, [conversation("s", numbers(300))])
    report = await run(log, [conversation("s", numbers(250))])
    assert (report.messages, report.held) == (0, 250)


async def test_messages_written_after_an_import_do_not_move_it() -> None:
    log = Log()
    await run(log, [conversation("s", numbers(3))])
    (key,) = log.sessions
    log.sessions[key].append(_stored(NewMessage(role=Role.USER, content="typed"), 3, "chat"))
    await run(log, [conversation("s", numbers(5))])
    assert log.said() == {("me", "s"): ["0", "1", "2", "typed", "3", "4"]}


async def test_what_stood_before_a_bad_line_stays_imported_and_mending_goes_on(tmp_path: Path) -> None:
    lines = [json.dumps({"role": "user", "content": str(n)}) for n in range(20)]
    log = Log()
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines[:16], "{oops", *lines[17:]]), encoding="utf-8")
    with pytest.raises(BadFile, match="line 17"):
        await run(log, read(path))
    assert log.said() == {("me", "log-1"): numbers(16)}
    path.write_text("\n".join(lines), encoding="utf-8")
    assert (await run(log, read(path))).messages == 4
    assert log.said() == {("me", "log-1"): numbers(20)}


async def test_nothing_is_appended_behind_a_refused_block() -> None:
    log = Log()
    pieces = [conversation("s", ["0"]), conversation("s", ["too large"]), conversation("s", ["2"])]
    with pytest.raises(BadFile, match=r"chat\.json: s: a message is over the limit"):
        await run(log, [*pieces, conversation("t", ["new"])])
    assert log.said() == {("me", "s"): ["0"], ("me", "t"): ["new"]}


async def test_a_conversation_of_nobody_is_refused_and_keeps_no_other_out() -> None:
    log = Log()
    with pytest.raises(BadFile, match="names no user"):
        await run(log, [conversation("s", ["x"]), conversation("t", ["y"], "bob")], default_user=None)
    assert log.said() == {("bob", "t"): ["y"]}


async def test_progress_is_told_after_blocks_and_ends_with_the_report() -> None:
    told: list[ImportReport] = []
    count = 2 * BLOCK + 7
    report = await run(Log(), [conversation("s", numbers(count))], progress=told.append)
    assert [t.messages for t in told] == [BLOCK, 2 * BLOCK, count, count]
    assert told[-1] == report


async def test_turns_are_placed_as_the_format_says_and_one_turn_is_never_split() -> None:
    for name, turns in (("locomo.json", "own"), ("sharegpt.json", "single")):
        log = Log()
        await run(log, read(DATA / name))
        assert log.turns == {turns}
    log = Log()
    await run(log, [replace(conversation("s", numbers(450)), turns="turn")])
    assert (log.turns, log.blocks) == ({"turn"}, [450])


async def test_conversations_are_read_as_they_are_needed() -> None:
    read_so_far = 0

    def endless() -> Iterator[ImportedConversation]:
        nonlocal read_so_far
        while True:
            read_so_far += 1
            yield conversation(f"s{read_so_far}", ["x"])

    log = Log()
    log.left = 5
    with pytest.raises(StoreBusy):
        await run(log, islice(endless(), 100_000))
    assert read_so_far < 500
