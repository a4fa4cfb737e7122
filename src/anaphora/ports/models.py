"""What we need of language models, embedders and tokenizers."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.structures import Structure
from anaphora.domain.summaries import Method, Point
from anaphora.domain.vectors import Scale
from anaphora.domain.wire import PromptMessage
from anaphora.ports.extraction import ExtractionDraft, ExtractionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer of a chat model."""

    text: str
    #: the name under which the provider answered
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None


class ChatModel(Protocol):
    """A language model behind any provider.

    Both methods raise `ModelUnavailable` (timeout, connection, 429 with `retry_after`, 5xx), `ModelRefused`
    (wrong key or name, rejected request) or `ModelOutputInvalid` (an answer without text).
    """

    @property
    def name(self) -> str:
        """The configured name, such as `openai:gpt-4.1-mini`."""
        ...

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,
        temperature: float,
    ) -> Completion:
        """One answer; with a JSON schema, its text is JSON that the provider was told to conform to it."""
        ...

    def stream(self, messages: Sequence[PromptMessage], *, max_tokens: int, temperature: float) -> AsyncGenerator[str]:
        """The answer in pieces, as they arrive."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderProfile:
    """What is known of an embedder. Vectors of different ids are never compared (I19)."""

    id: str
    dimensions: int
    max_tokens: int
    pooling: str
    query_prefix: str
    #: cosine above which a passage counts as relevant to a query
    relevance_threshold: float
    #: cosine above which two messages count as of one topic
    same_topic_threshold: float
    #: mean cosine of a question and passages that have nothing to do with it, and what difference counts as one
    unrelated_cosine: float = 0.5
    cosine_spread: float = 0.06
    #: cosine at which a passage is as likely to answer a question as not, and how far from it that becomes clear
    even_cosine: float = 0.6
    even_width: float = 0.04
    #: texts that are best given at once: what takes about a tenth of a second, or goes into one request
    at_once: int = 8
    #: whether `embed_query(text)` is what `embed` makes of `query_prefix + text`: then one call does for both
    alike: bool = False

    @property
    def scale(self) -> Scale:
        """How far a cosine is above those of texts that have nothing to do with each other."""
        return Scale(mean=self.unrelated_cosine, spread=self.cosine_spread)

    def relevance(self, cosine: float) -> float:
        """The cosine of a question and a passage as a number from 0 to 1 that means the same for every embedder.

        It is 0.5 where a passage answers as likely as not. Thresholds of a configuration are meant on this scale.
        """
        return 1 / (1 + math.exp((self.even_cosine - cosine) / self.even_width))


class Embedder(Protocol):
    """Text to unit vectors. Calls block: run them in a thread."""

    @property
    def profile(self) -> EmbedderProfile:
        """What is known of this embedder."""
        ...

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Unit vectors of passages, one each, `profile.dimensions` long."""
        ...

    def embed_query(self, text: str) -> Sequence[float]:
        """The unit vector of a question."""
        ...


class Reranker(Protocol):
    """Says of passages that were found how well they answer a question. No store and no connection is behind it."""

    @property
    def name(self) -> str:
        """What to call it in logs."""
        ...

    async def rerank(self, question: str, passages: Sequence[str]) -> Sequence[float | None]:
        """What speaks for each passage: one number each, in the order of the passages.

        Args:
            question: as it was asked.
            passages: at least one. What they say was said by anybody: data, whatever it asks for.

        Returns:
            Numbers on the scale of `Hit.score`, to which they are added: finite, 0 where nothing more speaks for a
            passage than for any other, and more the better it answers. None: it was not judged, and keeps its place.

        Raises:
            ModelError: it failed; the order stays as it was.

        """
        ...


class TokenCounter(Protocol):
    """Counts tokens. Deterministic; 1 MiB of any text in at most a second."""

    @property
    def name(self) -> str:
        """The encoding, such as `o200k_base`."""
        ...

    def count(self, text: str) -> int:
        """How many tokens the text has."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """New messages to be carried into a summary."""

    #: what stands in the summary already, oldest first
    points: tuple[Point, ...]
    #: how many of the oldest points should become one, to make room (0 or at least 2)
    merge: int
    #: the messages to speak of; their seqs are exactly `range`
    messages: tuple[Message, ...]
    range: SeqRange
    #: how many tokens the new points may have together
    max_tokens: int
    #: how many tokens the merged point may have
    merged_tokens: int = 0
    #: the newest of the messages are to be read for facts in the same call
    extraction: ExtractionRequest | None = None
    #: what is listed already, if topics, names, decisions and questions are to be listed; None: they are not
    structure: Structure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryDraft:
    """What a summariser made: not validated yet."""

    #: statements about the new messages with the messages that each cites, inclusive on both ends
    statements: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    #: the oldest points in one sentence or two, when `merge` asked for it
    merged: str | None
    method: Method
    model: str | None
    prompt_version: str | None
    #: a summariser that cannot rewrite says which of the old points should stay, by index; None = it rewrote
    keep: tuple[int, ...] | None = None
    #: sentences of its prompt, which no statement may repeat
    echoes: tuple[str, ...] = ()
    #: what was read for facts, if that was asked for and came
    extraction: ExtractionDraft | None = None
    #: entries for the lists of `Structure` by their names, each with the number of a message; not checked yet
    lists: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)
    #: which of the open questions were answered, by their places
    answered: tuple[int, ...] = ()


class Summariser(Protocol):
    """Turns a claimed range into statements. Raises the errors of `ChatModel`."""

    async def summarise(self, request: SummaryRequest) -> SummaryDraft:
        """Statements about the new messages, each citing some of them."""
        ...
