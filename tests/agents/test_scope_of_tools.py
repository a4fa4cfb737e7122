"""I11, holes 1.12 to 1.14: whatever users, agents and shelves are called, the tools look into their own scope."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.agents.harness import QUICK

from anaphora import Memory
from anaphora.agents.library import Library
from anaphora.domain.documents import CONVERSATION, conversations_of
from anaphora.domain.keys import SessionKey

pytestmark = pytest.mark.anyio

#: a name, what it begins with, what separates and what stands for anything, and two ways to write the same letter
ODD = (
    "al",
    "alice",
    "al:ice",
    "conversations",
    "user",
    "own",
    ":",
    "/",
    "%",
    "_",
    "*",
    '","',
    "\xe9",
    "e\u0301",
    "\x01",
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8)
NAMES = (st.sampled_from(ODD) | TEXTS).filter(str.strip)


@given(
    users=st.lists(NAMES, min_size=2, max_size=2, unique=True),
    agents=st.lists(NAMES, min_size=2, max_size=2, unique=True),
)
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_tools_find_what_one_user_said_to_one_agent_and_no_more(
    tmp_path: Path, users: list[str], agents: list[str]
) -> None:
    budget = {"threshold_tokens": 400, "recent_messages_to_keep": 2, "archive_conversations": True}
    options: dict[str, Any] = {**QUICK, "embedder": "none", "extraction": "none", "token_budget": budget}
    place = str(Path(mkdtemp(dir=tmp_path)) / "m.db")
    async with Memory.open(place, worker=False, strategy="token_budget", **options) as memory:
        everything: dict[tuple[str, str], str] = {}
        for user in users:
            for agent in agents:
                mark = f"mark{len(everything)}"
                everything[user, agent] = mark
                await memory.session(user=user, agent=agent, session="s").add("user", f"The cello, {mark}")
                old = memory.session(user=user, agent=agent, session="old")
                await old.add("user", f"The cello of Mister {mark}")
                await old.end()
                await memory.knowledge.add(
                    f"The cello, forged by {mark}forged",
                    namespace=conversations_of(user),
                    title=f"Talk {mark}forged",
                    doc_type=CONVERSATION,
                    metadata={"agent_id": agent, "session_id": "old"},
                )
            await memory.knowledge.add(f"The cello of {len(everything)}", user=user, title=f"Own {mark}")
            await memory.knowledge.add("The cello on a shelf", namespace=["shelf", user], title=f"Shelf {mark}")
        await memory.work()

        async def opened() -> Memory:
            return memory

        for (user, agent), mark in everything.items():
            key = SessionKey(tenant=memory.settings.tenant, user=user, agent=agent, session="new")
            narrow = Library(memory=opened, key=key, agents=(agent,), namespaces=(("shelf", user),))
            wide = Library(memory=opened, key=key, agents=None)
            theirs = {everything[user, other] for other in agents}
            own = {everything[user, agents[-1]]}
            for kind, found in (("conversations", {mark}), ("documents", own), ("all", {mark} | own)):
                listed = await narrow.documents(kind, 50)
                told = str([await narrow.search("cello", kind, 50), listed])
                assert ("conversation" in {each["type"] for each in listed}) == (kind != "documents")
                assert marks(told) == found
                assert ("Shelf" in told) == (kind != "conversations")
            assert marks(str(await wide.search("cello", "all", 50))) == theirs


def marks(told: str) -> set[str]:
    """The marks in what was told."""
    return {word for word in told.replace("'", " ").replace(",", " ").split() if word.startswith("mark")}
