"""Edits are versions, deletions are tombstones; what was made of them is served until it is made anew (0.6, 0.21)."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.memory.harness import block, brief, conversation, opened, say, served, settle, spans, text

from anaphora.domain.context import Context
from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.messages import NewMessage, ReceiptState, Role
from anaphora.domain.summaries import SummaryStatus
from anaphora.errors import InvalidInput, NotFound
from anaphora.memory import Memory, Session
from anaphora.services.importing.run import IntoLog, import_conversations
from anaphora.services.importing.values import ImportedConversation
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat
from anaphora.testing.summaries import canaries

pytestmark = pytest.mark.anyio


def check_account(context: Context, head: int, deleted: set[int]) -> None:
    """I1: each message in exactly one part, and nothing that was deleted in the prompt."""
    parts = context.coverage
    seen = Counter(chain.from_iterable(chain(parts.summarised, parts.verbatim, parts.elided, parts.deleted)))
    assert seen == Counter(range(head)), "I1"
    assert set(chain.from_iterable(parts.deleted)) == deleted
    assert not deleted & {m.seq for m in context.messages if m.seq is not None}


async def live(memory: Memory) -> list[tuple[JobKind, int | None]]:
    jobs = await memory.jobs.list(states=[JobState.QUEUED, JobState.RUNNING])
    return sorted((job.kind, job.from_seq) for job in jobs)


async def status(session: Session) -> SummaryStatus | None:
    found = await served(session)
    return found.status if found else None


async def test_an_edit_is_a_new_version_and_the_old_one_is_kept(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as memory:
        chat = conversation(memory)
        await chat.add("user", "I live in Paris", name="Ann", metadata={"a": 1}, created_at=clock.now())
        await clock.advance(60)
        edited = await chat.edit(0, "I live in Berlin")
        assert (edited.version, edited.content, edited.name, edited.metadata) == (
            2,
            "I live in Berlin",
            "Ann",
            {"a": 1},
        )
        assert edited.changed_at == clock.now()
        (now,) = await chat.messages()
        assert now == edited
        first, second = await chat.versions(0)
        assert (first.version, first.content, first.changed_at) == (1, "I live in Paris", None)
        assert second == edited
        assert first.id == second.id
        assert first.created_at == second.created_at
        assert "Berlin" in (await chat.context()).messages[-1].content
        row = (await memory.sessions())[0]
        assert row.tokens == edited.tokens


async def test_an_edit_to_what_it_says_already_makes_no_version(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = conversation(memory)
        await say(chat, 1)
        assert (await chat.edit(0, text(0))).version == 1
        assert (await chat.edit(0, metadata={})).version == 1
        assert len(await chat.versions(0)) == 1


async def test_search_finds_the_new_words_and_not_the_old_ones(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = conversation(memory)
        for said in ("the red house", "the red horse", "猫は好きですか", "?!"):
            await chat.add("user", said)

        async def found(query: str) -> list[int]:
            return sorted(hit.message.seq for hit in await memory.search(query, user="u"))

        assert await found("red") == [0, 1]
        await chat.edit(0, "the blue house")
        assert await found("red") == [1]
        assert await found("blue") == [0]
        assert await found("猫は好き") == [2]
        await chat.edit(2, "犬は好きですか")
        assert await found("猫は好き") == []
        assert await found("犬は好き") == [2]
        await chat.edit(3, "now with words")
        assert await found("words") == [3]
        await chat.delete(0)
        assert await found("blue") == []
        await chat.delete(2)
        assert await found("犬は好き") == []
        assert await found("horse") == [1]


async def test_a_long_message_is_found_in_the_index_by_its_beginning(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = conversation(memory)
        long = [" ".join(f"w{at}x{n}" for n in range(500)) for at in range(3)]
        for said in [*long, "x" * 5000, long[0]]:
            await chat.add("user", said)
        for seq in range(5):
            await chat.edit(seq, f"short{seq} now")
        assert not await memory.search("w0x7 w1x7 w2x7", user="u")
        assert [h.message.seq for h in await memory.search("short4", user="u")] == [4]


async def test_a_deleted_message_is_in_no_prompt_no_list_and_no_search_and_keeps_its_number(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = conversation(memory)
        await say(chat, 6)
        receipt = await chat.add("user", text(6), key="k")
        assert await chat.delete(6) is True
        assert await chat.delete(6) is False
        context = await chat.context()
        check_account(context, 7, {6})
        assert context.coverage.counts() == {"summarised": 0, "verbatim": 6, "elided": 0, "deleted": 1}
        assert "word6" not in str(context.to_openai())
        assert [m.seq for m in await chat.messages()] == [0, 1, 2, 3, 4, 5]
        assert [m.seq for m in await chat.messages(start=5)] == [5]
        assert not await memory.search("word6", user="u")
        assert (await chat.add("user", text(7))).seq == 7
        assert (await chat.add("user", text(6), key="k")).repeated
        assert await memory.receipt(receipt.id) is ReceiptState.DELETED
        *_, gone = await chat.versions(6)
        assert (gone.deleted, gone.content, gone.tokens, gone.version) == (True, "", 0, 2)


async def test_what_is_not_there_or_deleted_cannot_be_changed(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = conversation(memory)
        with pytest.raises(NotFound, match="no message 0"):
            await chat.edit(0, "x")
        await say(chat, 1)
        for change in (chat.edit(1, "x"), chat.delete(1), chat.delete(-1), chat.versions(1)):
            with pytest.raises(NotFound):
                await change
        for bad in ("", "  ", "\x00", "\ud800", "x" * (1 << 21)):
            with pytest.raises(InvalidInput):
                await chat.edit(0, bad)
        assert [m.content for m in await chat.messages()] == [text(0)]
        await chat.delete(0)
        with pytest.raises(InvalidInput, match="was deleted"):
            await chat.edit(0, "back")


async def test_what_covers_an_edited_message_is_stale_still_served_and_made_anew(tmp_path: Path) -> None:
    """0.21: the summary never states for good what was never said; never is there a hole (I1)."""
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock) as memory:
        chat = conversation(memory)
        await say(chat, 24)
        await settle(memory, clock)
        before = await chat.context(budget=100_000)
        assert await status(chat) is SummaryStatus.COMPLETED
        await chat.edit(5, "#5# corrected is what was said")
        assert await status(chat) is SummaryStatus.STALE
        stale = await chat.context(budget=100_000)
        assert stale.degraded == ("stale",)
        assert stale.coverage.summarised == before.coverage.summarised
        assert block(stale) == block(before)
        assert await live(memory) == [(JobKind.REBUILD, 5)]
        await settle(memory, clock)
        after = await chat.context(budget=100_000)
        assert await status(chat) is SummaryStatus.COMPLETED
        assert after.degraded == ()
        assert after.coverage.summarised == before.coverage.summarised
        assert "word5" not in block(after)
        assert "corrected" in block(after)


async def test_what_covers_a_deleted_message_is_made_anew_from_what_remains(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock) as memory:
        chat = conversation(memory)
        await say(chat, 24)
        await settle(memory, clock)
        asked = len(model.prompts)
        for seq in (2, 3, 9):
            await chat.delete(seq)
            check_account(await chat.context(budget=100_000), 24, {s for s in (2, 3, 9) if s <= seq})
        await settle(memory, clock)
        context = await chat.context(budget=100_000)
        check_account(context, 24, {2, 3, 9})
        said = set(chain.from_iterable(context.coverage.summarised))
        assert {0, 1, 4, 8, 10} <= said
        assert not {2, 3, 9} & canaries(block(context))
        for prompt in model.prompts[asked:]:
            assert not any(f"word{seq} " in prompt[-1].content for seq in (2, 3, 9))
        assert await status(chat) is SummaryStatus.COMPLETED


async def test_a_summary_of_which_nothing_is_left_is_served_no_more(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedChat(script=brief)
    async with opened(tmp_path, chat=model, clock=clock) as memory:
        chat = conversation(memory)
        await say(chat, 12)
        await settle(memory, clock)
        covered = (await chat.context()).coverage.summarised
        assert covered == spans((0, 4))
        for seq in range(4):
            await chat.delete(seq)
        assert block(await chat.context()) == "", "points of which everything was deleted are not shown"
        await settle(memory, clock)
        context = await chat.context()
        assert context.coverage.summary_id is None
        assert (context.coverage.deleted, context.coverage.verbatim) == (spans((0, 4)), spans((4, 12)))
        await say(chat, 12, start=12)
        await settle(memory, clock)
        check_account(await chat.context(budget=100_000), 24, {0, 1, 2, 3})
        assert not {0, 1, 2, 3} & canaries(block(await chat.context(budget=100_000)))


@pytest.mark.parametrize("strategy", ["rolling_pairs", "sliding_window"])
async def test_everything_may_be_deleted_and_the_conversation_goes_on(strategy: str, tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedChat(script=brief)
    async with opened(tmp_path, chat=model, clock=clock, strategy=strategy) as memory:
        chat = conversation(memory)
        await say(chat, 60)
        await settle(memory, clock)
        for seq in range(60):
            await chat.delete(seq)
        await settle(memory, clock)
        context = await chat.context()
        assert [m.section for m in context.messages] == []
        check_account(context, 60, set(range(60)))
        await say(chat, 40, start=60)
        await settle(memory, clock)
        check_account(await chat.context(budget=100_000), 100, set(range(60)))
        assert (await chat.context()).coverage.summary_id is not None


async def test_a_result_that_was_made_of_the_old_text_is_refused(tmp_path: Path) -> None:
    """I5: the message is edited while the model is asked."""
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock) as memory:
        chat = conversation(memory)
        await say(chat, 24)
        edits: list[Any] = []

        async def meanwhile() -> None:
            model.pause = anyio.lowlevel.checkpoint
            edits.append(await chat.edit(1, "#1# corrected is what was said"))

        model.pause = meanwhile
        await memory.work()
        assert edits
        assert all("word1 " not in point.text for s in await chat.summaries() for point in s.points)
        await settle(memory, clock)
        assert "corrected" in block(await chat.context(budget=100_000))


async def test_edits_during_a_rebuild_begin_it_again_from_the_earliest(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock, worker={"batch_messages": 4}) as memory:
        chat = conversation(memory)
        await say(chat, 60)
        await settle(memory, clock)
        await chat.rebuild(from_seq=20)
        for _ in range(2):
            await memory._services.worker.step()
        await chat.edit(9, "#9# corrected is what was said")
        await chat.edit(30, "#30# mended is what was said")
        assert await live(memory) == [(JobKind.REBUILD, 9)]
        await settle(memory, clock)
        said = block(await chat.context(budget=100_000))
        assert "word9 " not in said
        assert "word30 " not in said
        assert await status(chat) is SummaryStatus.COMPLETED


async def test_a_digest_that_waits_for_a_model_is_made_again_without_waiting_after_an_edit(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as memory:
        chat = conversation(memory)
        for seq in range(24):
            await chat.add(
                "user" if seq % 2 == 0 else "assistant", f"My friend number{seq} lives in Lisbon since 19{seq:02}."
            )
        await memory.work()
        assert await status(chat) is SummaryStatus.COMPLETED
        await chat.edit(0, "My friend Zoe lives in Oslo since 1999.")
        assert await status(chat) is SummaryStatus.STALE
        await memory.work()
        assert await status(chat) is SummaryStatus.COMPLETED
        assert all("number0 " not in point.text for point in (await served(chat)).points)  # type: ignore[union-attr]


async def test_a_stale_summary_whose_rebuild_fails_is_served_and_tried_again_later(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock) as memory:
        chat = conversation(memory)
        await say(chat, 24)
        await settle(memory, clock)
        honest, model.script = model.script, lambda *_: ""
        await chat.edit(0, "#0# corrected is what was said")
        for _ in range(12):
            await memory.work()
            await clock.advance(400)
        assert JobState.FAILED in {job.state for job in await memory.jobs.list()}
        assert await status(chat) is SummaryStatus.STALE
        assert await live(memory) == [(JobKind.REBUILD, 0)]
        model.script = honest
        await clock.advance(90_000)
        await settle(memory, clock)
        assert await status(chat) is SummaryStatus.COMPLETED


async def test_what_carries_a_stale_version_on_is_stale(tmp_path: Path) -> None:
    """A summary that grows before the rebuild had its turn does not hide what is wrong with it."""
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock) as memory:
        chat = conversation(memory)
        await say(chat, 24)
        await settle(memory, clock)
        await say(chat, 24, start=24)
        await chat.edit(0, "#0# corrected is what was said")
        worker = memory._services.worker
        while (job := await worker.claim()) is not None and job.kind is JobKind.REBUILD:
            await memory._services.store.write(
                lambda unit, job=job: unit.jobs.withdraw(job.tenant, job.id, now=clock.now())  # type: ignore[misc]
            )
        assert job is not None
        await worker.do(job)
        assert await status(chat) is SummaryStatus.STALE
        assert (JobKind.REBUILD, 0) in await live(memory)
        await settle(memory, clock)
        assert await status(chat) is SummaryStatus.COMPLETED
        assert "word0 " not in block(await chat.context(budget=100_000))


async def test_an_answer_can_be_deleted_and_given_again(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(script=lambda *_: "Hello."), clock=FakeClock()) as memory:
        chat = conversation(memory)
        await chat.send("Hi")
        await chat.delete(1)
        again = await chat.send(None)
        assert again.receipt.seq == 2
        assert [m.content for m in await chat.messages()] == ["Hi", "Hello. "]


async def test_a_tool_result_whose_call_was_deleted_is_shown_as_data(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = conversation(memory)
        call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}
        result = {"type": "tool_result", "id": "c1", "content": "sunny"}
        await chat.add_turn(
            [
                {"role": "user", "content": "weather?"},
                {"role": "assistant", "content": None, "parts": [call]},
                {"role": "tool", "content": "sunny", "parts": [result]},
            ]
        )
        await chat.delete(1)
        sent = (await chat.context()).to_openai()
        assert not [m for m in sent if m["role"] == "tool" or "tool_calls" in m]
        assert "sunny" in str(sent)


async def test_importing_again_brings_no_deleted_message_back(tmp_path: Path) -> None:
    item = ImportedConversation(
        user="u",
        session="s",
        started_at=None,
        messages=tuple(NewMessage(role=Role.USER, content=text(seq)) for seq in range(4)),
        turns="single",
        where="",
        file="f",
        source="import:openai",
    )
    async with opened(tmp_path) as memory:
        log = IntoLog(memory._services.ingest)

        async def bring() -> int:
            report = await import_conversations(log, [item], default_user=None, agent="a", tenant="t")
            return report.messages

        assert await bring() == 4
        chat = conversation(memory)
        await chat.delete(3)
        await chat.edit(0, "other", metadata={"mine": 1})
        assert await bring() == 0
        assert [m.seq for m in await chat.messages()] == [0, 1, 2]


async def test_a_reset_takes_the_old_versions_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = conversation(memory)
        await chat.add("user", "the purple secret")
        await chat.edit(0, "nothing")
        await chat.add("user", "the orange secret")
        await chat.delete(1)
        await chat.reset()
        assert (await chat.context()).coverage.deleted == ()
    for path in tmp_path.iterdir():
        assert b"purple" not in path.read_bytes()
        assert b"orange" not in path.read_bytes()
