"""Find messages by their words and by what they mean, whatever left the prompt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import anyio.to_thread

from anaphora.domain.keys import SessionKey, checked_text
from anaphora.domain.search import Hit, SearchResult
from anaphora.domain.vectors import Space
from anaphora.errors import InvalidInput, ModelError
from anaphora.ports.models import Embedder
from anaphora.ports.rows import VectorMatch
from anaphora.ports.store import Store, Unit
from anaphora.rules.passages import passages
from anaphora.rules.query_words import QueryWords, query_words
from anaphora.rules.ranking import Ranked, Scale, rank

MAX_LIMIT: Final = 200
MAX_QUERY_CHARS: Final = 10_000
#: candidates that each of the two searches names; more change the best ones no more
_BY_WORDS, _BY_MEANING = 600, 300


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

    async def search(
        self,
        query: str,
        *,
        tenant: str,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        limit: int = 10,
    ) -> SearchResult:
        """Messages of this user that answer the query, best first.

        Args:
            query: free text; nothing in it is search syntax.
            tenant: whose store.
            user: whose messages.
            agent: only conversations with this agent.
            session: only this session (needs `agent`).
            limit: 1 to 200.

        Raises:
            InvalidInput: an empty or over-long query, or a limit out of range.

        """
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidInput(f"limit must be between 1 and {MAX_LIMIT}")
        asked = await self.ask(query)

        def find(unit: Unit) -> SearchResult:
            session_id = None
            if session is not None:
                row = unit.sessions.find(SessionKey(tenant=tenant, user=user, agent=agent or "", session=session))
                if row is None:
                    return SearchResult()
                session_id = row.id
            whose = Whose(tenant=tenant, user=user, agent=agent, session_id=session_id)
            return self.look(unit, asked, whose, limit, beside=limit)

        return await self.store.read(tenant, find)

    async def ask(self, query: str) -> Asked:
        """What to look up: may run the embedder, so it is done before any transaction.

        Raises:
            InvalidInput: an empty or over-long query.

        """
        checked_text(query, "the query")
        if len(query) > MAX_QUERY_CHARS:
            raise InvalidInput(f"the query is longer than {MAX_QUERY_CHARS:,} characters")
        words = query_words(query)
        vector, degraded = None, ("embedder",) if self.by_meaning else ()
        if self.embedder is not None and query.strip():
            try:
                vector = await anyio.to_thread.run_sync(_vector, self.embedder, query, words)
                degraded = ()
            except ModelError:
                pass  # words are found all the same, and the answer says what is missing
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
        by_meaning = self._nearest(unit, asked, whose)
        keys = {(match.session_id, match.seq): match.key for match in by_words.found}
        keys |= {(match.session_id, match.seq): match.key for match in by_meaning}
        voices = unit.lookup.voices(whose.tenant, keys)
        scale = self._scale()
        ranked = rank(asked.text, by_words, by_meaning, voices, scale=scale)[: limit + beside]
        said = unit.lookup.messages(whose.tenant, [entry.place for entry in ranked])
        terms = (*asked.words.terms, *asked.words.trigrams)
        hits = [
            Hit(
                session_id=entry.place[0],
                key=keys[entry.place],
                message=said[entry.place],
                passage=_part(passages(said[entry.place]), entry.part),
                score=entry.score,
                scores=entry.scores,
                words=tuple(terms[word] for word in entry.words),
                similarity=entry.similarity,
                relevance=_relevance(entry, self.embedder),
            )
            for entry in ranked
            if entry.place in said
        ]
        degraded = asked.degraded
        if not degraded and self.by_meaning and self._waits(unit, whose):
            degraded = ("vectors",)
        return SearchResult(hits=tuple(hits[:limit]), dropped=tuple(hits[limit:]), degraded=degraded)

    def _nearest(self, unit: Unit, asked: Asked, whose: Whose) -> Sequence[VectorMatch]:
        if asked.vector is None or self.embedder is None:
            return ()
        return unit.vectors.nearest(
            whose.tenant,
            whose.user,
            agent=whose.agent,
            session_id=whose.session_id,
            space=space_of(self.embedder),
            vector=asked.vector,
            limit=_BY_MEANING,
        )

    def _scale(self) -> Scale | None:
        if self.embedder is None:
            return None
        profile = self.embedder.profile
        return Scale(mean=profile.unrelated_cosine, spread=profile.cosine_spread)

    def _waits(self, unit: Unit, whose: Whose) -> bool:
        return self.embedder is not None and unit.embedding.is_behind(
            whose.tenant, whose.user, agent=whose.agent, session_id=whose.session_id, space=space_of(self.embedder)
        )


def space_of(embedder: Embedder) -> Space:
    """Where the vectors of an embedder are."""
    return Space(profile=embedder.profile.id, dimensions=embedder.profile.dimensions)


def _vector(embedder: Embedder, query: str, words: QueryWords) -> tuple[float, ...]:
    """What the question means: halfway between the whole of it and its telling words, which leave names out."""
    whole = embedder.embed_query(query)
    telling = " ".join((*words.topic, *words.trigrams[::3]))
    if not telling or telling == query:
        return tuple(whole)
    short = embedder.embed_query(telling)
    middle = [one + other for one, other in zip(whole, short, strict=True)]
    length = math.hypot(*middle)
    return tuple(value / length for value in middle) if length else tuple(whole)


def _part(texts: Sequence[str], part: int) -> str:
    return texts[part] if part < len(texts) else texts[0]


def _relevance(entry: Ranked, embedder: Embedder | None) -> float:
    """How likely the message has to do with the question; by words alone that is a guess, and a generous one."""
    if embedder is None:
        return math.sqrt(entry.share)
    close = embedder.profile.relevance(entry.similarity) if entry.similarity is not None else 0.0
    return max(close, entry.share)
