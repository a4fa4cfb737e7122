"""I2, I7, I14: what is said is on disk once, in order and as it was said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import anyio
import pytest

from anaphora.domain.messages import Role, Trust
from anaphora.errors import InvalidInput, KeyReused
from anaphora.memory import Memory
from anaphora.testing.clock import FakeClock
from anaphora.testing.conformance.memory_laws.base import MemoryLaws
from anaphora.testing.conformance.memory_laws.conversations import (
    brief,
    check_account,
    conversation,
    spans,
    text,
)
from anaphora.testing.scripted import ScriptedChat

CALL: dict[str, Any] = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": "sky"}}
RESULT: dict[str, Any] = {"type": "tool_result", "id": "c1", "content": "blue"}
TURN: list[dict[str, Any]] = [
    {"role": "user", "content": "#0# What colour is the sky?"},
    {"role": "assistant", "content": None, "parts": [CALL]},
    {"role": "tool", "content": "#2# blue", "parts": [RESULT]},
    {"role": "assistant", "content": "#3# Blue."},
]
#: what makes another message of "hello", said by the user
OTHERWISE: tuple[dict[str, Any], ...] = (
    {"content": "hello!"},
    {"role": "assistant"},
    {"name": "Ann"},
    {"metadata": {"a": 1}},
    {"created_at": datetime(2020, 1, 1, tzinfo=UTC)},
    {"parts": [{"type": "image", "url": "x"}]},
)
#: what cannot be a message of a turn
FLAWS: tuple[Any, ...] = (
    {"role": "user", "content": "nul \x00"},
    {"role": "wizard", "content": "x"},
    {"role": "user"},
    {"content": "x"},
    {"role": "user", "content": "x", "seq": 3},
    {"role": "user", "content": "x" * ((1 << 20) + 1)},
    "user: hello",
)


class AppendLaws(MemoryLaws):
    """What an acknowledged message is."""

    async def test_a_retry_with_the_same_key_gives_the_same_receipt_and_writes_nothing(self, tmp_path: Path) -> None:
        """I14: the same message is the same however its times and mappings are written, also after a restart."""
        said: dict[str, Any] = {"metadata": {"b": 1, "a": 2}, "created_at": datetime(2020, 1, 1, 12, tzinfo=UTC)}
        elsewhere = datetime(2020, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))
        async with self.opened(tmp_path) as memory:
            session = conversation(memory)
            first = await session.add("user", "hello", key="k", **said)
            await session.add("assistant", "hi")
            again = await session.add("user", "hello", key="k", metadata={"a": 2, "b": 1}, created_at=elsewhere)
            assert (again.id, again.range, again.repeated) == (first.id, first.range, True)
            assert not first.repeated
            assert len(await session.messages()) == 2
        async with self.opened(tmp_path) as memory:
            assert (await conversation(memory).add("user", "hello", key="k", **said)).repeated

    async def test_retries_at_once_write_one_message(self, tmp_path: Path) -> None:
        """I14: twenty at once, through two memories on one database."""
        async with self.opened(tmp_path) as one, self.opened(tmp_path) as two:
            ids = []

            async def add(memory: Memory) -> None:
                ids.append((await conversation(memory).add("user", "hello", key="k")).id)

            async with anyio.create_task_group() as group:
                for n in range(20):
                    group.start_soon(add, (one, two)[n % 2])
            assert len(ids) == 20
            assert len(set(ids)) == 1
            assert len(await conversation(one).messages()) == 1

    async def test_a_key_that_comes_back_with_another_body_is_an_error(self, tmp_path: Path) -> None:
        """I14: another content, role, name, metadata, time or part is another message; nothing of it is written."""
        body: dict[str, Any] = {"role": "user", "content": "hello"}
        async with self.opened(tmp_path) as memory:
            session = conversation(memory)
            await session.add(**body, key="k")
            for count, other in enumerate(OTHERWISE, start=1):
                with pytest.raises(KeyReused, match="'k'"):
                    await session.add(**(body | other), key="k")
                assert len(await session.messages()) == count, other
                await session.add(**(body | other), key=f"k{count}")
                assert len(await session.messages()) == count + 1, other

    async def test_a_key_belongs_to_one_session_and_is_free_again_after_a_reset(self, tmp_path: Path) -> None:
        """I14, I12: nothing of a key is left when its session is erased."""
        async with self.opened(tmp_path) as memory:
            one, two = conversation(memory), conversation(memory, session="s2")
            await one.add("user", "hello", key="k")
            assert not (await two.add("user", "something else", key="k")).repeated
            await one.reset()
            assert not (await one.add("user", "new words", key="k")).repeated

    async def test_a_turn_is_written_whole_and_is_one_turn(self, tmp_path: Path) -> None:
        """I8, I15: question, call, result and answer have one receipt and one turn, and each its role and trust."""
        async with self.opened(tmp_path) as memory:
            session = conversation(memory)
            receipt = await session.add_turn(TURN, key="t")
            assert (receipt.range,) == spans((0, 4))
            assert (await session.add_turn(TURN, key="t")).repeated
            log = await session.messages()
            assert [m.turn for m in log] == [0] * 4
            assert [m.role for m in log] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
            assert [m.trust for m in log] == [Trust.OWNER_SAID, Trust.ASSISTANT, Trust.TOOL, Trust.ASSISTANT]
            assert [list(m.parts) for m in log] == [[], [CALL], [RESULT], []]
            (asked,) = [m for m in (await session.context()).to_openai() if m.get("tool_calls")]
            assert asked["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": "sky"}'}

    async def test_one_flaw_in_a_turn_and_nothing_of_it_is_written(self, tmp_path: Path) -> None:
        """I8: a turn is all there or not at all."""
        async with self.opened(tmp_path) as memory:
            session = conversation(memory)
            for flaw in FLAWS:
                with pytest.raises(InvalidInput):
                    await session.add_turn([*TURN, flaw])
                assert len(await memory.sessions()) == 0, flaw
            assert (await session.add_turn(TURN)).seq == 0

    async def test_a_turn_of_nothing_is_refused(self, tmp_path: Path) -> None:
        """A turn has 1 to 500 messages."""
        async with self.opened(tmp_path) as memory:
            with pytest.raises(InvalidInput, match="1 to 500"):
                await conversation(memory).add_turn([])

    @pytest.mark.parametrize("strategy", ["rolling_pairs", "sliding_window"])
    async def test_a_window_or_a_summary_never_splits_a_turn_of_tools(self, tmp_path: Path, strategy: str) -> None:
        """I1: a call and its result stand in the prompt together or not at all."""
        async with self.opened(tmp_path, chat=ScriptedChat(brief), strategy=strategy) as memory:
            session = conversation(memory)
            for start in range(0, 48, 4):
                turn = [{**m, "content": text(seq)} for seq, m in enumerate(TURN, start=start)]
                await session.add_turn(turn)
                await memory.work()
                context = await session.context()
                check_account(context, start + 4)
                assert {span.start % 4 for span in context.coverage.verbatim} == {0}
                assert {s.range.stop % 4 for s in await session.summaries()} <= {0}

    async def test_the_order_is_that_of_the_appends_whatever_the_times_say(self, tmp_path: Path) -> None:
        """I2: imports say things long ago and out of order."""
        times = [datetime(year, 5, 1, tzinfo=UTC) for year in (2021, 1999, 2031, 1999, 1970)]
        async with self.opened(tmp_path) as memory:
            session = conversation(memory)
            for n, when in enumerate(times):
                await session.add("user", f"#{n}#", created_at=when)
            log = await session.messages()
            assert [m.content for m in log] == [f"#{n}#" for n in range(5)]
            assert [m.created_at for m in log] == times

    async def test_without_a_time_it_was_said_now(self, tmp_path: Path) -> None:
        """The time is the memory's own."""
        clock = FakeClock()
        async with self.opened(tmp_path, clock=clock) as memory:
            session = conversation(memory)
            await session.add("user", "hello")
            await clock.advance(90)
            await session.add("user", "still there?")
            said_at = [m.created_at for m in await session.messages()]
            assert said_at == [clock.now() - timedelta(seconds=90), clock.now()]

    async def test_text_is_kept_exactly_as_it_was_said(self, tmp_path: Path) -> None:
        """Nothing is normalised, trimmed or read as anything else, neither in the content nor in metadata."""
        said = [
            " \u00e9 vs e\u0301 \r\n\t",
            "\u202eright to left",
            "😀" * 3,
            "a" + "\u0301" * 10_000,
            "'; DROP TABLE messages; --",
        ]
        async with self.opened(tmp_path) as memory:
            session = conversation(memory)
            for content in said:
                await session.add("user", content, metadata={"is": content})
            log = await session.messages()
            assert [m.content for m in log] == said
            assert [m.metadata for m in log] == [{"is": content} for content in said]

    async def test_metadata_never_reaches_a_model(self, tmp_path: Path) -> None:
        """It is the application's own."""
        chat = ScriptedChat()
        async with self.opened(tmp_path, chat=chat) as memory:
            session = conversation(memory)
            for seq in range(12):
                await session.add("user", text(seq), metadata={"phone": "555-0199"})
            await memory.work()
            await session.send("hello")
            assert len(chat.prompts) == 2
            assert "555-0199" not in repr(chat.prompts)
            assert "555-0199" not in repr((await session.context()).to_openai())

    async def test_a_mebibyte_is_kept_whole_and_the_prompt_stays_within_its_budget(self, tmp_path: Path) -> None:
        """I10: with the real counter; the log keeps what the prompt shows shortened, with a visible mark."""
        async with self.opened(tmp_path, counter=None) as memory:
            session = conversation(memory)
            contents = ["#0# " + "lorem ipsum " * 87_000, "#1# " + "\u6f22" * 349_000, "#2# short"]
            for content in contents:
                assert (1 << 20) - 6000 < len(content.encode()) <= 1 << 20 or content == contents[2]
                await session.add("user", content)
            assert [m.content for m in await session.messages()] == contents
            for budget in (100, 1000, 4000):
                context = await session.context("#9# and " + "a" * (1 << 16), budget=budget)
                assert context.tokens <= budget
                check_account(context, 3)
            roomy = await session.context(budget=4000)
            assert [m.shortened for m in roomy.messages] == [True, True, False]
            assert all("tokens left out here" in m.content for m in roomy.messages[:2])
