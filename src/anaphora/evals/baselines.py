"""What words alone would find: whole messages by BM25, in memory, beside the memory that is measured."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from anaphora.evals.cases import Place
from anaphora.rules.query_words import query_words


class Bm25:
    """The messages of one user, ranked by SQLite's BM25 (k1 1.2, b 0.75) over Porter's stems."""

    def __init__(self, texts: Iterable[tuple[Place, str]]) -> None:
        self._places: list[Place] = []
        self._tables = sqlite3.connect(":memory:")
        self._tables.execute("CREATE VIRTUAL TABLE said USING fts5(content, tokenize='porter unicode61')")
        for place, text in texts:
            self._tables.execute("INSERT INTO said (rowid, content) VALUES (?, ?)", (len(self._places), text))
            self._places.append(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tables.close()

    def find(self, question: str, limit: int) -> Sequence[Place]:
        """Messages that have any of the question's telling words, best first; of equals the earlier."""
        words = " OR ".join(f'"{word}"' for word in query_words(question).terms)
        if not words:
            return []
        rows = self._tables.execute(
            "SELECT rowid FROM said WHERE said MATCH ? ORDER BY bm25(said), rowid LIMIT ?", (words, limit)
        )
        return [self._places[row] for (row,) in rows]
