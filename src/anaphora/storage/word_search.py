"""How words are searched on every database: its index names the passages, the sessions say who may see them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from anaphora.ports.rows import WordMatch, WordMatches
from anaphora.storage.scope import Ref, Scope, SessionNames

#: a passage: its session, the message's number, the part, how many parts there are; and which of the texts it has
Found = tuple[Ref, int, int, int, tuple[int, ...]]

#: a word that more passages of the scope have than this is no reason to look at a passage; so much of a long history is
#: looked at for each word, and no more
COMMON: Final = 2_000


def telling(having: Sequence[int]) -> Sequence[int]:
    """Which words are reasons to look at a passage: those that not very many have, or the rarest if all are so."""
    there = [many for many in having if many]
    most = max(COMMON - 1, min(there, default=0))
    return [at for at, many in enumerate(having) if 0 < many <= most]


class WordSearch(ABC):
    """`ports.search.WordIndex` over one transaction, for an index that says where words stand."""

    def __init__(self, connection: sa.Connection, names: SessionNames | None = None) -> None:
        self._connection = connection
        self._names = names or SessionNames(connection)

    def find(
        self,
        tenant: str,
        user: str,
        *,
        agent: str | None,
        session_id: UUID | None,
        terms: Sequence[str],
        pieces: Sequence[str],
        limit: int,
    ) -> WordMatches:
        """Passages that have any of the terms or of the pieces, those whose words are rarest together first."""
        scope = Scope(tenant=tenant, user=user, agent=agent, session_id=session_id)
        messages = scope.size(self._connection)
        if not messages or limit < 1:
            return WordMatches(messages=messages, having=(0,) * (len(terms) + len(pieces)), found=())
        by_words, having = self._by_words(scope, terms, messages, limit)
        by_pieces, having_pieces = self._by_pieces(scope, pieces, limit)
        found = _together(by_words, by_pieces, len(terms)) if by_pieces else by_words
        sessions = self._names.of(scope, {entry[0] for entry in found})
        return WordMatches(
            messages=messages,
            having=(*having, *having_pieces),
            found=[
                WordMatch(*at, seq, part, parts, words)
                for ref, seq, part, parts, words in found
                if (at := sessions.get(ref)) is not None
            ],
        )

    @abstractmethod
    def _by_words(
        self, scope: Scope, terms: Sequence[str], messages: int, limit: int
    ) -> tuple[Sequence[Found], Sequence[int]]:
        """The most promising passages for the terms, out of so many messages; and how many have each term."""

    @abstractmethod
    def _by_pieces(self, scope: Scope, pieces: Sequence[str], limit: int) -> tuple[Sequence[Found], Sequence[int]]:
        """The newest passages that have any of the pieces; and how many of them have each."""


def _together(by_words: Sequence[Found], by_pieces: Sequence[Found], terms: int) -> Sequence[Found]:
    """Each passage once; the pieces count on from the terms."""
    passages: dict[tuple[Ref, int, int, int], tuple[int, ...]] = {}
    for ref, seq, part, parts, has in by_words:
        passages[ref, seq, part, parts] = has
    for ref, seq, part, parts, has in by_pieces:
        words = passages.get((ref, seq, part, parts), ())
        passages[ref, seq, part, parts] = (*words, *(terms + number for number in has))
    return [(*passage, has) for passage, has in passages.items()]
