"""Topics without a language model: telling words for a name, chosen sentences for a summary."""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.ports.models import Summariser, SummaryRequest
from anaphora.ports.topics import TopicDraft, TopicRequest
from anaphora.rules.topics.naming import name_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceTopics:
    """Names and summarises by rules: deterministic, offline."""

    sentences: Summariser

    async def describe(self, request: TopicRequest) -> TopicDraft:
        """The words that are said most in the topic, and the sentences that say most of it."""
        draft = await self.sentences.summarise(
            SummaryRequest(
                points=(), merge=0, messages=request.messages, range=request.range, max_tokens=request.max_tokens
            )
        )
        return TopicDraft(
            name=name_of(request.messages),
            summary=" ".join(text for text, _ in draft.statements),
            method=draft.method,
            model=None,
            prompt_version=None,
        )
