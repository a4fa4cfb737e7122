"""A chat model made of any async function."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio

from anaphora.domain.wire import PromptMessage, to_openai
from anaphora.errors import ModelOutputInvalid, ModelUnavailable
from anaphora.models.prompted import json_text, with_schema
from anaphora.ports.models import Completion

#: OpenAI-shaped messages to the text of the answer
Answer = Callable[[list[dict[str, Any]]], Awaitable[str]]

DEFAULT_TIMEOUT = 60.0


class CallableModel:
    """Fulfils `ChatModel` with a function of OpenAI-shaped messages.

    The function decides about tokens and temperature itself. It should raise `ModelUnavailable` for what may be tried
    again and `ModelRefused` for what may not; `OSError` and a time-out count as the former, anything else is let
    through. When JSON is wanted, the schema stands in the system text.

    Args:
        name: what to call the model in summaries and errors.
        function: messages to text.
        timeout: seconds that one call may take.

    """

    def __init__(self, name: str, function: Answer, *, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._name = name
        self._function = function
        self._timeout = timeout

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,  # noqa: ARG002  the function's own business
        temperature: float,  # noqa: ARG002
    ) -> Completion:
        """One answer.

        Raises:
            ModelUnavailable: the function took too long or could not reach what it needs.
            ModelOutputInvalid: the function answered with no text.

        """
        wire = to_openai(messages)
        if schema is not None:
            wire = with_schema(wire, schema)
        try:
            with anyio.fail_after(self._timeout):
                text = await self._function(wire)
        except TimeoutError:
            raise ModelUnavailable(f"model {self._name} did not answer within {self._timeout:g} s") from None
        except OSError as error:
            raise ModelUnavailable(f"model {self._name} cannot be reached: {type(error).__name__}") from error
        if not text.strip():
            raise ModelOutputInvalid("empty")
        return Completion(text=text if schema is None else json_text(text), model=self._name)

    async def stream(
        self, messages: Sequence[PromptMessage], *, max_tokens: int, temperature: float
    ) -> AsyncGenerator[str]:
        """The whole answer as one piece. Raises what `complete` raises."""
        yield (await self.complete(messages, max_tokens=max_tokens, temperature=temperature)).text
