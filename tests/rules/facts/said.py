"""What the tests about facts share: messages, and candidates that quote them."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from anaphora.domain.facts import Candidate, Fact, FactState
from anaphora.domain.messages import Message, Role, Trust
from anaphora.rules.facts.gate import Judgement, judge

_WHEN = datetime(2026, 1, 1, tzinfo=UTC)
_TRUST = {Role.USER: Trust.OWNER_SAID, Role.ASSISTANT: Trust.ASSISTANT, Role.TOOL: Trust.TOOL, Role.SYSTEM: Trust.OTHER}


def message(
    seq: int, content: str, role: Role = Role.USER, *, name: str | None = None, trust: Trust | None = None
) -> Message:
    return Message(
        id=UUID(int=seq),
        seq=seq,
        turn=seq,
        role=role,
        content=content,
        name=name,
        tokens=1,
        created_at=_WHEN,
        trust=trust or _TRUST[role],
    )


def talk(*turns: str, start: int = 0) -> list[Message]:
    """Messages, "user: ..." or "assistant: ..." or "tool: ...": whoever is not named is the user."""
    made = []
    for seq, turn in enumerate(turns, start=start):
        role, found, rest = turn.partition(": ")
        known = found and role in {item.value for item in Role}
        made.append(message(seq, rest if known else turn, Role(role) if known else Role.USER))
    return made


def candidate(content: str, quote: str, seq: int = 0, category: str = "other") -> Candidate:
    return Candidate(category=category, content=content, quote=quote, seq=seq)


def judged(
    content: str,
    quote: str,
    *turns: str,
    seq: int = 0,
    category: str = "other",
    speaker: str | None = "Alice",
    memory: tuple[str, ...] = (),
    echoes: tuple[str, ...] = (),
) -> Judgement:
    """What the gate says of a fact; without turns the quote is the whole message."""
    messages = talk(*(turns or (quote,)))
    return judge(candidate(content, quote, seq, category), messages, speaker=speaker, memory=memory, echoes=echoes)


def fact(
    number: int,
    content: str,
    *,
    category: str = "other",
    state: FactState = FactState.ACTIVE,
    trust: Trust = Trust.OWNER_SAID,
    pinned: bool = False,
) -> Fact:
    return Fact(
        id=UUID(int=number),
        owner="alice",
        agent="chat",
        category=category,
        content=content,
        state=state,
        trust=trust,
        pinned=pinned,
        valid_from=_WHEN,
        created_at=_WHEN,
        updated_at=_WHEN,
    )
