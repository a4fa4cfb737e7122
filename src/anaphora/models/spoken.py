"""Facts and chunks without a language model: what users state in plain words, and the sentences that say most."""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.domain.facts import CATEGORIES
from anaphora.domain.summaries import Method
from anaphora.ports.extraction import ExtractionDraft, ExtractionRequest
from anaphora.ports.models import Summariser, SummaryRequest
from anaphora.prompts.summary_and_facts import FALLBACK
from anaphora.rules.facts.spoken import facts_said


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenExtractor:
    """Narrow rules for facts, chosen sentences for the chunk: deterministic, offline.

    Facts are found in English only; sentences are chosen in any language.
    """

    sentences: Summariser

    async def extract(self, request: ExtractionRequest) -> ExtractionDraft:
        """What the users of the messages state in plain words, and the sentences that say most of them."""
        draft = await self.sentences.summarise(
            SummaryRequest(
                points=(), merge=0, messages=request.messages, range=request.range, max_tokens=request.max_tokens
            )
        )
        known = set(request.categories) | ({FALLBACK} & set(CATEGORIES))
        return ExtractionDraft(
            summary=" ".join(text for text, _ in draft.statements),
            candidates=tuple(candidate for candidate in facts_said(request.messages) if candidate.category in known),
            method=Method.EXTRACTIVE,
            model=None,
            prompt_version=None,
        )
