"""I2, I7, I14: what is said is on disk once, in order and as it was said, or it is refused and nothing is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest
from tests.memory.harness import Quarter, brief, check_account, conversation, opened, say, spans, text

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.domain.messages import Role, Trust
from anaphora.errors import BudgetTooSmall, InvalidInput, KeyReused, NotFound, UnknownName
from anaphora.settings import Settings
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

HALF = "\ud83d"
CALL: dict[str, Any] = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": "sky"}}
RESULT: dict[str, Any] = {"type": "tool_result", "id": "c1", "content": "blue"}
TURN: list[dict[str, Any]] = [
    {"role": "user", "content": "#0# What colour is the sky?"},
    {"role": "assistant", "content": None, "parts": [CALL]},
    {"role": "tool", "content": "#2# blue", "parts": [RESULT]},
    {"role": "assistant", "content": "#3# Blue."},
]


async def test_a_retry_with_the_same_key_gives_the_same_receipt_and_writes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        session = conversation(memory)
        said: dict[str, Any] = {"metadata": {"b": 1, "a": 2}, "created_at": datetime(2020, 1, 1, 12, tzinfo=UTC)}
        first = await session.add("user", "hello", key="k", **said)
        await session.add("assistant", "hi")
        elsewhere = datetime(2020, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))
        again = await session.add("user", "hello", key="k", metadata={"a": 2, "b": 1}, created_at=elsewhere)
        assert (again.id, again.range, again.repeated) == (first.id, first.range, True)
        assert not first.repeated
        assert len(await session.messages()) == 2
    async with opened(tmp_path) as memory:
        assert (await conversation(memory).add("user", "hello", key="k", **said)).repeated


async def test_retries_at_once_write_one_message(tmp_path: Path) -> None:
    async with opened(tmp_path) as one, opened(tmp_path) as two:
        ids = []

        async def add(memory: Memory) -> None:
            ids.append((await conversation(memory).add("user", "hello", key="k")).id)

        async with anyio.create_task_group() as group:
            for n in range(20):
                group.start_soon(add, (one, two)[n % 2])
        assert len(set(ids)) == 1
        assert len(await conversation(one).messages()) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"content": "hello!"},
        {"role": "assistant"},
        {"name": "Ann"},
        {"metadata": {"a": 1}},
        {"created_at": datetime(2020, 1, 1, tzinfo=UTC)},
        {"parts": [{"type": "image", "url": "x"}]},
    ],
)
async def test_a_key_that_comes_back_with_another_body_is_an_error(tmp_path: Path, other: dict[str, Any]) -> None:
    async with opened(tmp_path) as memory:
        session = conversation(memory)
        body: dict[str, Any] = {"role": "user", "content": "hello"}
        await session.add(**body, key="k")
        with pytest.raises(KeyReused, match="'k'"):
            await session.add(**(body | other), key="k")
        assert len(await session.messages()) == 1
        await session.add(**(body | other), key="k2")
        assert len(await session.messages()) == 2


async def test_a_key_belongs_to_one_session_and_is_free_again_after_a_reset(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        one, two = conversation(memory), conversation(memory, session="s2")
        await one.add("user", "hello", key="k")
        assert not (await two.add("user", "something else", key="k")).repeated
        await one.reset()
        assert not (await one.add("user", "new words", key="k")).repeated


async def test_a_turn_is_written_whole_and_is_one_turn(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        session = conversation(memory)
        receipt = await session.add_turn(TURN, key="t")
        assert (receipt.range,) == spans((0, 4))
        assert (await session.add_turn(TURN, key="t")).repeated
        log = await session.messages()
        assert [m.turn for m in log] == [0] * 4
        assert [m.role for m in log] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
        assert [m.trust for m in log] == [Trust.OWNER_SAID, Trust.ASSISTANT, Trust.TOOL, Trust.ASSISTANT]
        assert (log[1].parts, log[2].parts) == ((CALL,), (RESULT,))
        (asked,) = [m for m in (await session.context()).to_openai() if m.get("tool_calls")]
        assert asked["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": "sky"}'}


@pytest.mark.parametrize(
    "flaw",
    [
        {"role": "user", "content": "nul \x00"},
        {"role": "wizard", "content": "x"},
        {"role": "user"},
        {"content": "x"},
        {"role": "user", "content": "x", "seq": 3},
        {"role": "user", "content": "x" * ((1 << 20) + 1)},
        "user: hello",
    ],
)
async def test_one_flaw_in_a_turn_and_nothing_of_it_is_written(tmp_path: Path, flaw: Any) -> None:
    async with opened(tmp_path) as memory:
        session = conversation(memory)
        with pytest.raises(InvalidInput):
            await session.add_turn([*TURN, flaw])
        assert await memory.sessions() == []
        assert (await session.add_turn(TURN)).seq == 0


async def test_a_turn_of_nothing_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(InvalidInput, match="1 to 500"):
            await conversation(memory).add_turn([])


@pytest.mark.parametrize("strategy", ["rolling_pairs", "sliding_window"])
async def test_a_window_or_a_summary_never_splits_a_turn_of_tools(tmp_path: Path, strategy: str) -> None:
    async with opened(tmp_path, chat=ScriptedChat(brief), strategy=strategy) as memory:
        session = conversation(memory)
        for _ in range(12):
            start = (await session.context()).coverage.head
            turn = [{**m, "content": m["content"] and text(start + at)} for at, m in enumerate(TURN)]
            turn[1]["content"] = text(start + 1)
            await session.add_turn(turn)
            await memory.work()
            context = await session.context()
            check_account(context, start + 4)
            assert {span.start % 4 for span in context.coverage.verbatim} == {0}
            assert {s.range.stop % 4 for s in await session.summaries()} <= {0}


async def test_the_order_is_that_of_the_appends_whatever_the_times_say(tmp_path: Path) -> None:
    """I2: imports say things long ago and out of order."""
    times = [datetime(year, 5, 1, tzinfo=UTC) for year in (2021, 1999, 2031, 1999, 1970)]
    async with opened(tmp_path) as memory:
        session = conversation(memory)
        for n, when in enumerate(times):
            await session.add("user", f"#{n}#", created_at=when)
        log = await session.messages()
        assert [m.content for m in log] == [f"#{n}#" for n in range(5)]
        assert [m.created_at for m in log] == times


async def test_without_a_time_it_was_said_now(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as memory:
        session = conversation(memory)
        await session.add("user", "hello")
        await clock.advance(90)
        await session.add("user", "still there?")
        assert [m.created_at for m in await session.messages()] == [clock.now() - timedelta(seconds=90), clock.now()]


def nested(depth: int) -> dict[str, Any]:
    return {"x": nested(depth - 1)} if depth else {}


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "NUL": ("NUL", {"content": "a\x00b"}),
    "half a surrogate pair": ("surrogate", {"content": f"smile {HALF}"}),
    "NUL in the name": ("NUL", {"name": "a\x00"}),
    "half a pair in metadata": ("surrogate", {"metadata": {"a": [HALF]}}),
    "half a pair in a key of metadata": ("surrogate", {"metadata": {HALF: 1}}),
    "NUL in a part": ("NUL", {"parts": [{"type": "text", "text": "\x00"}]}),
    "nothing": ("content or parts", {"content": ""}),
    "blanks": ("content or parts", {"content": " \n\t"}),
    "none": ("content or parts", {"content": None}),
    "a number": ("must be a string, not int", {"content": 7}),
    "bytes": ("must be a string, not bytes", {"content": b"hello"}),
    "unknown role": ("did you mean 'user'", {"role": "usr"}),
    "role of a wrong type": ("role", {"role": 3}),
    "no role": ("role", {"role": None}),
    "empty name": ("name", {"name": " "}),
    "endless name": ("name", {"name": "n" * 201}),
    "name of a wrong type": ("name", {"name": 5}),
    "time without a zone": ("time zone", {"created_at": datetime(2026, 1, 1)}),  # noqa: DTZ001 - that is the flaw
    "time as text": ("time zone", {"created_at": "2026-01-01T00:00:00Z"}),
    "a time that UTC does not have": (
        "created_at",
        {"created_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))},
    ),
    "too large": ("1,048,576", {"content": "x" * ((1 << 20) + 1)}),
    "too large in bytes": ("1,048,576", {"content": "ä" * ((1 << 19) + 1)}),
    "too large with its metadata": ("1,048,576", {"metadata": {"x": "y" * (1 << 20)}}),
    "deep metadata": ("20 levels", {"metadata": nested(21)}),
    "deep part": ("20 levels", {"parts": [{"type": "x", "y": nested(20)}]}),
    "very deep metadata": ("20 levels", {"metadata": nested(400)}),
    "no JSON": ("datetime, which is not JSON", {"metadata": {"a": datetime(2026, 1, 1, tzinfo=UTC)}}),
    "a number that JSON lacks": ("JSON cannot write", {"metadata": {"a": float("nan")}}),
    "a number too long for JSON": ("metadata", {"metadata": {"a": 10**5000}}),
    "metadata as a list": ("metadata", {"metadata": [1, 2]}),
    "metadata as text": ("metadata", {"metadata": "x"}),
    "metadata as pairs": ("metadata", {"metadata": [("a", 1)]}),
    "a part without type": ("type", {"parts": [{"text": "x"}]}),
    "a part as text": ("part", {"parts": ["x"]}),
    "parts as a number": ("parts", {"parts": 5}),
    "parts as one mapping": ("part", {"parts": CALL}),
    "a call without id": ('"id"', {"parts": [{"type": "tool_call", "name": "look"}]}),
    "a call without name": ('"name"', {"parts": [{"type": "tool_call", "id": "1"}]}),
    "a result without id": ('"id"', {"parts": [{"type": "tool_result"}]}),
    "an empty key": ("key", {"key": ""}),
    "an endless key": ("key", {"key": "k" * 201}),
}


@pytest.mark.parametrize("flaw", REFUSED)
async def test_what_no_store_could_hold_is_refused_in_one_line_and_nothing_is_written(
    tmp_path: Path, flaw: str
) -> None:
    says, given = REFUSED[flaw]
    async with opened(tmp_path) as memory:
        session = conversation(memory)
        with pytest.raises(InvalidInput) as refused:
            await session.add(**({"role": "user", "content": "hello"} | given))
        assert says in str(refused.value)
        assert len(str(refused.value).splitlines()) == 1
        assert len(str(refused.value)) < 300
        assert await session.messages() == ()
        assert await memory.sessions() == []
        assert (await session.add("user", "hello")).seq == 0


@pytest.mark.parametrize("part", ["user", "session", "agent", "tenant"])
@pytest.mark.parametrize("name", ["", " ", "a\x00", HALF, "x" * 201, 7])
async def test_names_that_no_store_could_hold_are_refused(tmp_path: Path, part: str, name: Any) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(InvalidInput, match=part):
            conversation(memory, **{part: name})


async def test_a_strategy_that_nobody_knows_names_the_nearest(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(UnknownName, match="rolling_pairs"):
            conversation(memory, strategy="rolling_pair")


async def test_text_is_kept_exactly_as_it_was_said(tmp_path: Path) -> None:
    said = [
        " \u00e9 vs e\u0301 \r\n\t",
        "\u202eright to left",
        "😀" * 3,
        "a" + "\u0301" * 10_000,
        "'; DROP TABLE messages; --",
    ]
    async with opened(tmp_path) as memory:
        session = conversation(memory)
        for content in said:
            await session.add("user", content, metadata={"is": content})
        log = await session.messages()
        assert [m.content for m in log] == said
        assert [m.metadata for m in log] == [{"is": content} for content in said]


async def test_metadata_never_reaches_a_model(tmp_path: Path) -> None:
    chat = ScriptedChat()
    async with opened(tmp_path, chat=chat) as memory:
        session = conversation(memory)
        for seq in range(12):
            await session.add("user", text(seq), metadata={"phone": "555-0199"})
        await memory.work()
        await session.send("hello")
        assert "555-0199" not in repr(chat.prompts)
        assert "555-0199" not in repr((await session.context()).to_openai())


async def test_a_mebibyte_is_kept_whole_and_the_prompt_stays_within_its_budget(tmp_path: Path) -> None:
    """I10: with the real counter; the log keeps what the prompt shows shortened, with a visible mark."""
    settings = Settings(db=str(tmp_path / "m.db"), embedder="none", durability="normal")
    async with Memory.open(settings=settings, worker=False) as memory:
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


@pytest.mark.parametrize("budget", [0, -5, 1, 63])
async def test_a_budget_without_room_is_refused_and_says_what_is_needed(tmp_path: Path, budget: int) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(BudgetTooSmall) as refused:
            await conversation(memory).context("hello", budget=budget)
        assert (refused.value.budget, refused.value.needed) == (budget, 64)
        with pytest.raises(BudgetTooSmall, match="at least 69"):
            await conversation(memory, instructions="x" * 4).context("hello", budget=68)


async def test_an_ended_session_is_opened_again_by_the_next_word(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        session = conversation(memory)
        await say(session, 4)
        assert await session.end()
        (row,) = await memory.sessions()
        assert row.ended_at is not None
        assert (await session.add("user", "one more thing")).seq == 4
        (row,) = await memory.sessions()
        assert row.ended_at is None


async def test_ending_plans_what_is_due_and_twice_is_harmless(tmp_path: Path) -> None:
    """I9: 13 messages: 2 were summarised at the tenth; the 3 that left the window since wait for the end."""
    chat = ScriptedChat(brief)
    async with opened(tmp_path, chat=chat) as memory:
        session = conversation(memory)
        for seq in range(14):
            await say(session, 1, start=seq)
            await memory.work()
        assert (await session.context()).coverage.summarised == spans((0, 2))
        assert await session.end()
        ended_at = (await memory.sessions())[0].ended_at
        assert await session.end()
        assert await memory.jobs.live() == 1
        assert await memory.work() == 1
        assert (await session.context()).coverage.summarised == spans((0, 6))
        assert await session.end()
        assert await memory.jobs.live() == 0
        assert (await memory.sessions())[0].ended_at == ended_at
        check_account(await session.context(), 14)


async def test_ending_what_never_began_does_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        assert not await conversation(memory).end()
        assert await memory.sessions() == []


async def test_a_receipt_says_what_became_of_a_message(tmp_path: Path) -> None:
    chat = ScriptedChat(lambda *_: '{"points": [{"text": "tea", "first": 0, "last": 0}], "merged": null}')
    async with opened(tmp_path, chat=chat) as memory:
        session = conversation(memory)
        receipts = await say(session, 12)
        assert {await memory.receipt(r.id) for r in receipts} == {"appended"}
        await memory.work()
        states = [await memory.receipt(r.id) for r in receipts]
        assert states == ["summarised", *["elided"] * 3, *["appended"] * 8]
        await session.reset()
        assert {await memory.receipt(r.id) for r in receipts} == {"erased"}
        (new,) = await say(session, 1)
        assert await memory.receipt(new.id) == "appended"
        assert await memory.receipt(receipts[0].id) == "erased"
        with pytest.raises(NotFound):
            await memory.receipt(uuid4())


async def test_new_sessions_are_numbered_by_user_and_agent(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        names = [(await memory.new_session(user=user, agent="a")).key.session for user in ("u", "u", "v")]
        assert names == ["1", "2", "1"]
        assert {row.key.user for row in await memory.sessions(agent="a")} == {"u", "v"}


async def test_a_memory_of_your_own_adapters_is_opened_with_plain_arguments(tmp_path: Path) -> None:
    async with Memory.open(
        tmp_path / "m.db", chat_model=ScriptedChat(), worker=False, overrides=Overrides(counter=Quarter())
    ) as memory:
        answer = await memory.session(user="u", session="s").send("hello there")
        assert str(answer).strip() == "You said: hello there"
        assert (tmp_path / "m.db").is_file()
