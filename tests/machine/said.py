"""What was really said: the account of a session that the machine keeps for itself, and trusts more than any memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from anaphora.domain.messages import NewMessage
from anaphora.rules.admission import new_message
from anaphora.testing.summaries import canaries

_MARK = re.compile(r"w(\d+)v(\d+)")


@dataclass(slots=True)
class Said:
    """One message and everything that it ever said, oldest first."""

    texts: list[str]
    deleted: bool = False

    @property
    def version(self) -> int:
        """As the store counts: a tombstone is a version too."""
        return len(self.texts) + self.deleted


@dataclass(slots=True)
class Log:
    """A session as it should be."""

    said: list[Said] = field(default_factory=list)

    @property
    def head(self) -> int:
        """How many messages there ever were."""
        return len(self.said)

    @property
    def deleted(self) -> set[int]:
        """The messages that are gone."""
        return {seq for seq, entry in enumerate(self.said) if entry.deleted}

    @property
    def live(self) -> set[int]:
        """The messages that are there."""
        return {seq for seq, entry in enumerate(self.said) if not entry.deleted}

    @property
    def versions(self) -> int:
        """How many edits and deletions there were."""
        return sum(entry.version - 1 for entry in self.said)

    def add(self, roles: Sequence[str]) -> list[NewMessage]:
        """The next messages, on their way to the log."""
        made = messages(roles, self.head)
        self.said.extend(Said([message.content]) for message in made)
        return made

    def text(self, seq: int) -> str | None:
        """What the message says now; nothing if it is gone."""
        entry = self.said[seq]
        return None if entry.deleted else entry.texts[-1]

    def next_text(self, seq: int) -> str:
        """What the message would say after another edit."""
        return text(seq, len(self.said[seq].texts) + 1)

    def edited(self, seq: int) -> None:
        """It says the next text now."""
        self.said[seq].texts.append(self.next_text(seq))

    def outdated(self, spoken: str) -> set[int]:
        """The messages of which a text says what is not so any more: it quotes an old version, or one that is gone."""
        numbers, quoted = spoken_of(spoken)
        old = {seq for seq, version in quoted if version != len(self.said[seq].texts)}
        return (old | (numbers & self.deleted)) if numbers or old else set()


def text(seq: int, version: int = 1) -> str:
    """What a message says: its canary, and a word that only this version of it has."""
    return f"#{seq}# w{seq}v{version} is what was said"


def word(seq: int, version: int) -> str:
    """The word that only this version of this message has."""
    return f"w{seq}v{version}"


@lru_cache(maxsize=1 << 14)
def spoken_of(spoken: str) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
    """The numbers that a text speaks of, and the versions that it quotes."""
    quoted = frozenset((int(seq), int(version)) for seq, version in _MARK.findall(spoken))
    return frozenset(canaries(spoken)) | {seq for seq, _ in quoted}, quoted


def messages(roles: Iterable[str], start: int) -> list[NewMessage]:
    """Messages with these roles from that number on; `call` and `tool` are a tool call and its result."""
    return [_message(role, start + at) for at, role in enumerate(roles)]


def _message(role: str, seq: int) -> NewMessage:
    parts: tuple[dict[str, Any], ...] = ()
    if role == "call":
        role, parts = "assistant", ({"type": "tool_call", "id": f"c{seq}", "name": "look", "arguments": {}},)
    elif role == "tool":
        parts = ({"type": "tool_result", "id": f"c{seq - 1}", "content": f"#{seq}# found"},)
    return new_message(role, text(seq), parts=parts)
