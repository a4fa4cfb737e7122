"""Edits are versions, deletions are tombstones, and what was made of them is served until it is made anew."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from itertools import chain
from pathlib import Path

import anyio.lowlevel
import pytest

from anaphora.domain.context import Context
from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.messages import Message, ReceiptState
from anaphora.domain.summaries import SummaryStatus
from anaphora.errors import InvalidInput, NotFound
from anaphora.memory import Memory, Session
from anaphora.testing.clock import FakeClock
from anaphora.testing.conformance.memory_laws.base import MemoryLaws
from anaphora.testing.conformance.memory_laws.conversations import (
    block,
    brief,
    check_account,
    conversation,
    down,
    say,
    served,
    settle,
    spans,
    text,
)
from anaphora.testing.scripted import ScriptedChat
from anaphora.testing.summaries import canaries

#: enough for everything that these laws say
PLENTY = 100_000


def check_gone(context: Context, head: int, deleted: AbstractSet[int]) -> None:
    """I1 where some are deleted: each message in exactly one part, and none of the deleted in the prompt."""
    check_account(context, head)
    assert set(chain.from_iterable(context.coverage.deleted)) == deleted
    assert not deleted & {message.seq for message in context.messages if message.seq is not None}


async def rebuilds(memory: Memory) -> list[int | None]:
    """Where the live rebuilds begin."""
    live = await memory.jobs.list(states=[JobState.QUEUED, JobState.RUNNING])
    return [job.from_seq for job in live if job.kind is JobKind.REBUILD]


async def status(session: Session) -> SummaryStatus | None:
    """What the served version is."""
    found = await served(session)
    return found.status if found else None


async def found(memory: Memory, query: str) -> list[int]:
    """The numbers of the messages that a search finds."""
    return sorted(hit.message.seq for hit in await memory.search(query, user="u"))


class CorrectionLaws(MemoryLaws):
    """Editing and deleting messages."""

    async def test_an_edit_is_a_new_version_and_the_old_one_is_kept(self, tmp_path: Path) -> None:
        """What is not given stays as it was; number, id, role and time stay anyway."""
        clock = FakeClock()
        async with self.opened(tmp_path, clock=clock) as memory:
            chat = conversation(memory)
            await chat.add("user", "I live in Paris", name="Ann", metadata={"a": 1}, created_at=clock.now())
            await clock.advance(60)
            edited = await chat.edit(0, "I live in Berlin")
            assert (edited.version, edited.content, edited.name) == (2, "I live in Berlin", "Ann")
            assert edited.metadata == {"a": 1}
            assert edited.changed_at == clock.now()
            assert list(await chat.messages()) == [edited]
            first, second = await chat.versions(0)
            assert (first.version, first.content, first.changed_at) == (1, "I live in Paris", None)
            assert second == edited
            assert (first.id, first.created_at) == (second.id, second.created_at)
            assert "Berlin" in (await chat.context()).messages[-1].content
            assert [row.tokens for row in await memory.sessions()] == [edited.tokens]

    async def test_an_edit_to_what_it_says_already_makes_no_version(self, tmp_path: Path) -> None:
        """A retried edit is harmless."""
        async with self.opened(tmp_path) as memory:
            chat = conversation(memory)
            await say(chat, 1)
            assert (await chat.edit(0, text(0))).version == 1
            assert (await chat.edit(0, metadata={})).version == 1
            assert len(await chat.versions(0)) == 1

    async def test_search_finds_the_new_words_and_not_the_old_ones(self, tmp_path: Path) -> None:
        """I12: in scripts with spaces and without; a message without words can get some."""
        async with self.opened(tmp_path) as memory:
            chat = conversation(memory)
            for said in ("the red house", "the red horse", "黒い猫がいる", "?!"):
                await chat.add("user", said)
            assert await found(memory, "red") == [0, 1]
            await chat.edit(0, "the blue house")
            assert await found(memory, "red") == [1]
            assert await found(memory, "blue") == [0]
            assert await found(memory, "黒い猫") == [2]
            await chat.edit(2, "犬は好きですか")
            assert await found(memory, "黒い猫") == []
            assert await found(memory, "犬は好き") == [2]
            await chat.edit(3, "now with words")
            assert await found(memory, "words") == [3]
            await chat.delete(0)
            assert await found(memory, "blue") == []
            await chat.delete(2)
            assert await found(memory, "犬は好き") == []
            assert await found(memory, "horse") == [1]

    async def test_a_deleted_message_is_in_no_prompt_no_list_and_no_search(self, tmp_path: Path) -> None:
        """I1: it keeps its number, is accounted for, and its receipt says what became of it."""
        async with self.opened(tmp_path) as memory:
            chat = conversation(memory)
            await say(chat, 6)
            receipt = await chat.add("user", text(6), key="k")
            assert await chat.delete(6) is True
            assert await chat.delete(6) is False
            context = await chat.context()
            check_gone(context, 7, {6})
            assert context.coverage.counts() == {"summarised": 0, "verbatim": 6, "elided": 0, "deleted": 1}
            assert "word6" not in str(context.to_openai())
            assert [m.seq for m in await chat.messages()] == [0, 1, 2, 3, 4, 5]
            assert [m.seq for m in await chat.messages(start=5)] == [5]
            assert await found(memory, "word6") == []
            assert (await chat.add("user", text(7))).seq == 7
            assert (await chat.add("user", text(6), key="k")).repeated
            assert await memory.receipt(receipt.id) is ReceiptState.DELETED
            *_, gone = await chat.versions(6)
            assert (gone.deleted, gone.content, gone.tokens, gone.version) == (True, "", 0, 2)

    async def test_what_is_not_there_or_cannot_be_stored_changes_nothing(self, tmp_path: Path) -> None:
        """Each refusal says which it is."""
        async with self.opened(tmp_path) as memory:
            chat = conversation(memory)
            with pytest.raises(NotFound):
                await chat.edit(0, "x")
            await say(chat, 1)
            with pytest.raises(NotFound):
                await chat.edit(1, "x")
            for seq in (1, -1):
                with pytest.raises(NotFound):
                    await chat.delete(seq)
            with pytest.raises(NotFound):
                await chat.versions(1)
            for bad in ("", "  ", "\x00", "\ud800", "x" * (1 << 21)):
                with pytest.raises(InvalidInput):
                    await chat.edit(0, bad)
            assert [m.content for m in await chat.messages()] == [text(0)]
            await chat.delete(0)
            with pytest.raises(InvalidInput):
                await chat.edit(0, "back")

    async def test_what_covers_an_edited_message_is_stale_still_served_and_made_anew(self, tmp_path: Path) -> None:
        """0.21, I1: a summary never states for good what was never said, and never is there a hole."""
        clock = FakeClock()
        async with self.opened(tmp_path, chat=ScriptedChat(), clock=clock) as memory:
            chat = conversation(memory)
            await say(chat, 24)
            await settle(memory, clock)
            before = await chat.context(budget=PLENTY)
            assert await status(chat) is SummaryStatus.COMPLETED
            await chat.edit(5, "#5# corrected is what was said")
            assert await status(chat) is SummaryStatus.STALE
            stale = await chat.context(budget=PLENTY)
            assert stale.degraded == ("stale",)
            assert stale.coverage.summarised == before.coverage.summarised
            assert block(stale) == block(before)
            assert await rebuilds(memory) == [5]
            await settle(memory, clock)
            after = await chat.context(budget=PLENTY)
            assert await status(chat) is SummaryStatus.COMPLETED
            assert after.degraded == ()
            assert after.coverage.summarised == before.coverage.summarised
            assert "word5" not in block(after)
            assert "corrected" in block(after)

    async def test_what_covers_a_deleted_message_is_made_anew_from_what_remains(self, tmp_path: Path) -> None:
        """No model is shown what was deleted, and no summary speaks of it any more."""
        clock, model = FakeClock(), ScriptedChat()
        async with self.opened(tmp_path, chat=model, clock=clock) as memory:
            chat = conversation(memory)
            await say(chat, 24)
            await settle(memory, clock)
            asked = len(model.prompts)
            for seq in (2, 3, 9):
                await chat.delete(seq)
                check_gone(await chat.context(budget=PLENTY), 24, {s for s in (2, 3, 9) if s <= seq})
            await settle(memory, clock)
            context = await chat.context(budget=PLENTY)
            check_gone(context, 24, {2, 3, 9})
            assert {0, 1, 4, 8, 10} <= set(chain.from_iterable(context.coverage.summarised))
            assert not {2, 3, 9} & canaries(block(context))
            assert len(model.prompts) > asked
            for prompt in model.prompts[asked:]:
                assert not any(f"word{seq} " in prompt[-1].content for seq in (2, 3, 9))
            assert await status(chat) is SummaryStatus.COMPLETED

    async def test_a_summary_of_which_nothing_is_left_is_served_no_more(self, tmp_path: Path) -> None:
        """Its points are not shown from the moment on; then there is none; then the conversation goes on."""
        clock = FakeClock()
        async with self.opened(tmp_path, chat=ScriptedChat(script=brief), clock=clock) as memory:
            chat = conversation(memory)
            await say(chat, 12)
            await settle(memory, clock)
            assert (await chat.context()).coverage.summarised == spans((0, 4))
            for seq in range(4):
                await chat.delete(seq)
            assert block(await chat.context()) == ""
            await settle(memory, clock)
            context = await chat.context()
            assert context.coverage.summary_id is None
            assert (context.coverage.deleted, context.coverage.verbatim) == (spans((0, 4)), spans((4, 12)))
            await say(chat, 12, start=12)
            await settle(memory, clock)
            after = await chat.context(budget=PLENTY)
            check_gone(after, 24, {0, 1, 2, 3})
            assert not {0, 1, 2, 3} & canaries(block(after))

    async def test_everything_may_be_deleted_and_the_conversation_goes_on(self, tmp_path: Path) -> None:
        """I9: with either strategy; background work comes to an end in between."""
        for strategy in ("rolling_pairs", "sliding_window"):
            clock, folder = FakeClock(), tmp_path / strategy
            folder.mkdir()
            model = ScriptedChat(script=brief)
            async with self.opened(folder, chat=model, clock=clock, strategy=strategy) as memory:
                chat = conversation(memory)
                await say(chat, 30)
                await settle(memory, clock)
                for seq in range(30):
                    await chat.delete(seq)
                await settle(memory, clock)
                context = await chat.context()
                assert context.messages == ()
                check_gone(context, 30, set(range(30)))
                await say(chat, 40, start=30)
                await settle(memory, clock)
                check_gone(await chat.context(budget=PLENTY), 70, set(range(30)))
                assert (await chat.context()).coverage.summary_id is not None

    async def test_a_result_that_was_made_of_the_old_text_is_refused(self, tmp_path: Path) -> None:
        """I5: the message is edited while the model is asked."""
        clock, model = FakeClock(), ScriptedChat()
        async with self.opened(tmp_path, chat=model, clock=clock) as memory:
            chat = conversation(memory)
            await say(chat, 24)
            edits: list[Message] = []

            async def meanwhile() -> None:
                model.pause = anyio.lowlevel.checkpoint
                edits.append(await chat.edit(1, "#1# corrected is what was said"))

            model.pause = meanwhile
            await memory.work()
            assert edits
            assert all("word1 " not in point.text for version in await chat.summaries() for point in version.points)
            await settle(memory, clock)
            assert "corrected" in block(await chat.context(budget=PLENTY))

    async def test_a_digest_that_waits_for_a_model_is_made_anew_at_once_after_an_edit(self, tmp_path: Path) -> None:
        """I17: without any model what is stale is made anew all the same."""
        async with self.opened(tmp_path, clock=FakeClock()) as memory:
            chat = conversation(memory)
            for seq in range(24):
                said = f"My friend number{seq} lives in Lisbon since 19{seq:02}."
                await chat.add("user" if seq % 2 == 0 else "assistant", said)
            await memory.work()
            assert await status(chat) is SummaryStatus.COMPLETED
            await chat.edit(0, "My friend Zoe lives in Oslo since 1999.")
            assert await status(chat) is SummaryStatus.STALE
            await memory.work()
            version = await served(chat)
            assert version is not None
            assert version.status is SummaryStatus.COMPLETED
            assert all("number0 " not in point.text for point in version.points)

    async def test_a_stale_summary_whose_rebuild_fails_is_served_and_tried_again_later(self, tmp_path: Path) -> None:
        """I9, I17: an outage does not leave it stale for ever."""
        clock, model = FakeClock(), ScriptedChat()
        async with self.opened(tmp_path, chat=model, clock=clock) as memory:
            chat = conversation(memory)
            await say(chat, 24)
            await settle(memory, clock)
            honest, model.script = model.script, down
            await chat.edit(0, "#0# corrected is what was said")
            for _ in range(12):
                await memory.work()
                await clock.advance(400)
            assert JobState.FAILED in {job.state for job in await memory.jobs.list()}
            assert await status(chat) is SummaryStatus.STALE
            assert await rebuilds(memory) == [0]
            model.script = honest
            await clock.advance(90_000)
            await settle(memory, clock)
            assert await status(chat) is SummaryStatus.COMPLETED

    async def test_an_answer_can_be_deleted_and_given_again(self, tmp_path: Path) -> None:
        """`send(None)` answers the last message that is there."""
        model = ScriptedChat(script=lambda *_: "Hello.")
        async with self.opened(tmp_path, chat=model, clock=FakeClock()) as memory:
            chat = conversation(memory)
            await chat.send("Hi")
            await chat.delete(1)
            again = await chat.send(None)
            assert again.receipt.seq == 2
            assert [m.content.strip() for m in await chat.messages()] == ["Hi", "Hello."]

    async def test_a_tool_result_whose_call_was_deleted_is_shown_as_data(self, tmp_path: Path) -> None:
        """A provider refuses a result without its call: what is left must still be a valid prompt."""
        async with self.opened(tmp_path) as memory:
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
            assert not [message for message in sent if message["role"] == "tool" or "tool_calls" in message]
            assert "sunny" in str(sent)
