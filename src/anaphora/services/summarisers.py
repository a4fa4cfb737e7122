"""The summariser that asks a language model."""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.domain.summaries import Method
from anaphora.ports.models import ChatModel, SummaryDraft, SummaryRequest, TokenCounter
from anaphora.prompts import incremental_summary


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummariser:
    """One call a batch, answered by JSON schema; the caller validates what comes back."""

    model: ChatModel
    counter: TokenCounter
    temperature: float
    #: tokens of new messages in one prompt
    input_tokens: int

    async def summarise(self, request: SummaryRequest) -> SummaryDraft:
        """Statements about the new messages, each citing some of them.

        Raises:
            ModelError: the model failed or answered no such JSON.

        """
        prompt = incremental_summary.build(
            request, merged_tokens=request.merged_tokens, input_tokens=self.input_tokens, count=self.counter.count
        )
        # JSON, keys and numbers around the texts take about as much again
        room = 2 * (request.max_tokens + request.merged_tokens) + 40 * 8
        completion = await self.model.complete(
            prompt, schema=incremental_summary.SCHEMA, max_tokens=room, temperature=self.temperature
        )
        statements, merged = incremental_summary.parse(completion.text)
        return SummaryDraft(
            statements=statements,
            merged=merged if request.merge else None,
            method=Method.MODEL,
            model=self.model.name,
            prompt_version=incremental_summary.VERSION,
            echoes=incremental_summary.ECHOES,
        )
