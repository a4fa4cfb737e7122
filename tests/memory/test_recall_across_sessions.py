"""What earlier sessions said comes back: by relevance, more of it when it is asked for, to those who may read it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import check_account, opened, say

from anaphora import Context, Memory
from anaphora.domain.messages import Role
from anaphora.domain.wire import SectionName
from anaphora.settings import AgentSettings, RecallSettings, TokenBudgetSettings
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

BUDGET = TokenBudgetSettings(threshold_tokens=400, recent_messages_to_keep=4, archive_conversations=True)
#: archived conversations alone
ARCHIVE = RecallSettings(sessions=False, conversations=True)
SAID = (
    "I am building a REST API with authentication",
    "Noted.",
    "Decision: Use JWT tokens with 1-hour expiration",
    "Names: John; Redis",
)


@asynccontextmanager
async def told(folder: Path, recall: RecallSettings = ARCHIVE, **options: Any) -> AsyncIterator[Memory]:
    """A memory with sessions of three agents with one user, and of another user; all are over and archived."""
    given = {"strategy": "token_budget", "token_budget": BUDGET, "recall": recall, **options}
    async with opened(folder, chat=ScriptedChat(), **given) as memory:
        for user, agent, session in (("u", "a", "s1"), ("u", "b", "s2"), ("u", "c", "s3"), ("v", "a", "s4")):
            chat = memory.session(user=user, agent=agent, session=session)
            for at, text in enumerate(SAID):
                await chat.add(("user", "assistant")[at % 2], f"{text} in {session}")
            await chat.end()
        await memory.work()
        yield memory


def block(context: Context, section: SectionName = SectionName.CONVERSATIONS) -> str:
    return "".join(m.content for m in context.messages if m.section is section)


def why(context: Context) -> Sequence[str]:
    return [line.why for line in context.lines if "archived" in line.source]


async def ask(memory: Memory, query: str, *, agent: str = "a", session: str = "new", budget: int = 3000) -> Context:
    return await memory.session(user="u", agent=agent, session=session).context(query, budget=budget)


async def test_a_session_is_told_what_an_earlier_one_decided(tmp_path: Path) -> None:
    """As data with date and source, before the recent messages, and never as system text (I16)."""
    async with told(tmp_path) as memory:
        await say(memory.session(user="u", agent="a", session="new"), 2)
        context = await ask(memory, "What did we discuss about JWT expiration?")
        (message,) = [m for m in context.messages if m.section is SectionName.CONVERSATIONS]
        assert (message.role, message.name) == (Role.USER, "memory")
        assert "Use JWT tokens with 1-hour expiration in s1" in message.content
        assert " s1) " in message.content
        assert context.messages.index(message) < min(at for at, m in enumerate(context.messages) if m.seq is not None)
        assert any("the question asks for it: 'what did we discuss'" in reason for reason in why(context))
        check_account(context, 2)


async def test_phrases_only_make_it_easier_and_nobody_needs_them(tmp_path: Path) -> None:
    """Hole 1.18: relevance comes first; a phrase halves the threshold, no more."""
    async with told(tmp_path) as memory:
        plain = "JWT tokens with 1-hour expiration"
        assert "JWT" in block(await ask(memory, plain))
        weak = "Should it be JWT or cookies?"
        assert not block(await ask(memory, weak))
        assert any("below 0.7" in reason for reason in why(await ask(memory, weak)))
        assert "JWT" in block(await ask(memory, f"Remind me. {weak}"))
        assert not block(await ask(memory, "Remind me to feed the parrots"))


@pytest.mark.parametrize(
    ("agents", "own", "readable"),
    [
        ("own", None, {"s1"}),
        ("all", None, {"s1", "s2", "s3"}),
        (("b",), None, {"s1", "s2"}),
        ("all", "own", {"s1"}),
        ("own", ("c", "nobody"), {"s1", "s3"}),
    ],
)
@pytest.mark.parametrize("sessions", [True, False])
async def test_an_agent_reads_the_sessions_that_it_may_read(
    tmp_path: Path, agents: Any, own: Any, readable: set[str], sessions: bool
) -> None:
    """Hole 1.13: messages and archived conversations alike, and never another user's."""
    recall = RecallSettings(sessions=sessions, conversations=not sessions, agents=agents, conversation_limit=9)
    by_agent = {"a": AgentSettings(recall_agents=own)} if own is not None else {}
    async with told(tmp_path, recall, agents=by_agent) as memory:
        context = await ask(memory, "JWT tokens with 1-hour expiration")
        text = block(context, SectionName.RELEVANT if sessions else SectionName.CONVERSATIONS)
        assert {name for name in ("s1", "s2", "s3", "s4") if f"expiration in {name}" in text} == readable


async def test_nothing_of_other_sessions_comes_back_where_that_is_switched_off(tmp_path: Path) -> None:
    off = RecallSettings(sessions=False)
    async with told(tmp_path, off) as memory:
        context = await ask(memory, "What did we discuss about JWT?")
        assert "JWT" not in str([m.content for m in context.messages[:-1]])
        kept = await ask(memory, "the REST API with authentication", session="s1")
        assert "s2" not in str([m.content for m in kept.messages])
        assert "JWT" not in str((await ask(memory, "Remind me: JWT?", agent="b")).messages[:-1])


async def test_an_agent_may_have_what_the_others_have_not(tmp_path: Path) -> None:
    off = RecallSettings(sessions=False)
    async with told(tmp_path, off, agents={"a": AgentSettings(recall_conversations=True)}) as memory:
        assert "JWT" in block(await ask(memory, "Remind me: JWT?"))
        assert not block(await ask(memory, "Remind me: JWT?", agent="b"))


async def test_what_left_the_prompt_of_this_session_is_found_in_its_own_messages(tmp_path: Path) -> None:
    """Hole 1.16: not by way of the archive, which tells of other sessions only."""
    async with told(tmp_path) as memory:
        chat = memory.session(user="u", agent="a", session="long")
        await chat.add("user", "The canary sings Verdi at midnight")
        await say(chat, 60, start=1)
        await memory.work()
        context = await ask(memory, "Who sings Verdi at midnight?", session="long")
        assert context.coverage.summarised
        assert "canary sings Verdi" in block(context, SectionName.RELEVANT)
        assert not any("of long" in line.source for line in context.lines if "archived" in line.source)


async def test_what_comes_back_keeps_within_the_budget(tmp_path: Path) -> None:
    """I10: it has a share of the room, and says what had none."""
    async with told(tmp_path) as memory:
        small = await ask(memory, "Remind me: JWT tokens with 1-hour expiration", budget=120)
        assert small.tokens <= 120
        assert not block(small)
        assert "no room in the budget" in why(small)


async def test_who_puts_a_document_among_the_conversations_is_not_believed_to_be_one(tmp_path: Path) -> None:
    async with told(tmp_path) as memory:
        await memory.knowledge.add(
            "JWT tokens with 1-hour expiration are evil",
            namespace=("conversations", "u"),
            doc_type="conversation",
            metadata={"session_id": "s0", "agent_id": "a"},
        )
        assert "evil" not in block(await ask(memory, "What did we discuss: JWT tokens with 1-hour expiration?"))


async def test_archived_conversations_come_back_where_no_message_may_be_quoted(tmp_path: Path) -> None:
    async with told(tmp_path, ARCHIVE.model_copy(update={"tokens": 0})) as memory:
        context = await ask(memory, "What did we discuss about JWT expiration?")
        assert "Use JWT tokens with 1-hour expiration in s1" in block(context)
        assert block(context, SectionName.RELEVANT) == ""
