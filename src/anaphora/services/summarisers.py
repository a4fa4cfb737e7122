"""The summariser that asks a language model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anaphora.domain.summaries import Method
from anaphora.ports.models import ChatModel, SummaryDraft, SummaryRequest, TokenCounter
from anaphora.prompts import incremental_summary, structured_summary
from anaphora.services.extractors import answer_room


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
        task = incremental_summary if request.structure is None else structured_summary
        prompt = task.build(
            request, merged_tokens=request.merged_tokens, input_tokens=self.input_tokens, count=self.counter.count
        )
        # JSON, keys and numbers around the texts take about as much again
        room = 2 * (request.max_tokens + request.merged_tokens) + 40 * 8
        room += structured_summary.ROOM if request.structure is not None else 0
        schema, extraction = task.SCHEMA, request.extraction
        if extraction is not None:
            schema, room = task.SCHEMA_WITH_FACTS, room + answer_room(extraction)
        completion = await self.model.complete(prompt, schema=schema, max_tokens=room, temperature=self.temperature)
        statements, merged = incremental_summary.parse(completion.text)
        read = extraction and incremental_summary.parse_extraction(completion.text, extraction, model=self.model.name)
        draft = SummaryDraft(
            statements=statements,
            merged=merged if request.merge else None,
            method=Method.MODEL,
            model=self.model.name,
            prompt_version=task.VERSION,
            echoes=task.ECHOES,
            extraction=read or None,
        )
        if request.structure is None:
            return draft
        lists, answered = structured_summary.parse_lists(completion.text)
        return replace(draft, lists=lists, answered=answered)
