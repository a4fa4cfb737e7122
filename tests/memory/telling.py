"""What the tests about doubts and deletions share: telling a memory something, and what it believes then."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from anaphora import Memory
from anaphora.domain.facts import FactState
from anaphora.domain.wire import PromptMessage
from anaphora.testing.extractions import faithful_extraction
from anaphora.testing.scripted import ScriptedChat


async def tell(memory: Memory, text: str, *, user: str = "ann", session: str = "s", subject: str | None = None) -> None:
    """Say it in a session, hear an answer, and let the memory read both."""
    chat = memory.session(user=user, session=session, subject=subject)
    await chat.add("user", text)
    await chat.add("assistant", "Noted.")
    await memory.work()


async def held(memory: Memory, user: str = "ann", **how: Any) -> dict[str, FactState]:
    """Where each fact of a user stands, by what it says."""
    facts = await memory.facts.list(user=user, states=list(FactState), **how)
    return {fact.content: fact.state for fact in facts if fact.owner == user}


def replacing(**pairs: str) -> ScriptedChat:
    """A model that is honest but for one thing: what has one word takes the place of what has another word."""

    def script(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        del schema
        prompt = messages[-1].content
        known, _, _ = prompt.partition("\nMESSAGES\n")
        entries = [json.loads(line) for line in known.splitlines() if line.startswith("{")]
        answer = faithful_extraction(prompt)
        for fact in answer["facts"]:
            for new, old in pairs.items():
                if new in fact["content"].casefold():
                    fact["replaces"] = next((each["k"] for each in entries if old in each["content"].casefold()), None)
        return json.dumps(answer)

    return ScriptedChat(script)
