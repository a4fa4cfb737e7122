"""The extractor that asks a language model."""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.ports.extraction import ExtractionDraft, ExtractionRequest
from anaphora.ports.models import ChatModel, TokenCounter
from anaphora.prompts import summary_and_facts

#: tokens of an answer that one message may be worth in facts
_FACTS_PER_MESSAGE = 60


def answer_room(request: ExtractionRequest) -> int:
    """Tokens that an answer may take."""
    return 2 * request.max_tokens + _FACTS_PER_MESSAGE * max(8, len(request.messages))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelExtractor:
    """One call a batch, answered by JSON schema; the caller judges what comes back."""

    model: ChatModel
    counter: TokenCounter
    temperature: float
    #: tokens of messages in one prompt
    input_tokens: int

    async def extract(self, request: ExtractionRequest) -> ExtractionDraft:
        """A summary of the messages, and facts that quote them.

        Raises:
            ModelError: the model failed or answered no such JSON.

        """
        prompt = summary_and_facts.build(request, input_tokens=self.input_tokens, count=self.counter.count)
        room = answer_room(request)
        completion = await self.model.complete(
            prompt, schema=summary_and_facts.SCHEMA, max_tokens=room, temperature=self.temperature
        )
        summary, candidates = summary_and_facts.parse(completion.text, request)
        return summary_and_facts.draft_of(
            summary,
            candidates,
            model=self.model.name,
            version=summary_and_facts.VERSION,
            echoes=summary_and_facts.ECHOES,
        )
