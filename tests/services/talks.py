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
    "topics": TopicsSettings(least_messages=2, doubt=1.0, batch=1, most_characters=400),
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
    if title == "topic_segments":
        return json.dumps({"topics": [{"first": first, **_told(line)} for first, line in _begins(said)]})
    if title == "topic_summary":
        return json.dumps(_told(said.splitlines()[1]))
    return faithful(messages, schema)


def dividing(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
    """As `following`, but nothing is said of the topics while they are divided: each is described by itself."""
    if (schema or {}).get("title") != "topic_segments":
        return following(messages, schema)
    firsts = [first for first, _ in _begins(messages[-1].content)]
    return json.dumps({"topics": [{"first": first, "name": "", "summary": ""} for first in firsts]})


def _begins(prompt: str) -> list[tuple[int, str]]:
    """The messages that open topics, as they stand in the prompt."""
    lines = [line for line in prompt.splitlines() if line.startswith("{")]
    certain = {int(seq) for seq in re.findall(r"\d+", prompt.splitlines()[0])}
    found = [(json.loads(line)["n"], line) for line in lines]
    return [(seq, line) for at, (seq, line) in enumerate(found) if not at or seq in certain or TURN in line]


def _told(line: str) -> dict[str, str]:
    words = re.findall(r"[a-zäöü]{4,}", line.lower())
    return {"name": " ".join(words[-2:]), "summary": f"It was about {' '.join(words[-6:])}."}


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
