"""What was said, as plain messages: `role` and `content`, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anaphora.domain import wire
from anaphora.domain.context import Context
from anaphora.domain.messages import Message, Role
from anaphora.domain.wire import SectionName


def as_messages(context: Context) -> list[dict[str, str]]:
    """The messages of a context but for the fixed instructions, in order.

    Calls of tools have no text and are left out; what tools said stands in the role `user`.
    """
    said = [
        replace(message, parts=()) for message in context.messages if message.section is not SectionName.INSTRUCTIONS
    ]
    return [{"role": entry["role"], "content": entry["content"]} for entry in wire.to_openai(said) if entry["content"]]


def is_unanswered(message: str, newest: Sequence[Message]) -> bool:
    """Whether this is what the user said last, and nobody has answered it, whatever tools said meanwhile."""
    if not newest or newest[-1].role not in {Role.USER, Role.TOOL}:
        return False
    return next((each.content for each in reversed(newest) if each.role is Role.USER), None) == message
