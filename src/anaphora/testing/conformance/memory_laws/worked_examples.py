"""The examples that the seeds print, through the whole of Anaphora."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Receipt, ReceiptState
from anaphora.memory import Memory
from anaphora.testing.conformance.memory_laws.base import MemoryLaws
from anaphora.testing.conformance.memory_laws.conversations import (
    block,
    by_turns,
    check_account,
    check_spoken_for,
    conversation,
    say,
    spans,
)
from anaphora.testing.scripted import ScriptedChat
from anaphora.testing.summaries import canaries

#: seed 000, "Memory Table Evolution": messages appended before each tick, and the range of the version that it makes
EVOLUTION = [(6, (0, 6)), (4, (0, 10)), (4, (0, 14)), (2, (2, 16)), (4, (6, 20))]


async def _elided_but_found(memory: Memory, count: int) -> None:
    for seq in range(count):
        hits = await memory.search(f"word{seq}", user="u", agent="a", session="s")
        assert [hit.message.seq for hit in hits] == [seq], "what leaves the window must be found by search"


class WorkedExamples(MemoryLaws):
    """The examples that the seeds print, through the whole of a memory."""

    async def test_forty_short_messages_are_sent_as_a_summary_and_about_ten_of_them(self, tmp_path: Path) -> None:
        """Seed 004: "Sent 40 messages, but only ~10 used in context": the last 4 pairs verbatim, and nothing lost."""
        chat = ScriptedChat()
        async with self.opened(tmp_path, chat=chat) as memory:
            session = conversation(memory, instructions="You are helpful.")
            for i in range(20):
                await session.add("user", f"#{2 * i}# Question {i}")
                await session.add("assistant", f"#{2 * i + 1}# Answer {i}")
                await memory.work()
            context = await session.context("Question 20")
            check_account(context, 40)
            check_spoken_for(context)
            verbatim = sum(map(len, context.coverage.verbatim))
            assert 8 <= verbatim <= 8 + 8 - 1
            assert context.coverage.elided == ()
            assert [m.content for m in context.messages[-9:-1]] == [
                f"#{seq}# {'Answer' if seq % 2 else 'Question'} {seq // 2}" for seq in range(32, 40)
            ]
            assert context.messages[-1].content == "Question 20"
            assert len(chat.prompts) == 4, "one call for the first two messages, then one for every eight"

    async def test_the_version_chain_of_seed_000_comes_out_end_to_end(self, tmp_path: Path) -> None:
        """Seed 000, I3: the versions have the ranges that it prints; what leaves the window is declared and found."""
        async with self.opened(tmp_path, chat=ScriptedChat(by_turns), strategy="sliding_window") as memory:
            session = conversation(memory)
            receipts: list[Receipt] = []
            for count, _ in EVOLUTION:
                receipts += await say(session, count, start=len(receipts))
                assert await memory.work() == 1
            chain = list(reversed(await session.summaries()))
            assert [summary.range for summary in chain] == [SeqRange(*span) for _, span in EVOLUTION]
            assert [summary.version for summary in chain] == [1, 2, 3, 4, 5]
            assert [summary.base_id for summary in chain] == [None, *(base.id for base, _ in pairwise(chain))]

            context = await session.context()
            check_account(context, 20)
            check_spoken_for(context)
            assert context.coverage.elided == spans((0, 6))
            assert context.coverage.summarised == spans((6, 16))
            assert context.coverage.verbatim == spans((16, 20))
            assert canaries(block(context)) == set(range(6, 16)), "what stands verbatim is not said twice"
            await _elided_but_found(memory, 6)
            states = [await memory.receipt(receipt.id) for receipt in receipts]
            assert states == [ReceiptState.ELIDED] * 6 + [ReceiptState.SUMMARISED] * 14

    async def test_a_round_without_a_tick_is_read_by_the_next_one(self, tmp_path: Path) -> None:
        """Seed 000: round 4 ends while the first summary still runs; the next version reads rounds 4 and 5."""
        chat = ScriptedChat(by_turns)
        async with self.opened(tmp_path, chat=chat, strategy="sliding_window") as memory:
            session = conversation(memory)
            await say(session, 6)

            async def round_four() -> None:
                chat.pause = ScriptedChat().pause
                await say(session, 2, start=6)
                meanwhile = await session.context("round 5")
                assert meanwhile.coverage.verbatim == spans((0, 8)), "the seed's fallback: raw messages"

            chat.pause = round_four
            assert await memory.work() == 2, "the running job looked again"
            first, second = reversed(await session.summaries())
            assert (first.range, second.range) == spans((0, 6), (0, 8))
            assert second.base_id == first.id
            assert [message.content.count("#7#") for message in chat.prompts[1]] == [0, 1]
