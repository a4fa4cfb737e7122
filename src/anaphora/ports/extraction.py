"""What we need of whoever reads a stretch of a conversation for facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from anaphora.domain.facts import Candidate, Fact
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.summaries import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRequest:
    """Messages to be read for facts."""

    #: live messages of `range`, in order
    messages: tuple[Message, ...]
    range: SeqRange
    #: whose memory it is, as people read it
    speaker: str | None
    #: whom or what facts should be about; None: the speaker
    subject: str | None
    #: what is known already, so that it is not learned twice, and what changed can be said
    known: tuple[Fact, ...]
    categories: tuple[str, ...]
    #: tokens that the summary may have
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionDraft:
    """What was read out of them: nothing is believed of it yet."""

    #: what was talked about, and in which tone, in 2 to 4 sentences
    summary: str
    candidates: tuple[Candidate, ...]
    method: Method
    model: str | None
    prompt_version: str | None
    #: sentences of the prompt, which neither summary nor facts may repeat
    echoes: tuple[str, ...] = ()


class Extractor(Protocol):
    """Reads messages for facts. Raises the errors of `ChatModel`."""

    async def extract(self, request: ExtractionRequest) -> ExtractionDraft:
        """A summary of the messages, and facts that quote them."""
        ...
