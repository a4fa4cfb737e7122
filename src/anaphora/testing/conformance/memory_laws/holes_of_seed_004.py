"""Table 4.x of the invariants: each hole of the rolling summary, and the test that shows it closed.

4.1  "close enough" counts leave messages out   test_no_message_lies_between_summary_and_window
4.2  a capped history is never refreshed        test_the_summary_goes_on_however_long_the_conversation
4.3  an excuse becomes the summary              test_an_answer_that_is_no_summary_is_never_stored
4.4  a reset is undone by a late summary        test_a_reset_during_the_model_call_stays_a_reset
4.5  the last writer wins                       test_a_slower_older_summary_does_not_replace_a_newer_one
4.6  keyed by user only                         test_two_agents_of_one_user_share_nothing
4.7  a cache in each process                    test_a_reset_is_seen_by_every_process_at_once
4.8  everything is summarised again each time   test_the_summary_goes_on_however_long_the_conversation
4.9  the window is counted in pairs             holes_of_seed_000: odd histories
4.10 ordered by the wall clock                  test_a_clock_that_is_set_back_reorders_nothing
4.11 summary in the system prompt               holes_of_seed_000: the memory block
4.12 without a user the whole history is sent   test_a_context_without_any_option_is_within_the_default_budget
4.13 two requests in flight                     test_two_sends_at_once_leave_two_whole_turns
4.14 "can regenerate anytime"                   test_a_rebuild_makes_the_same_chain_from_the_log
"""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from anaphora.domain.jobs import JobState
from anaphora.domain.summaries import Method, SummaryStatus
from anaphora.testing.clock import FakeClock
from anaphora.testing.conformance.memory_laws.base import MemoryLaws
from anaphora.testing.conformance.memory_laws.conversations import (
    LONG,
    block,
    brief,
    check_account,
    check_spoken_for,
    conversation,
    entries,
    say,
    served,
    settle,
    text,
)
from anaphora.testing.scripted import ScriptedChat

BAD_ANSWERS = {
    "nothing": "",
    "blanks": "  \n ",
    "an excuse": "Previous conversation: 23 messages about various topics.",
    "no points": '{"points": [], "merged": null}',
    "an empty point": '{"points": [{"text": " ", "first": 0, "last": 1}], "merged": null}',
    "a refusal": '{"points": [{"text": "I cannot help with that.", "first": 0, "last": 1}], "merged": null}',
    "a refusal among others": '{"points": [{"text": "Tea", "first": 0, "last": 0}, '
    '{"text": "As an AI language model, I cannot do that.", "first": 1, "last": 1}], "merged": null}',
    "half of it": '{"points": [{"text": "User likes tea", "fir',
    "other keys": '{"summary": "User likes tea"}',
    "words for numbers": '{"points": [{"text": "Tea", "first": "0", "last": "1"}], "merged": null}',
    "messages that are not there": '{"points": [{"text": "Tea", "first": 0, "last": 99}], "merged": null}',
    "messages backwards": '{"points": [{"text": "Tea", "first": 1, "last": 0}], "merged": null}',
    "an echo": '{"points": [{"text": "You keep the memory of a conversation", "first": 0, "last": 1}], "merged": null}',
    "a megabyte": json.dumps({"points": [{"text": "x" * (1 << 20), "first": 0, "last": 1}], "merged": None}),
}


class HolesOfSeed004(MemoryLaws):
    """The holes of the rolling summary, closed."""

    @pytest.mark.parametrize("lag", [1, 3, 7])
    async def test_no_message_lies_between_summary_and_window(self, tmp_path: Path, lag: int) -> None:
        """Hole 4.1: 100 turns; the worker looks only every `lag` turns."""
        async with self.opened(tmp_path, chat=ScriptedChat(brief)) as memory:
            session = conversation(memory)
            for turn in range(100):
                context = await session.context("and now?", budget=100_000)
                check_account(context, 2 * turn)
                check_spoken_for(context)
                assert context.coverage.elided == ()
                await say(session, 2, start=2 * turn)
                if turn % lag == 0:
                    await memory.work()

    async def test_the_summary_goes_on_however_long_the_conversation(self, tmp_path: Path) -> None:
        """Holes 4.2 and 4.8: a call for every eight messages, as large at the end as at the start."""
        chat = ScriptedChat()
        async with self.opened(tmp_path, chat=chat) as memory:
            session = conversation(memory)
            for turn in range(200):
                await say(session, 2, start=2 * turn)
                await memory.work()
            newest = await served(session)
            assert newest is not None
            assert newest.range.stop >= 400 - 8 - 8
            assert len(chat.prompts) == 1 + (400 - 8 - 2) // 8
            sizes = [len(prompt[-1].content) for prompt in chat.prompts]
            assert max(sizes[25:]) <= 1.1 * max(sizes[5:25])
            assert [entry["n"] for prompt in chat.prompts for entry in entries(prompt)] == list(
                range(newest.range.stop)
            )

    @pytest.mark.parametrize("answer", BAD_ANSWERS)
    async def test_an_answer_that_is_no_summary_is_never_stored(self, tmp_path: Path, answer: str) -> None:
        """Hole 4.3, I20: it is asked again, then there is a digest that says what it is, and is made anew later."""
        clock, chat = FakeClock(), ScriptedChat(lambda *_: BAD_ANSWERS[answer])
        async with self.opened(tmp_path, chat=chat, clock=clock) as memory:
            session = conversation(memory)
            await say(session, 12)
            for attempt in range(1, 5):
                assert await memory.work() == 1
                assert len(await session.summaries()) == 0
                (job,) = await memory.jobs.list()
                assert (job.state, job.attempt) == (JobState.QUEUED, attempt)
                assert job.reason is not None
                assert job.reason.startswith("the model's answer was not usable")
                context = await session.context()
                assert context.coverage.verbatim
                check_account(context, 12)
                await clock.advance(LONG)
            assert await memory.work() >= 1
            made = await session.summaries()
            assert {summary.method for summary in made} == {Method.DIGEST}
            context = await session.context()
            check_account(context, 12)
            assert context.degraded == ("model",)
            assert "cannot" not in block(context)
            assert "xxxx" not in block(context)

            chat.script = ScriptedChat().script
            await settle(memory, clock)
            again = await served(session)
            assert again is not None
            assert again.method is Method.MODEL
            assert (await session.context()).degraded == ()

    async def test_a_reset_during_the_model_call_stays_a_reset(self, tmp_path: Path) -> None:
        """Hole 4.4, I5: the late summary is not stored, and the model is not asked again about what is gone."""
        chat = ScriptedChat()
        async with self.opened(tmp_path, chat=chat) as memory:
            session = conversation(memory)
            receipts = await say(session, 12)

            async def reset() -> None:
                assert await session.reset() == 12

            chat.pause = reset
            await memory.work()
            assert len(await session.summaries()) == 0
            assert len(await session.messages()) == 0
            assert await memory.jobs.live() == 0
            assert {await memory.receipt(receipt.id) for receipt in receipts} == {"erased"}
            assert len(await memory.search("word3", user="u", agent="a")) == 0

            chat.pause = ScriptedChat().pause
            asked = len(chat.prompts)
            await say(session, 12)
            await memory.work()
            (only,) = await session.summaries()
            assert (only.version, only.base_id) == (1, None)
            assert len(chat.prompts) == asked + 1
            check_account(await session.context(), 12)

    async def test_a_slower_older_summary_does_not_replace_a_newer_one(self, tmp_path: Path) -> None:
        """Holes 4.5 and 0.4: a worker pauses beyond its lease in the call; another one does the work and more."""
        sleeper, clock = ScriptedChat(), FakeClock()
        async with (
            self.opened(tmp_path, chat=sleeper, clock=FakeClock()) as slow,
            self.opened(tmp_path, chat=ScriptedChat(name="quick"), clock=clock) as quick,
        ):
            session = conversation(quick)
            await say(session, 12)
            await clock.advance(LONG)

            async def overtaken() -> None:
                sleeper.pause = ScriptedChat().pause
                assert await quick.work() == 1
                await say(session, 12, start=12)
                assert await quick.work() == 1

            sleeper.pause = overtaken
            before = await slow.work()
            made = await session.summaries()
            assert before == 1, "the sleeper ended its step without a result"
            assert {summary.model for summary in made} == {"quick"}
            newest = await served(session)
            assert newest is not None
            assert newest.range.stop == 16
            assert newest.id == made[0].id
            check_account(await session.context(), 24)

    async def test_two_agents_of_one_user_share_nothing(self, tmp_path: Path) -> None:
        """Hole 4.6: the same user, the same session name."""
        async with self.opened(tmp_path, chat=ScriptedChat()) as memory:
            waiter, doctor = (conversation(memory, agent=agent) for agent in ("waiter", "doctor"))
            await say(waiter, 12)
            await memory.work()
            context = await doctor.context("What did I say?")
            assert context.coverage.head == 0
            assert [m.content for m in context.messages] == ["What did I say?"]
            assert len(await memory.search("word3", user="u", agent="doctor")) == 0
            assert len(await memory.search("word3", user="u", agent="waiter")) == 1
            assert await doctor.reset() == 0
            check_account(await waiter.context(), 12)

    async def test_a_reset_is_seen_by_every_process_at_once(self, tmp_path: Path) -> None:
        """Hole 4.7: nothing about a session is kept in a process."""
        async with self.opened(tmp_path, chat=ScriptedChat()) as one, self.opened(tmp_path) as two:
            mine, theirs = conversation(one), conversation(two)
            await say(mine, 12)
            await one.work()
            assert block(await theirs.context())
            await mine.reset()
            context = await theirs.context()
            assert (context.messages, context.coverage.head, context.tokens) == ((), 0, 0)
            receipt = await theirs.add("user", "hello again")
            assert receipt.seq == 0
            check = await mine.context()
            assert [m.content for m in check.messages] == ["hello again"]

    async def test_a_clock_that_is_set_back_reorders_nothing(self, tmp_path: Path) -> None:
        """Hole 4.10, I2: the wall clock orders nothing, and a lease or pause from the future holds nobody up."""
        clock, chat = FakeClock(), ScriptedChat()
        async with self.opened(tmp_path, chat=chat, clock=clock) as memory:
            session = conversation(memory)
            for seq in range(30):
                clock.jump(-3600)
                await say(session, 1, start=seq)
                await memory.work()
            assert [m.content for m in await session.messages()] == [text(seq) for seq in range(30)]
            context = await session.context()
            check_account(context, 30)
            check_spoken_for(context)
            newest = await served(session)
            assert newest is not None
            assert newest.range.stop >= 30 - 8 - 8

    async def test_a_context_without_any_option_is_within_the_default_budget(self, tmp_path: Path) -> None:
        """Hole 4.12, I10: nobody can forget to ask for one."""
        async with self.opened(tmp_path, context_budget=300) as memory:
            session = conversation(memory)
            for seq in range(20):
                await session.add("user", f"#{seq}# " + "very long " * 100)
            context = await session.context("and?")
            assert context.tokens <= 300 < context.tokens_full_history
            check_account(context, 20)

    async def test_two_sends_at_once_leave_two_whole_turns(self, tmp_path: Path) -> None:
        """Hole 4.13: two requests in flight neither mix their turns nor answer each other's question."""
        chat = ScriptedChat()
        async with self.opened(tmp_path, chat=chat) as memory:
            session = conversation(memory)
            async with anyio.create_task_group() as group:
                for n in range(2):
                    group.start_soon(session.send, f"question {n}")
            log = await session.messages()
            assert [m.role for m in log] == ["user", "assistant"] * 2
            assert [m.turn for m in log] == [0, 0, 2, 2]
            for question, answer in zip(log[::2], log[1::2], strict=True):
                assert question.content in answer.content

    @pytest.mark.parametrize("from_seq", [0, 9])
    async def test_a_rebuild_makes_the_same_chain_from_the_log(self, tmp_path: Path, from_seq: int) -> None:
        """Hole 4.14, I18: the same coverage, the old version served until the new one is there."""
        clock, chat = FakeClock(), ScriptedChat()
        async with self.opened(tmp_path, chat=chat, clock=clock) as memory:
            session = conversation(memory)
            await say(session, 40)
            await settle(memory, clock)
            before = await session.context()
            old = await served(session)
            assert old is not None
            seen: list[object] = []

            async def look() -> None:
                context = await session.context()
                check_account(context, 40)
                seen.append(context.coverage.summary_id)

            chat.pause = look
            assert await session.rebuild(from_seq=from_seq)
            assert not await session.rebuild(from_seq=from_seq), "one at a time"
            await settle(memory, clock)
            assert set(seen) == {old.id}, "the old version is read until the new one is complete"
            new = await served(session)
            assert new is not None
            assert new.id != old.id
            assert new.range == old.range
            after = await session.context()
            assert after.coverage.counts() == before.coverage.counts()
            check_spoken_for(after)
            gone = [s for s in await session.summaries() if s.status is SummaryStatus.SUPERSEDED]
            assert old.id in {summary.id for summary in gone}
