"""The shape of every prompt that asks for derived work: our instructions as system text, data in a user message."""

from __future__ import annotations

from collections.abc import Callable

from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName


def asking(instructions: str, data: str, count: Callable[[str], int]) -> tuple[PromptMessage, ...]:
    """The two messages; nothing that anybody said is in the first (I16)."""
    return (
        PromptMessage(
            section=SectionName.INSTRUCTIONS, role=Role.SYSTEM, content=instructions, tokens=count(instructions)
        ),
        PromptMessage(section=SectionName.QUERY, role=Role.USER, content=data, tokens=count(data)),
    )
