"""What the tests of the assembly share: messages, calls with their results, and the material made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message, Role
from anaphora.domain.plans import Selection
from anaphora.domain.summaries import Point
from anaphora.domain.wire import PromptMessage
from anaphora.rules.material import Material
from anaphora.rules.memory_block import MEMORY_NAME, render
from anaphora.rules.tokens import message_tokens

MARK = "abc123"


def count(text: str) -> int:
    """A token is four characters, rounded up."""
    return (len(text) + 3) // 4


def of_tokens(tokens: int) -> str:
    """A text that costs so much."""
    return "abc " * (tokens - 1) + "abcd" if tokens else ""


def message(
    seq: int,
    text: str,
    role: Role = Role.USER,
    parts: tuple[Mapping[str, Any], ...] = (),
    *,
    name: str | None = None,
) -> Message:
    """A stored message, with what it costs."""
    return Message(
        id=UUID(int=seq),
        seq=seq,
        turn=seq,
        role=role,
        content=text,
        name=name,
        parts=parts,
        tokens=message_tokens(count, text, name=name, parts=parts),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def costing(seq: int, tokens: int, *, name: str | None = None) -> Message:
    """A stored message that costs so much in a prompt."""
    return message(seq, of_tokens(tokens - message_tokens(count, "", name=name)), name=name)


def call(seq: int, results: int, *, length: int = 30) -> list[Message]:
    """An assistant message with so many calls, and their results, each in a message of its own."""
    calls = tuple(
        {"type": "tool_call", "id": f"c{seq}-{at}", "name": "look", "arguments": {"q": at}} for at in range(results)
    )
    answers = [
        message(
            seq + 1 + at,
            f"result {at} " * length,
            Role.TOOL,
            ({"type": "tool_result", "id": f"c{seq}-{at}", "content": f"result {at} " * length},),
        )
        for at in range(results)
    ]
    return [message(seq, "", Role.ASSISTANT, calls), *answers]


def material(
    messages: Sequence[Message],
    *,
    points: tuple[Point, ...] = (),
    query: str | None = "and now?",
    instructions: str | None = None,
    deleted: tuple[SeqRange, ...] = (),
) -> Material:
    """All that may stand in the prompt: the messages verbatim, the last eight of them as recent."""
    head = messages[-1].seq + 1 if messages else 0
    start = messages[0].seq if messages else 0
    return Material(
        instructions=instructions,
        query=query,
        head=head,
        history_tokens=sum(m.tokens for m in messages),
        summary_id=UUID(int=7) if points else None,
        mark=MARK,
        selection=Selection(points=points, verbatim=SeqRange(start, head), recent_from=max(start, head - 8)),
        messages=messages,
        deleted=deleted,
    )


def block_tokens(points: Sequence[Point]) -> int:
    """What the memory block with these points costs."""
    return message_tokens(count, render(points, MARK), name=MEMORY_NAME)


def cost(shown: PromptMessage) -> int:
    """What a message of a prompt costs, counted again."""
    return message_tokens(count, shown.content, name=shown.name, parts=shown.parts)
