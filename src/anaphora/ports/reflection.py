"""What we need of whoever reflects upon a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from anaphora.domain.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionRequest:
    """Messages of a session that ended, and what was noted before."""

    #: in order
    messages: tuple[Message, ...]
    #: the text of the page before; empty if there is none
    page: str
    #: tokens that the new page may have
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionDraft:
    """What is wanted in the new page: nothing is believed of it yet."""

    #: what matters most first
    notes: tuple[str, ...]
    model: str
    prompt_version: str
    #: sentences of the prompt, which no note may repeat
    echoes: tuple[str, ...] = ()


class Reflector(Protocol):
    """Reflects upon sessions. Raises the errors of `ChatModel`."""

    async def reflect(self, request: ReflectionRequest) -> ReflectionDraft:
        """The whole new page, as notes."""
        ...
