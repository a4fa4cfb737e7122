"""An export goes back whole or not at all, once however often it is tried, and never over something else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.memory.harness import brief, by_turns, conversation, opened, say, served, settle, text
from tests.services.lives import BUSY, a_life, broken, exported, of_kind, seen, two

from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.messages import ReceiptState
from anaphora.domain.summaries import Method, SummaryStatus
from anaphora.errors import InvalidInput, ModelUnavailable, StoreBusy
from anaphora.memory import Memory
from anaphora.services.importing.pieces import BLOCK
from anaphora.services.importing.run import ImportReport
from anaphora.testing import FakeClock, RaiseAt
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


def counted(sessions: int, new: int, held: int = 0) -> ImportReport:
    return ImportReport(conversations=sessions, sessions=sessions, messages=new, held=held)


async def live(memory: Memory) -> list[tuple[JobKind, int | None, bool]]:
    jobs = await memory.jobs.list(states=[JobState.QUEUED, JobState.RUNNING])
    return sorted((job.kind, job.from_seq, job.needs_model) for job in jobs)


# -- again, and interrupted --------------------------------------------------------------------------------------------


async def test_again_brings_nothing(tmp_path: Path) -> None:
    lines = await a_life(tmp_path / "life")
    async with opened(tmp_path) as memory:
        first = await memory.restore(lines)
        jobs = await memory.jobs.list(limit=1000)
        again = await memory.restore(lines)
        assert (again.messages, again.held) == (0, first.messages)
        assert await exported(memory) == lines
        assert await memory.jobs.list(limit=1000) == jobs


@pytest.fixture(scope="module")
async def long_ones(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """An export of sessions of several blocks, with edits near the borders of blocks."""
    async with opened(tmp_path_factory.mktemp("long"), chat=ScriptedChat(brief), clock=FakeClock()) as memory:
        await talk_at_length(memory)
        return await exported(memory)


async def talk_at_length(memory: Memory) -> None:
    for name, count in (("a", BLOCK + 1), ("b", 2 * BLOCK), ("c", 3), ("d", 2 * BLOCK + 10)):
        chat = conversation(memory, session=name)
        for start in range(0, count, 100):
            some = range(start, min(start + 100, count))
            await chat.add_turn([{"role": "user", "content": text(seq)} for seq in some], key=f"k{start}")
        await memory.work()
        for seq in (0, BLOCK - 1, BLOCK, count - 1):
            if seq < count:
                await chat.edit(seq, f"#{seq}# once more")
    await conversation(memory, session="c").delete(1)


@pytest.mark.parametrize("count", [1, 3, 7])
async def test_an_import_that_was_interrupted_goes_on_where_it_stopped(
    count: int, long_ones: list[str], tmp_path: Path
) -> None:
    fault = RaiseAt("restore.after_block", StoreBusy("somebody else is writing"), count)
    async with opened(tmp_path, failpoint=fault) as memory:
        with pytest.raises(StoreBusy):
            await memory.restore(long_ones)
        assert broken(memory) == [], "what was brought in so far is not sound"
        left = sum(row.head for row in await memory.sessions())
        whole = len(of_kind(long_ones, "message"))
        report = await memory.restore(long_ones)
        assert (report.messages, report.held) == (whole - left, left)
        assert await exported(memory) == long_ones
        assert broken(memory) == []


async def test_two_imports_at_once_are_as_good_as_one(long_ones: list[str], tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as other:
        reports: list[ImportReport] = []

        async def bring(memory: Memory) -> None:
            reports.append(await memory.restore(long_ones))

        async with anyio.create_task_group() as group:
            group.start_soon(bring, one)
            group.start_soon(bring, other)
        whole = len(of_kind(long_ones, "message"))
        assert sum(report.messages for report in reports) == whole
        assert sum(report.held for report in reports) == whole
        assert await exported(one) == long_ones
        assert broken(one) == []


# -- into what is there already ----------------------------------------------------------------------------------------


async def test_a_session_that_grew_there_is_brought_up_to_date_here(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        chat, twin = conversation(here), conversation(there)
        await say(chat, 5)
        await there.restore(here.export())
        await say(chat, 600, start=5)
        assert await there.restore(here.export()) == counted(1, 600, 5)
        assert await seen(twin) == await seen(chat)
        assert await exported(there) == await exported(here)
        assert [kind for kind, *_ in await live(there)] == [JobKind.SUMMARISE]


async def test_what_was_said_or_changed_here_since_stays(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        chat, twin = conversation(here), conversation(there)
        await say(chat, 5)
        lines = await exported(here)
        await there.restore(lines)
        await say(twin, 3, start=5)
        await twin.edit(2, "changed here")
        await twin.delete(3)
        before = await exported(there)
        assert await there.restore(lines) == counted(1, 0, 5)
        assert await exported(there) == before


async def test_a_session_with_other_messages_is_left_alone_and_all_others_come_in(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        for name in ("a", "b", "c"):
            await say(conversation(here, session=name), 4)
        twin = conversation(there, session="b")
        await say(twin, 2)
        before = await exported(there, session="b")
        with pytest.raises(InvalidInput, match=r"^line 7: session 'b' of user 'u' holds something else here"):
            await there.restore(here.export())
        assert await exported(there, session="b") == before
        for name in ("a", "c"):
            assert await exported(there, session=name) == await exported(here, session=name)
        assert broken(there) == []


@pytest.mark.parametrize("edited", [0, BLOCK + 3])
async def test_an_edit_there_is_not_silently_missing_here(edited: int, tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        chat = conversation(here)
        for _ in range(6):
            await chat.add_turn([{"role": "user", "content": "hello"}] * 100)
        await there.restore(here.export())
        before = await exported(there)
        await chat.edit(edited, "changed there")
        await say(chat, 3)
        with pytest.raises(InvalidInput, match=f"its message {edited} was changed since.*reset it"):
            await there.restore(here.export())
        assert await exported(there) == before
        await conversation(there).reset()
        assert await there.restore(here.export()) == counted(1, 603)
        assert of_kind(await exported(there), "message") == of_kind(await exported(here), "message")


async def test_after_a_reset_here_the_export_goes_in_again_and_its_receipts_answer(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        chat, twin = conversation(here), conversation(there)
        receipts = await say(chat, 30)
        await here.work()
        await there.restore(here.export())
        await twin.reset()
        assert await there.receipt(receipts[0].id) is ReceiptState.ERASED
        assert await there.restore(here.export()) == counted(1, 30)
        assert await there.receipt(receipts[0].id) is ReceiptState.SUMMARISED
        assert await seen(twin) == await seen(chat)
        assert await exported(there) == await exported(here)
        assert broken(there) == []


async def test_an_empty_session_of_the_same_name_becomes_the_exported_one(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        chat = conversation(here, session="1", strategy="sliding_window", subject="tea")
        await say(chat, 3)
        await there.new_session(user="u", agent="a")
        await there.restore(here.export())
        assert await exported(there) == await exported(here)


async def test_what_was_derived_comes_only_into_a_log_that_is_exactly_the_exported_one(tmp_path: Path) -> None:
    fault = RaiseAt("restore.after_block", StoreBusy("somebody else is writing"))
    async with two(tmp_path) as (here, _):
        chat = conversation(here)
        for start in range(0, BLOCK + 100, 100):
            await chat.add_turn([{"role": "user", "content": text(start + at)} for at in range(100)])
        await here.work()
        lines = await exported(here)
        assert of_kind(lines, "summary")
    (tmp_path / "fragile").mkdir()
    async with opened(tmp_path / "fragile", chat=ScriptedChat(brief), failpoint=fault) as memory:
        with pytest.raises(StoreBusy):
            await memory.restore(lines)
        twin = conversation(memory)
        await twin.edit(0, "changed in the middle of the import")
        await memory.restore(lines)
        assert await twin.summaries() == []
        assert [kind for kind, *_ in await live(memory)] == [JobKind.SUMMARISE]
        await memory.work()
        assert (await twin.summaries())[0].range.stop == summarised_to(lines)
        assert broken(memory) == []


def summarised_to(lines: Sequence[str]) -> int:
    """How far the exported summaries reach."""
    return max(int(summary["range"][1]) for summary in of_kind(lines, "summary"))


# -- whose, and where --------------------------------------------------------------------------------------------------


async def test_the_only_user_of_an_export_may_get_another_name(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        receipts = await say(conversation(here), 3)
        assert await there.restore(here.export(), user="zoe") == counted(1, 3)
        assert [row.key.user for row in await there.sessions()] == ["zoe"]
        assert await there.receipt(receipts[0].id) is ReceiptState.APPENDED
        await say(conversation(here, user="v"), 3)
        with pytest.raises(InvalidInput, match="the export holds 2 users"):
            await there.restore(here.export(), user="yan")
        with pytest.raises(InvalidInput, match="user must not be empty"):
            await there.restore(here.export(user="v"), user=" ")
        assert len(await there.sessions()) == 1


async def test_a_copy_beside_the_original_is_refused_since_ids_are_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await say(conversation(memory), 3)
        with pytest.raises(InvalidInput, match="are here already, of another user"):
            await memory.restore(memory.export(), user="zoe")
        assert len(await memory.sessions()) == 1
        assert await memory.restore(memory.export(), user="zoe", tenant="other") == counted(1, 3)
        assert await memory.restore(memory.export()) == counted(1, 0, 3)
        assert broken(memory) == []


async def test_lines_come_from_anywhere(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        await say(conversation(here), 3)
        await conversation(here).add("user", "a\u2028b\x85c\r\nd")
        lines = await exported(here)

        async def slowly() -> AsyncIterator[str]:
            for line in lines:
                await anyio.lowlevel.checkpoint()
                yield line

        def at_once() -> Iterator[str]:
            yield from lines

        path = tmp_path / "export.jsonl"
        path.write_text("".join(lines), encoding="utf-8")
        windows = tmp_path / "windows.jsonl"
        windows.write_bytes(b"\xef\xbb\xbf" + "".join(lines).replace("\n", "\r\n").encode() + b"\r\n")
        sources: list[Any] = [
            lines,
            tuple(lines),
            slowly(),
            at_once(),
            path,
            str(path),
            windows,
            "".join(lines).splitlines(),
        ]
        for at, source in enumerate(sources):
            assert (await there.restore(source, tenant=str(at))).messages == 4
            assert await exported(there, tenant=str(at)) == lines
        with path.open(encoding="utf-8") as file:
            assert (await there.restore(file)).messages == 4


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda _: None, "there is no such file"),
        (lambda path: path.mkdir(), "expected a regular file"),
        (lambda path: path.write_bytes(b""), "expected an export, but there is nothing in it"),
        (lambda path: path.write_bytes(b"\xff\xfe{}"), "expected UTF-8 text"),
    ],
)
async def test_a_file_that_cannot_be_read_is_named(make: Callable[[Path], object], says: str, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    make(path)
    async with opened(tmp_path) as memory:
        with pytest.raises(InvalidInput, match=f"^{path}: {says}"):
            await memory.restore(path)


# -- the work that is due ----------------------------------------------------------------------------------------------


async def test_what_is_due_is_planned(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, there):
        await say(conversation(here), 40)
        await there.restore(here.export())
        assert await live(there) == await live(here) == [(JobKind.SUMMARISE, None, False)]


async def test_a_stale_version_is_made_anew(tmp_path: Path) -> None:
    clock = FakeClock()
    async with two(tmp_path, clock) as (here, there):
        chat, twin = conversation(here), conversation(there)
        await say(chat, 40)
        await here.work()
        await chat.edit(7, "#7# word7 and more")
        await there.restore(here.export())
        found = await served(twin)
        assert found is not None
        assert found.status is SummaryStatus.STALE
        assert await live(there) == await live(here) == [(JobKind.REBUILD, 7, False)]
        await settle(there, clock)
        found = await served(twin)
        assert found is not None
        assert found.status is SummaryStatus.COMPLETED


async def test_a_rebuild_under_way_goes_on_where_it_was(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedChat(by_turns)
    async with two(tmp_path, clock, chat=model, **BUSY) as (here, there):
        chat, twin = conversation(here), conversation(there)
        for start in range(0, 40, 8):
            await say(chat, 8, start=start)
            await here.work()
        await chat.rebuild(from_seq=13)
        for _ in range(2):
            await here._services.worker.step()
        lines = await exported(here)
        assert [s["status"] for s in of_kind(lines, "summary")].count("building") == 2
        await there.restore(lines)
        (job,) = await live(there)
        assert job[0] is JobKind.REBUILD
        asked = len(model.prompts)
        await settle(here, clock)
        needed = len(model.prompts) - asked
        await settle(there, clock)
        assert len(model.prompts) - asked == 2 * needed, "it began anew"
        assert [s.status for s in await twin.summaries(limit=100)] == [
            s.status for s in await chat.summaries(limit=100)
        ]
        assert broken(there) == []


@pytest.mark.parametrize("with_model", [True, False])
async def test_what_no_model_wrote_waits_for_one(tmp_path: Path, *, with_model: bool) -> None:
    clock = FakeClock()

    def down(*_: object) -> str:
        raise ModelUnavailable("the model is down")

    model = ScriptedChat(down)
    async with two(tmp_path, clock, chat=model if with_model else None, **BUSY) as (here, there):
        await say(conversation(here), 12)
        await here.work()
        found = await served(conversation(here))
        assert found is not None
        assert found.method is (Method.DIGEST if with_model else Method.EXTRACTIVE)
        await there.restore(here.export())
        assert await live(there) == await live(here)
        assert (JobKind.REBUILD, 0, True) in await live(there)
