"""Facts and chunks without a language model: what users state in plain words, and the sentences that say most."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anaphora.domain.facts import fallback_category
from anaphora.domain.summaries import Method
from anaphora.ports.extraction import ExtractionDraft, ExtractionRequest
from anaphora.ports.models import Summariser, SummaryRequest
from anaphora.rules.facts.spoken import facts_said
from anaphora.rules.facts.spoken_of import facts_said_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenExtractor:
    """Narrow rules for facts, chosen sentences for the chunk: deterministic, offline.

    Facts are found in English only; sentences are chosen in any language.
    """

    sentences: Summariser

    async def extract(self, request: ExtractionRequest) -> ExtractionDraft:
        """What users state of themselves and of the subject in plain words, and the sentences that say most."""
        draft = await self.sentences.summarise(
            SummaryRequest(
                points=(), merge=0, messages=request.messages, range=request.range, max_tokens=request.max_tokens
            )
        )
        other = fallback_category(request.categories)
        said = facts_said(request.messages)
        if request.subject is not None:
            said += facts_said_of(request.messages, request.subject)
        return ExtractionDraft(
            summary=" ".join(text for text, _ in draft.statements),
            candidates=tuple(
                found if found.category in request.categories else replace(found, category=other) for found in said
            ),
            method=Method.EXTRACTIVE,
            model=None,
            prompt_version=None,
        )
