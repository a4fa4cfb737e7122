"""A language model, asked about topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anaphora.domain.summaries import Method
from anaphora.ports.models import ChatModel, TokenCounter
from anaphora.ports.topics import SegmentDraft, SegmentsRequest, TopicDraft, TopicRequest
from anaphora.prompts import topic_segments, topic_summary

#: topics for which one answer has room
_MOST: Final = 12
#: tokens that a topic takes beside its summary
_TOPIC: Final = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTopics:
    """One call a stretch, one a topic, answered by JSON schema; the caller checks what comes back."""

    model: ChatModel
    counter: TokenCounter
    temperature: float
    #: tokens of messages in one prompt
    input_tokens: int

    async def describe(self, request: TopicRequest) -> TopicDraft:
        """What the topic is called, and what was said in it.

        Raises:
            ModelError: the model failed or answered no such JSON.

        """
        prompt = topic_summary.build(request, input_tokens=self.input_tokens, count=self.counter.count)
        completion = await self.model.complete(
            prompt, schema=topic_summary.SCHEMA, max_tokens=2 * request.max_tokens + 120, temperature=self.temperature
        )
        name, summary = topic_summary.parse(completion.text)
        return self._draft(name, summary, topic_summary.VERSION, topic_summary.ECHOES)

    async def segments(self, request: SegmentsRequest) -> tuple[SegmentDraft, ...]:
        """Where topics begin, and what the ended ones were about.

        Raises:
            ModelError: the model failed or answered no such JSON.

        """
        prompt = topic_segments.build(request, input_tokens=self.input_tokens, count=self.counter.count)
        most = min(_MOST, 1 + len(request.certain) + len(request.doubtful))
        completion = await self.model.complete(
            prompt,
            schema=topic_segments.SCHEMA,
            max_tokens=120 + most * (2 * request.max_tokens + _TOPIC),
            temperature=self.temperature,
        )
        return tuple(
            SegmentDraft(
                first=first,
                draft=self._draft(name, summary, topic_segments.VERSION, topic_segments.ECHOES) if summary else None,
            )
            for first, name, summary in topic_segments.parse(completion.text, request)
        )

    def _draft(self, name: str, summary: str, version: str, echoes: tuple[str, ...]) -> TopicDraft:
        return TopicDraft(
            name=name,
            summary=summary,
            method=Method.MODEL,
            model=self.model.name,
            prompt_version=version,
            echoes=echoes,
        )
