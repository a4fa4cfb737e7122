"""Conversations about several matters, followed by a model that does as it is told."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from anaphora.domain.topics import Topic
from anaphora.domain.wire import PromptMessage
from anaphora.memory import Memory, Session
from anaphora.ports.store import Unit
from anaphora.settings import NotepadSettings, TopicsSettings
from anaphora.testing.scripted import faithful

#: whatever a user says is doubtful, so that the model decides; what is long ends by its length
TOPICS: dict[str, Any] = {
    "strategy": "topics",
    "extraction": "none",
    "notepad": NotepadSettings(enabled="none"),
    "topics": TopicsSettings(least_messages=2, doubt=1.0, most_characters=400),
}
#: what begins with this turns to another matter
TURN = "Now "
#: every way in which a topic begins and ends
TALK = (
    "My tomatoes have yellow leaves.",
    "They want sun and water.",
    f"{TURN}my car has a flat tyre.",
    "Take it to a garage.",
    "Back to the tomatoes and their leaves, please.",
    "Cut them off then.",
    "And the roots? " + "They are so very wet. " * 20,
    "Let them dry.",
    "Where can I buy earth?",
    "At the market.",
)


def following(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
    """Topics end where a message begins with `TURN`; what is said of one is its first words."""
    title, said = (schema or {}).get("title"), messages[-1].content
    if title == "topic_shift":
        newest = json.loads(said.splitlines()[-1])
        return json.dumps({"same_topic": TURN not in json.dumps(newest, ensure_ascii=False)})
    if title == "topic_summary":
        words = re.findall(r"[a-zäöü]{4,}", said.splitlines()[1].lower())
        return json.dumps({"name": " ".join(words[-2:]), "summary": f"It was about {' '.join(words[-6:])}."})
    return faithful(messages, schema)


async def talk(chat: Session, *texts: str) -> None:
    """The user and the assistant take turns."""
    for at, text in enumerate(texts or TALK):
        await chat.add(("user", "assistant")[at % 2], text)


async def all_of_it(memory: Memory, chat: Session) -> None:
    """A session that ends and goes on, with a topic of each kind, all of them described."""
    await talk(chat)
    await memory.work()
    await chat.end()
    await memory.work()
    await talk(chat, "Good morning, is it going to rain?", "Not today.")
    await memory.work()


async def topics(memory: Memory, chat: Session) -> Sequence[Topic]:
    """The closed topics of a session, oldest first."""
    key = chat.key

    def read(unit: Unit) -> Sequence[Topic]:
        row = unit.sessions.find(key)
        return () if row is None else tuple(reversed(unit.topics.list(key.tenant, row.id, limit=500)))

    return await memory._services.store.read(key.tenant, read)
