"""Tools that a model may call while it answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from anaphora.domain.wire import PromptMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """What a model is told of a tool."""

    name: str
    description: str
    #: JSON schema of an object
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """What a model wants of a tool: written by the model, so data."""

    id: str
    name: str
    #: JSON as the model wrote it, which may be none
    arguments: str


@runtime_checkable
class ToolCaller(Protocol):
    """A `ChatModel` that can be offered tools; a model without this is asked without them."""

    def stream_with_tools(
        self,
        messages: Sequence[PromptMessage],
        *,
        tools: Sequence[Tool],
        may_call: bool,
        max_tokens: int,
        temperature: float,
    ) -> AsyncGenerator[str | ToolCall]:
        """The answer in pieces, as `ChatModel.stream` gives it; calls, if there are any, come last.

        Args:
            messages: the prompt.
            tools: at least one.
            may_call: False: they are named, since the prompt shows calls of them, but text is wanted now.
            max_tokens: of the answer, calls included.
            temperature: as in `stream`.

        Raises:
            ModelError: as `ChatModel.stream` does; an answer that calls a tool needs no text.

        """
        ...


class Toolbox(Protocol):
    """Tools that can be called."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What a model is told of them; none: it is asked as if there were no tools at all."""
        ...

    async def call(self, call: ToolCall) -> str:
        """What the tool says: text for the model, also where something is wrong with the call."""
        ...
