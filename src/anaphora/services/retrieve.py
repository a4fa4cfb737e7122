"""Find messages by their words and by what they mean, whatever left the prompt."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

import anyio.to_thread

from anaphora.domain.keys import checked_text
from anaphora.domain.search import Hit, SearchResult
from anaphora.domain.vectors import Scale, Space
from anaphora.errors import InvalidInput, ModelError, ModelOutputInvalid
from anaphora.ports.models import Embedder
from anaphora.ports.rows import VectorMatch
from anaphora.ports.store import Store, Unit
from anaphora.rules.evidence import weigh
from anaphora.rules.passages import passages
from anaphora.rules.query_words import QueryWords, query_words
from anaphora.rules.ranking import Ranked, promising, rank, undecided
from anaphora.services.reranking import Reranking

log = logging.getLogger("anaphora.retrieve")

MAX_LIMIT: Final = 200
MAX_QUERY_CHARS: Final = 10_000
#: candidates that each of the two searches names; more change the best ones no more
_BY_WORDS, _BY_MEANING = 600, 300
#: how much a passage loses for being close to everything
_COMMON: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as it is looked up."""

    text: str
    words: QueryWords
    #: what it means; None without an embedder
    vector: tuple[float, ...] | None
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """Where a question is looked up."""

    tenant: str
    user: str
    agent: str | None = None
    session_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """Search within what one user may read."""

    store: Store
    embedder: Embedder | None
    #: whether messages are to be compared by meaning at all
    by_meaning: bool
    #: what puts the first of what was found into a better order, once it is read
    reranking: Reranking = field(default_factory=Reranking)

    async def ask(self, query: str) -> Asked:
        """What to look up: may run the embedder, so it is done before any transaction.

        Raises:
            InvalidInput: an over-long query.

        """
        checked_text(query, "the query")
        if len(query) > MAX_QUERY_CHARS:
            raise InvalidInput(f"the query is longer than {MAX_QUERY_CHARS:,} characters")
        words = query_words(query)
        vector = None
        if self.embedder is not None and query.strip():
            vector = await _usable(self.embedder, query, words)
        degraded = ("embedder",) if self.by_meaning and vector is None else ()
        return Asked(text=query, words=words, vector=vector, degraded=degraded)

    def look(self, unit: Unit, asked: Asked, whose: Whose, limit: int, *, beside: int = 0) -> SearchResult:
        """The answer, from one snapshot; of what was found and has no place in it, the best `beside` are `dropped`."""
        by_words = unit.words.find(
            whose.tenant,
            whose.user,
            agent=whose.agent,
            session_id=whose.session_id,
            terms=asked.words.terms,
            pieces=asked.words.trigrams,
            limit=_BY_WORDS,
        )
        meant = self._nearest(unit, asked, whose)
        evidence = weigh(by_words, meant.matches, scale=self._scale(meant))
        wanted = limit + beside
        voices = dict(unit.lookup.voices(whose.tenant, promising(evidence, wanted)))
        voices |= unit.lookup.voices(whose.tenant, undecided(asked.text, evidence, voices, wanted))
        ranked = rank(asked.text, evidence, voices, limit=wanted)
        said = unit.lookup.messages(whose.tenant, [entry.place for entry in ranked])
        terms = (*asked.words.terms, *asked.words.trigrams)
        similar = [meant.similarity(entry) for entry in ranked]
        hits = [
            Hit(
                session_id=entry.place[0],
                key=entry.key,
                message=said[entry.place],
                passage=_part(passages(said[entry.place]), entry.part),
                score=entry.score,
                scores=entry.scores,
                words=tuple(terms[word] for word in entry.words),
                similarity=similarity,
                relevance=relevance(similarity, entry.share, self.embedder),
            )
            for entry, similarity in zip(ranked, similar, strict=True)
            if entry.place in said
        ]
        degraded = asked.degraded
        if not degraded and self.by_meaning and self._waits(unit, whose):
            degraded = ("vectors",)
        return SearchResult(hits=tuple(hits[:limit]), dropped=tuple(hits[limit:]), degraded=degraded)

    def _nearest(self, unit: Unit, asked: Asked, whose: Whose) -> _Meant:
        if asked.vector is None or self.embedder is None:
            return _Meant()
        space = space_of(self.embedder)
        common = unit.vectors.common(
            whose.tenant, whose.user, agent=whose.agent, session_id=whose.session_id, space=space
        )
        vector, meant = _without(asked.vector, common)
        matches = unit.vectors.nearest(
            whose.tenant,
            whose.user,
            agent=whose.agent,
            session_id=whose.session_id,
            space=space,
            vector=vector,
            limit=_BY_MEANING,
        )
        return replace(meant, matches=matches)

    def _scale(self, meant: _Meant) -> Scale | None:
        """How the cosines with the vector that was looked up are to be read."""
        if self.embedder is None:
            return None
        scale = self.embedder.profile.scale
        return Scale(mean=(scale.mean - meant.shift) / meant.length, spread=scale.spread / meant.length)

    def _waits(self, unit: Unit, whose: Whose) -> bool:
        return self.embedder is not None and unit.embedding.is_behind(
            whose.tenant, whose.user, agent=whose.agent, session_id=whose.session_id, space=space_of(self.embedder)
        )


def space_of(embedder: Embedder) -> Space:
    """Where the vectors of an embedder are."""
    return Space(profile=embedder.profile.id, dimensions=embedder.profile.dimensions)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meant:
    """What was found by meaning. Of a cosine with the vector that was looked up, `length * cosine + shift` is kept."""

    matches: Sequence[VectorMatch] = ()
    length: float = 1.0
    shift: float = 0.0

    def similarity(self, entry: Ranked) -> float | None:
        """The cosine with the question, less what the passage has in common with everything."""
        if entry.similarity is None:
            return None
        return max(-1.0, min(1.0, self.length * entry.similarity + self.shift))


def _without(vector: Sequence[float], common: Sequence[float]) -> tuple[Sequence[float], _Meant]:
    """The question without a part of what all passages have in common, so that those close to everything lose.

    On average over all passages the similarity stays what it is.
    """
    rest = [one - _COMMON * other for one, other in zip(vector, common, strict=True)] if common else []
    length = math.hypot(*rest)
    if not length:
        return vector, _Meant()
    return rest, _Meant(length=length, shift=_COMMON * math.fsum([value * value for value in common]))


async def _usable(embedder: Embedder, query: str, words: QueryWords) -> tuple[float, ...] | None:
    """What the question means; None if the embedder failed: words are found all the same.

    An embedder may be anybody's: whatever it raises ends no search. What it says may hold the question, its type not.
    """
    try:
        return await _vector(embedder, query, words)
    except ModelError as error:
        level, why = logging.INFO, str(error)
    except Exception as error:  # noqa: BLE001 - of somebody's own code
        level, why = logging.WARNING, f"unexpected {type(error).__name__}"
    log.log(level, "A question is looked up by its words alone: %s", why, extra={"event": "not_embedded"})
    return None


async def _vector(embedder: Embedder, query: str, words: QueryWords) -> tuple[float, ...]:
    """What the question means: halfway between all of it, embedded like a message, and its telling words, no names.

    Both are computed at once, where it can be by one call: who asks waits for one answer, not for two.

    Raises:
        ModelError: the embedder failed, or answered with what is no vector of its space.

    """
    telling = " ".join((*words.topic, *words.trigrams[::3])) or query
    made = await (_in_one_call if embedder.profile.alike else _in_two_calls)(embedder, query, telling)
    space = space_of(embedder)
    try:
        whole, short = (space.unit(vector) for vector in made)
    except InvalidInput as error:
        raise ModelOutputInvalid("out_of_range", str(error)) from None
    middle = [one + other for one, other in zip(whole, short, strict=True)]
    length = math.hypot(*middle)
    return tuple(value / length for value in middle) if length else short


async def _in_one_call(embedder: Embedder, query: str, telling: str) -> Sequence[Sequence[float]]:
    both = [query, embedder.profile.query_prefix + telling]
    return await anyio.to_thread.run_sync(embedder.embed, both, abandon_on_cancel=True)


async def _in_two_calls(embedder: Embedder, query: str, telling: str) -> Sequence[Sequence[float]]:
    made: dict[str, Sequence[float]] = {}

    async def make(name: str, ask: Callable[[], Sequence[float]]) -> None:
        made[name] = await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(make, "whole", lambda: embedder.embed([query])[0])
            group.start_soon(make, "short", lambda: embedder.embed_query(telling))
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return made["whole"], made["short"]


def _part(texts: Sequence[str], part: int) -> str:
    return texts[part] if part < len(texts) else texts[0]


def relevance(similarity: float | None, share: float, embedder: Embedder | None) -> float:
    """How likely the message has to do with the question; by words alone that is a guess, and a generous one."""
    if embedder is None:
        return math.sqrt(share)
    close = embedder.profile.relevance(similarity) if similarity is not None else 0.0
    return max(close, share)
