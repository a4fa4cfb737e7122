"""How words are searched on every database: its index names candidates, and the best of their messages are the hits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import Any, Generic, TypeVar
from uuid import UUID

import sqlalchemy as sa

from anaphora.ports.rows import WordHit
from anaphora.storage.scope import Scope

#: what names a message in the index
Place = TypeVar("Place")
#: of each word of the question that a message has: how rare it is, and how often it stands there
Counts = list[tuple[float, int]]

#: candidates that are read and counted exactly, for each hit that was asked for
_CANDIDATES_PER_HIT = 4
_MIN_CANDIDATES = 64


class WordSearch(ABC, Generic[Place]):
    """`ports.search.WordIndex` over one transaction, for an index that says where words stand."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def search(
        self,
        tenant: str,
        user: str,
        *,
        agent: str | None,
        session_id: UUID | None,
        terms: Sequence[str],
        trigrams: Sequence[str],
        limit: int,
    ) -> Sequence[WordHit]:
        """Messages with any of the words (or all of the trigram strings), best first.

        Words are taken literally, whatever characters they have; a word of several tokens is a phrase. Equal
        scores: the newest first.
        """
        scope = Scope(tenant=tenant, user=user, agent=agent, session_id=session_id)
        documents, average = scope.size(self._connection)
        if not documents or limit < 1:
            return []
        keep = max(_MIN_CANDIDATES, limit * _CANDIDATES_PER_HIT)
        counts: dict[Place, Counts] = defaultdict(list)
        for find, texts in ((self._by_words, terms), (self._by_trigrams, trigrams)):
            for place, found in find(scope, texts, documents, keep).items():
                counts[place].extend(found)
        best = nlargest(limit, self._hits(scope, counts, average), key=lambda found: (found[1].score, found[0]))
        return [hit for _, hit in best]

    @abstractmethod
    def _by_words(self, scope: Scope, terms: Sequence[str], documents: int, keep: int) -> Mapping[Place, Counts]:
        """The most promising messages for the words, at most `keep`, out of so many documents of the scope."""

    @abstractmethod
    def _by_trigrams(self, scope: Scope, strings: Sequence[str], documents: int, keep: int) -> Mapping[Place, Counts]:
        """Messages that have all of the strings."""

    @abstractmethod
    def _hits(self, scope: Scope, counts: Mapping[Place, Counts], average: float) -> Iterable[tuple[Any, WordHit]]:
        """The messages, if they are in the scope, with their scores; each with what tells which came later."""
