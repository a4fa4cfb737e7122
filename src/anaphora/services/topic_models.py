"""A language model, asked about topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anaphora.domain.messages import Message
from anaphora.domain.summaries import Method
from anaphora.ports.models import ChatModel, TokenCounter
from anaphora.ports.topics import TopicDraft, TopicRequest
from anaphora.prompts import topic_shift, topic_summary

#: tokens that a verdict takes, with room for a model that thinks aloud around the JSON
_VERDICT: Final = 64
#: tokens of the prompt that messages may take before a verdict
_VERDICT_INPUT: Final = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTopics:
    """One call a verdict, one a topic, answered by JSON schema; the caller checks what comes back."""

    model: ChatModel
    counter: TokenCounter
    temperature: float
    #: tokens of messages in one prompt
    input_tokens: int

    async def is_same(self, topic: Sequence[Message], said: Message) -> bool:
        """Whether the message belongs to what was said before it.

        Raises:
            ModelError: the model failed or answered no such JSON.

        """
        prompt = topic_shift.build(
            topic, said, input_tokens=min(self.input_tokens, _VERDICT_INPUT), count=self.counter.count
        )
        completion = await self.model.complete(
            prompt, schema=topic_shift.SCHEMA, max_tokens=_VERDICT, temperature=self.temperature
        )
        return topic_shift.parse(completion.text)

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
        return TopicDraft(
            name=name,
            summary=summary,
            method=Method.MODEL,
            model=self.model.name,
            prompt_version=topic_summary.VERSION,
            echoes=topic_summary.ECHOES,
        )
