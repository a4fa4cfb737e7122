"""Find messages by their words, whatever left the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anaphora.domain.keys import SessionKey, checked_text
from anaphora.errors import InvalidInput
from anaphora.ports.rows import WordHit
from anaphora.ports.store import Store, Unit
from anaphora.rules.query_words import query_words

MAX_LIMIT = 200
MAX_QUERY_CHARS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve:
    """Full-text search within what one user may read."""

    store: Store

    async def search(
        self,
        query: str,
        *,
        tenant: str,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        limit: int = 10,
    ) -> Sequence[WordHit]:
        """Messages of this user that share words with the query, best first.

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
        checked_text(query, "the query")
        if len(query) > MAX_QUERY_CHARS:
            raise InvalidInput(f"the query is longer than {MAX_QUERY_CHARS:,} characters")
        if not 1 <= limit <= MAX_LIMIT:
            raise InvalidInput(f"limit must be between 1 and {MAX_LIMIT}")
        words = query_words(query)
        if not words.terms and not words.trigrams:
            return ()

        def find(unit: Unit) -> Sequence[WordHit]:
            session_id = None
            if session is not None:
                row = unit.sessions.find(SessionKey(tenant=tenant, user=user, agent=agent or "", session=session))
                if row is None:
                    return ()
                session_id = row.id
            return unit.words.search(
                tenant,
                user,
                agent=agent,
                session_id=session_id,
                terms=words.terms,
                trigrams=words.trigrams,
                limit=limit,
            )

        return await self.store.read(tenant, find)
