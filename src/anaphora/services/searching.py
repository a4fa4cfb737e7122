"""Search in all that a user may read: messages, facts, and what stretches of sessions were about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from anaphora.domain.keys import SessionKey
from anaphora.domain.search import ChunkHit, FactHit, Hit, Kind, SearchResult
from anaphora.errors import InvalidInput, UnknownName
from anaphora.ports.facts import Reader
from anaphora.ports.store import Store, Unit
from anaphora.services.knowledge import related
from anaphora.services.retrieve import MAX_LIMIT, Asked, Retrieve, Whose

#: messages whose facts and chunks are looked at, where messages are not asked for themselves
_LOOKED_AT: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Answers questions from one snapshot."""

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
            InvalidInput: an empty or over-long query, or a limit out of range.
            UnknownName: no such kind.

        """
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidInput(f"limit must be between 1 and {MAX_LIMIT}")
        wanted = _checked(kinds)
        asked = await self.retrieve.ask(query)

        def find(unit: Unit) -> SearchResult:
            session_id = None
            if session is not None:
                row = unit.sessions.find(SessionKey(tenant=tenant, user=user, agent=agent or "", session=session))
                if row is None:
                    return SearchResult()
                session_id = row.id
            whose = Whose(tenant=tenant, user=user, agent=agent, session_id=session_id)
            return self._found(unit, asked, whose, limit, wanted)

        return await self.store.read(tenant, find)

    def _found(self, unit: Unit, asked: Asked, whose: Whose, limit: int, wanted: Collection[Kind]) -> SearchResult:
        looked_at = limit if wanted == {Kind.MESSAGES} else max(limit, _LOOKED_AT)
        found = self.retrieve.look(unit, asked, whose, looked_at, beside=limit)
        facts = _facts(unit, asked, whose, found.hits)[:limit] if Kind.FACTS in wanted else ()
        chunks = _chunks(unit, whose, found.hits)[:limit] if Kind.CHUNKS in wanted else ()
        if Kind.MESSAGES not in wanted:
            return replace(found, hits=(), dropped=(), facts=tuple(facts), chunks=tuple(chunks))
        together = (*found.hits, *found.dropped)
        return replace(
            found,
            hits=together[:limit],
            dropped=together[limit : 2 * limit],
            facts=tuple(facts),
            chunks=tuple(chunks),
        )


def _facts(unit: Unit, asked: Asked, whose: Whose, hits: Sequence[Hit]) -> Sequence[FactHit]:
    """The most relevant first; within one session those that were learned from what was found there."""
    reader = Reader(tenant=whose.tenant, user=whose.user, agent=whose.agent)
    found = related(unit, reader, asked, hits, by_words=whose.session_id is None)
    ranked = sorted(found, key=lambda entry: (-entry[1], -entry[0].standing, entry[0].id))
    return [FactHit(fact=fact, relevance=relevance) for fact, relevance in ranked]


def _chunks(unit: Unit, whose: Whose, hits: Sequence[Hit]) -> Sequence[ChunkHit]:
    """In the order of the best message that each speaks of."""
    by_session: dict[object, list[Hit]] = {}
    for hit in hits:
        by_session.setdefault(hit.session_id, []).append(hit)
    found: list[tuple[int, ChunkHit]] = []
    for its in by_session.values():
        for chunk in unit.chunks.at(whose.tenant, its[0].session_id, [hit.message.seq for hit in its]):
            best = next(hit for hit in its if hit.message.seq in chunk.range)
            found.append((hits.index(best), ChunkHit(key=best.key, chunk=chunk, relevance=best.relevance)))
    return [hit for _, hit in sorted(found, key=lambda entry: entry[0])]


def _checked(kinds: Collection[str]) -> frozenset[Kind]:
    known = [kind.value for kind in Kind]
    for kind in kinds:
        if kind not in known:
            raise UnknownName("kind", str(kind), known)
    if not kinds:
        raise InvalidInput(f"kinds must name at least one of {', '.join(known)}")
    return frozenset(map(Kind, kinds))
