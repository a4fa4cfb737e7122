"""The reflector that asks a language model."""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.ports.models import ChatModel, TokenCounter
from anaphora.ports.reflection import ReflectionDraft, ReflectionRequest
from anaphora.prompts import reflection

#: tokens of JSON around the notes
_AROUND = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReflector:
    """One call a session, answered by JSON schema; the caller judges what comes back."""

    model: ChatModel
    counter: TokenCounter
    temperature: float
    #: tokens of messages in one prompt
    input_tokens: int

    async def reflect(self, request: ReflectionRequest) -> ReflectionDraft:
        """The whole new page, as notes.

        Raises:
            ModelError: the model failed or answered no such JSON.

        """
        prompt = reflection.build(request, input_tokens=self.input_tokens, count=self.counter.count)
        completion = await self.model.complete(
            prompt,
            schema=reflection.SCHEMA,
            max_tokens=2 * request.max_tokens + _AROUND,
            temperature=self.temperature,
        )
        return ReflectionDraft(
            notes=reflection.parse(completion.text),
            model=self.model.name,
            prompt_version=reflection.VERSION,
            echoes=reflection.ECHOES,
        )
