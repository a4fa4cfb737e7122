"""Search in all that a user may read: messages, facts, and what stretches of sessions were about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from anaphora.domain.chunks import Chunk
from anaphora.domain.keys import SessionKey, check_limit
from anaphora.domain.search import ChunkHit, FactHit, Hit, Kind, SearchResult
from anaphora.errors import InvalidInput, UnknownName
from anaphora.ports.facts import Reader
from anaphora.ports.store import Store, Unit
from anaphora.services.known import related
from anaphora.services.retrieve import MAX_LIMIT, Asked, Retrieve, Whose

#: messages whose facts and chunks are looked at, where messages are not asked for themselves
_LOOKED_AT: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Answers questions from one snapshot; what was found in it may then be put into a better order."""

    store: Store
    retrieve: Retrieve

    async def search(
        self,
        query: str,
        *,
        tenant: str,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        limit: int = 10,
        kinds: Collection[str] = (Kind.MESSAGES,),
    ) -> SearchResult:
        """What answers the query, best first.

        Args:
            query: free text; nothing in it is search syntax.
            tenant: whose store.
            user: who asks: own messages and chunks; own facts, and what others share.
            agent: only conversations with this agent, and what it learned.
            session: only this session (needs `agent`), and what was learned from it.
            limit: of each kind; 1 to 200.
            kinds: what to look for.

        Raises:
            InvalidInput: an over-long query, or a limit out of range.
            UnknownName: no such kind.

        """
        check_limit(limit, MAX_LIMIT)
        wanted = _checked(kinds)
        asked = await self.retrieve.ask(query)

        def find(unit: Unit) -> _Found:
            session_id = None
            if session is not None:
                row = unit.sessions.find(SessionKey(tenant=tenant, user=user, agent=agent or "", session=session))
                if row is None:
                    return _Found()
                session_id = row.id
            whose = Whose(tenant=tenant, user=user, agent=agent, session_id=session_id)
            return self._found(unit, asked, whose, limit, wanted)

        found = await self.store.read(tenant, find)
        return await self._in_order(asked, found, limit, wanted)

    def _found(self, unit: Unit, asked: Asked, whose: Whose, limit: int, wanted: Collection[Kind]) -> _Found:
        """What may be among the answers, and beside them."""
        looked_at = limit if wanted == {Kind.MESSAGES} else max(limit, _LOOKED_AT)
        beside = max(limit, self.retrieve.reranking.looks_at - looked_at)
        found = self.retrieve.look(unit, asked, whose, looked_at, beside=beside)
        return _Found(
            result=found,
            facts=_facts(unit, asked, whose, found.hits, limit) if Kind.FACTS in wanted else (),
            chunks=_chunks(unit, whose, found.hits) if Kind.CHUNKS in wanted else (),
        )

    async def _in_order(self, asked: Asked, found: _Found, limit: int, wanted: Collection[Kind]) -> SearchResult:
        """The best of each kind, no transaction being open: it may take a while to find out which those are."""
        hits, degraded = (*found.result.hits, *found.result.dropped), found.result.degraded
        if wanted != {Kind.FACTS}:
            hits, late = await self.retrieve.reranking.in_order(asked.text, hits)
            degraded += late
        shown = limit if Kind.MESSAGES in wanted else 0
        return SearchResult(
            hits=hits[:shown],
            dropped=hits[shown : 2 * shown],
            facts=tuple(found.facts),
            chunks=tuple(_best_first(found.chunks, hits)[:limit]),
            degraded=degraded,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What one snapshot brought."""

    result: SearchResult = field(default_factory=SearchResult)
    #: the most relevant first
    facts: Sequence[FactHit] = ()
    #: what speaks of the hits
    chunks: Sequence[Chunk] = ()


def _facts(unit: Unit, asked: Asked, whose: Whose, hits: Sequence[Hit], limit: int) -> Sequence[FactHit]:
    """The most relevant first; within one session those that were learned from what was found there."""
    reader = Reader(tenant=whose.tenant, user=whose.user, agent=whose.agent)
    found = related(unit, reader, asked, hits, by_words=whose.session_id is None)
    ranked = sorted(found, key=lambda hit: (-hit.relevance, -hit.fact.standing, hit.fact.id))
    return [hit if hit.fact.sources else _with_sources(unit, reader, hit) for hit in ranked[:limit]]


def _with_sources(unit: Unit, reader: Reader, hit: FactHit) -> FactHit:
    """What was found by its words alone was read without what it was learned from."""
    return replace(hit, fact=unit.facts.get(reader, hit.fact.id) or hit.fact) if hit.fact.owner == reader.user else hit


def _chunks(unit: Unit, whose: Whose, hits: Sequence[Hit]) -> Sequence[Chunk]:
    """Those that speak of the messages, by the order of their sessions."""
    by_session: dict[UUID, list[int]] = {}
    for hit in hits:
        by_session.setdefault(hit.session_id, []).append(hit.message.seq)
    found = (unit.chunks.at(whose.tenant, session_id, seqs) for session_id, seqs in by_session.items())
    return [chunk for chunks in found for chunk in chunks]


def _best_first(chunks: Sequence[Chunk], hits: Sequence[Hit]) -> Sequence[ChunkHit]:
    """In the order of the best message that each speaks of."""
    found: list[tuple[int, ChunkHit]] = []
    for chunk in chunks:
        at, best = next(
            (at, hit)
            for at, hit in enumerate(hits)
            if hit.session_id == chunk.session_id and hit.message.seq in chunk.range
        )
        found.append((at, ChunkHit(key=best.key, chunk=chunk, relevance=best.relevance, hit=best)))
    return [hit for _, hit in sorted(found, key=lambda entry: entry[0])]


def _checked(kinds: Collection[str]) -> frozenset[Kind]:
    known = [kind.value for kind in Kind]
    for kind in kinds:
        if kind not in known:
            raise UnknownName("kind", str(kind), known)
    if not kinds:
        raise InvalidInput(f"kinds must name at least one of {', '.join(known)}")
    return frozenset(map(Kind, kinds))
