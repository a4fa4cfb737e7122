"""Sessions of the strategy `topics`: followed, described and shown, whatever the model does (table 3 of the holes)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.memory.harness import opened

from anaphora import Context, Memory, Session
from anaphora.domain.jobs import Job, JobKind
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.summaries import Method
from anaphora.domain.topics import Closed, Opened, Segment
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import ModelUnavailable, NotFound
from anaphora.testing.clock import FakeClock
from anaphora.testing.scripted import ScriptedChat, faithful

pytestmark = pytest.mark.anyio

NETWORKS = (
    "I want to learn about neural networks and deep learning",
    "Can you explain how neural networks use backpropagation?",
    "How does gradient descent work with backpropagation in neural networks?",
)
LUNCH = (
    "By the way, I want to go to Waffle House for lunch now",
    "Does Waffle House serve hash browns for lunch?",
)
BACK = "Going back to neural networks, what was backpropagation again?"


async def talk(session: Session, said: Sequence[str]) -> None:
    for text in said:
        await session.add("user", text)
        await session.add("assistant", f"You ask about this: {text}")


async def jobs(memory: Memory, kind: JobKind) -> Sequence[Job]:
    return [job for job in await memory.jobs.list(limit=500) if job.kind is kind]


def accounted(context: Context, head: int) -> None:
    """Every message in one part of the manifest (it refuses anything else), and no token too much."""
    assert context.coverage.head == head
    assert sum(context.coverage.counts().values()) == head
    assert context.tokens == sum(message.tokens for message in context.messages) <= context.budget


def spans(segments: Sequence[Segment]) -> list[tuple[int, int, str]]:
    """Oldest first."""
    return [(each.range.start, each.range.stop, each.state) for each in reversed(segments)]


def titled(title: str, answer: str) -> Any:
    """A script that answers prompts of one kind with this, and all others faithfully."""

    def script(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        return answer if schema is not None and schema.get("title") == title else faithful(messages, schema)

    return script


def no_json(_messages: Sequence[PromptMessage], _schema: Mapping[str, Any] | None) -> str:
    return "no JSON at all"


def asked(chat: ScriptedChat, beginning: str) -> int:
    return sum(prompt[0].content.startswith(beginning) for prompt in chat.prompts)


async def test_a_shift_closes_the_topic_and_the_turn_that_shifted_opens_the_next(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        assert spans(await session.topics()) == [(0, 6, "described"), (6, 10, "open")]
        (_, first) = await session.topics()
        assert first.topic is not None
        assert (first.opened, first.topic.closed) == (Opened.FIRST, Closed.SHIFT)
        assert first.topic.name == "I want to learn"
        assert first.topic.method is Method.MODEL
        assert first.topic.model == "scripted"
        assert first.topic.prompt_version == "topic_segments/1"


async def test_a_return_continues_the_earlier_topic_and_brings_its_thread_back(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        context = await session.context(BACK, budget=4000)
        (threads,) = [m for m in context.messages if m.section is SectionName.THREADS]
        assert NETWORKS[1] in threads.content
        assert context.coverage.verbatim == (SeqRange(0, 10),)
        await talk(session, [BACK])
        await memory.work()
        segments = await session.topics()
        assert spans(segments) == [(0, 6, "described"), (6, 10, "described"), (10, 12, "open")]
        now, lunch, networks = segments
        assert networks.topic is not None
        assert lunch.topic is not None
        assert (now.opened, now.continues) == (Opened.RETURN, networks.topic.id)
        assert lunch.topic.leads_to == networks.topic.id
        await session.end()
        await memory.work()
        (last, *_) = await session.topics()
        assert last.topic is not None
        assert (last.opened, last.continues) == (Opened.RETURN, networks.topic.id)


async def test_the_end_closes_the_open_topic_and_what_is_said_again_opens_one(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, NETWORKS[:1])
        await memory.work()
        await session.end()
        await memory.work()
        assert spans(await session.topics()) == [(0, 2, "described")]
        await session.end()
        await memory.work()
        assert spans(await session.topics()) == [(0, 2, "described")], "twice is harmless"
        await talk(session, NETWORKS[1:2])
        await memory.work()
        (now, _) = await session.topics()
        assert (now.range, now.opened) == (SeqRange(2, 4), Opened.AGAIN)


async def test_the_end_of_a_session_nobody_spoke_in_keeps_no_topic(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        assert not await session.end()
        await session.add("user", "hello?")
        await session.delete(0)
        await session.end()
        await memory.work()
        assert [each.topic for each in await session.topics()] == [None]


async def test_while_nothing_speaks_for_a_topic_it_stands_word_by_word(tmp_path: Path) -> None:
    """Holes 3.7 and 3.8: neither a wait nor a hole while the model is away."""
    down = ScriptedChat()
    async with opened(tmp_path, chat=down, clock=FakeClock(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")

        def unavailable(*_: object) -> str:
            raise ModelUnavailable("it is away")

        down.script = unavailable
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        assert spans(await session.topics()) == [(0, 6, "closed"), (6, 10, "open")]
        context = await session.context("And now?", budget=4000)
        assert context.coverage.verbatim == (SeqRange(0, 10),)
        assert {m.section for m in context.messages} == {SectionName.GAP, SectionName.RECENT, SectionName.QUERY}


async def test_what_the_model_never_describes_is_told_by_sentences_until_it_is_back(tmp_path: Path) -> None:
    clock, chat = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=chat, clock=clock, strategy="topics", topics={"alone": 0.45}) as memory:
        session = memory.session(user="ann", session="s")
        chat.script = no_json
        await talk(session, (*NETWORKS, *LUNCH))
        for _ in range(8):
            await memory.work()
            await clock.advance(400)
        (_, first) = await session.topics()
        assert first.topic is not None
        assert first.topic.method is Method.DIGEST
        assert (await session.context("And?", budget=4000)).degraded == ("model",)
        chat.script = faithful
        for _ in range(3):
            await clock.advance(90_000)
            await memory.work()
        (_, again) = await session.topics()
        assert again.topic is not None
        assert again.topic.method is Method.MODEL
        assert (await session.context("And?", budget=4000)).degraded == ()


async def test_without_a_model_sentences_are_chosen_and_nothing_is_asked(tmp_path: Path) -> None:
    async with opened(tmp_path, strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        (_, first) = await session.topics()
        assert first.topic is not None
        assert first.topic.method is Method.EXTRACTIVE
        assert first.topic.name is not None
        assert "neural" in first.topic.name
        context = await session.context("And?", budget=4000)
        accounted(context, 10)
        assert context.degraded == ("model",)


async def test_the_answer_does_not_wait_for_a_verdict(tmp_path: Path) -> None:
    """Hole 3.7: a context is there while the model thinks."""
    chat = ScriptedChat()
    thinking, go_on = anyio.Event(), anyio.Event()

    async def pause() -> None:
        thinking.set()
        await go_on.wait()

    async with opened(tmp_path, chat=chat, strategy="topics") as memory, anyio.create_task_group() as group:
        session = memory.session(user="ann", session="s")
        await talk(session, NETWORKS)
        await memory.work()
        chat.pause = pause
        await talk(session, LUNCH)
        group.start_soon(memory.work)
        await thinking.wait()
        context = await session.context("And now?", budget=4000)
        assert context.coverage.verbatim == (SeqRange(0, 10),)
        go_on.set()


async def test_a_message_that_changes_has_its_topic_described_again(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        await session.edit(0, "Forget it: quantum computing is what I mean")
        assert spans(await session.topics()) == [(0, 6, "stale"), (6, 10, "open")]
        assert (await session.context("And?", budget=4000)).degraded == ("stale",)
        await memory.work()
        (_, first) = await session.topics()
        assert first.topic is not None
        assert first.topic.summary is not None
        assert "quantum" in first.topic.summary
        assert first.topic.summary.startswith("Forget it: quantum computing is what I mean You ask about this: I want")
        assert not first.topic.stale
        assert "quantum" in first.topic.words


async def test_a_deleted_message_is_in_no_summary_and_an_empty_topic_is_not_kept(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        for seq in range(6):
            await session.delete(seq)
            await memory.work()
        assert [each.topic for each in await session.topics()] == [None]
        context = await session.context("neural networks?", budget=4000)
        accounted(context, 10)
        assert not any("networks and deep" in message.content for message in context.messages)


async def test_a_reset_takes_topics_along(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        await session.reset()
        assert await session.topics() == []
        await talk(session, NETWORKS[:1])
        await memory.work()
        assert spans(await session.topics()) == [(0, 2, "open")]


async def test_topics_of_earlier_sessions_come_back_as_summaries(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        before = memory.session(user="ann", session="1")
        await talk(before, NETWORKS)
        await before.end()
        await memory.work()
        now = memory.session(user="ann", session="2")
        context = await now.context("How do neural networks use backpropagation?", budget=4000)
        (block,) = [m for m in context.messages if m.section is SectionName.TOPICS]
        assert "I want to learn: " in block.content
        assert " 1) " in block.content
        other = memory.session(user="bob", session="2")
        context = await other.context("How do neural networks use backpropagation?", budget=4000)
        assert [m.section for m in context.messages] == [SectionName.QUERY], "another user's"


async def test_what_was_not_asked_about_does_not_come_back(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        before = memory.session(user="ann", session="1")
        await talk(before, NETWORKS)
        await before.end()
        await memory.work()
        context = await memory.session(user="ann", session="2").context("Which shoes suit a wedding?", budget=4000)
        assert [m.section for m in context.messages] == [SectionName.QUERY]


async def test_a_context_of_the_past_has_the_topics_that_were_there(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        then = await session.context(budget=4000)
        await memory.work()
        now = await session.context(budget=4000)
        assert now.coverage.summarised == (SeqRange(0, 6),)
        await talk(session, ["Are they open late for lunch?"])
        assert (await session.context(budget=4000, as_of=10)).coverage.to_dict() == now.coverage.to_dict()
        early = await session.context(budget=4000, as_of=6)
        assert early.coverage.verbatim == (SeqRange(0, 6),)
        assert then.coverage.verbatim == (SeqRange(0, 10),)


@pytest.mark.parametrize("budget", [64, 120, 300, 1000, 4000])
async def test_the_prompt_stays_within_its_budget_and_accounts_for_every_message(tmp_path: Path, budget: int) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        for _ in range(4):
            await talk(session, (*NETWORKS, *LUNCH))
            await memory.work()
        context = await session.context("Back to neural networks, how is backpropagation done?", budget=budget)
        accounted(context, 40)
        assert context.tokens <= budget


async def test_one_huge_message_closes_its_topic_and_no_other(tmp_path: Path) -> None:
    """Hole 3.11: a message of 30,000 characters closes the topic that it is in, and the prompt stays small."""
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, [f"Neural networks: {'layer ' * 5_000}", *NETWORKS])
        await memory.work()
        assert spans(await session.topics()) == [(0, 2, "described"), (2, 8, "open")]
        context = await session.context("Go on", budget=2000)
        accounted(context, 8)
        assert context.tokens <= 2000


async def test_two_processes_that_follow_one_session_keep_each_topic_once(tmp_path: Path) -> None:
    async with (
        opened(tmp_path, chat=ScriptedChat(), strategy="topics") as one,
        opened(tmp_path, chat=ScriptedChat(), strategy="topics") as other,
    ):
        for round_ in range(3):
            session = (one if round_ % 2 else other).session(user="ann", session="s")
            await talk(session, (*NETWORKS, *LUNCH))
            async with anyio.create_task_group() as group:
                group.start_soon(one.work)
                group.start_soon(other.work)
        await one.session(user="ann", session="s").end()
        await other.work()
        found = list(reversed(await one.session(user="ann", session="s").topics()))
        edges = [(each.range.start, each.range.stop) for each in found]
        assert edges[0][0] == 0
        assert [start for start, _ in edges[1:]] == [stop for _, stop in edges[:-1]]
        assert edges[-1][1] == 30


@pytest.mark.parametrize("user", ["../x", "Alice", "alice", "e\u0301", "é", "a.1", "CON", "名前"])
async def test_names_of_any_kind_are_keys(tmp_path: Path, user: str) -> None:
    """Hole 3.1."""
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        for name in {user, "ALICE", "a"}:
            await talk(memory.session(user=name, session="1"), [f"I am {name} and nobody else"])
        await memory.work()
        (mine,) = await memory.topics.list(user=user)
        assert mine.key.user == user
        segment, messages = await memory.topics.show(1, user=user, session="1")
        assert segment.range == SeqRange(0, 2)
        assert [m.seq for m in messages] == [0, 1]


async def test_a_topic_is_shown_by_any_of_its_messages_and_what_is_not_there_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path, chat=ScriptedChat(), strategy="topics") as memory:
        session = memory.session(user="ann", session="s")
        await talk(session, (*NETWORKS, *LUNCH))
        await memory.work()
        found: list[tuple[Segment, Sequence[Message]]] = [
            await memory.topics.show(seq, user="ann", session="s") for seq in (0, 5, 6, 9)
        ]
        assert [segment.range.start for segment, _ in found] == [0, 0, 6, 6]
        for seq, name in ((10, "s"), (0, "t"), (-1, "s")):
            with pytest.raises(NotFound, match=f"has no message {seq}"):
                await memory.topics.show(seq, user="ann", session=name)
        await talk(memory.session(user="ann", session="r", strategy="rolling_pairs"), NETWORKS)
        with pytest.raises(NotFound, match="keeps no topics"):
            await memory.topics.show(0, user="ann", session="r")
        assert await memory.topics.list(user="ann", session="r") == []
