"""Anaphora, through its blocking API, as the others are blocking too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from anaphora.bench.peers.embedding import TimedEmbedder
from anaphora.bench.peers.side import Said
from anaphora.bench.setup import plain_settings
from anaphora.sync import Memory, Session


class Ours:
    """A memory without a worker: the others do no work in the background either."""

    def __init__(self, memory: Memory, db: Path) -> None:
        self._memory = memory
        self._db = db

    def append(self, user: str, said: Said) -> None:
        """Append one message."""
        self._chat(user).add(*said)

    def append_many(self, user: str, said: Sequence[Said]) -> None:
        """Append a turn."""
        self._chat(user).add_turn([{"role": role, "content": text} for role, text in said])

    def search(self, user: str, query: str, limit: int) -> int:
        """Search by words."""
        return len(self._memory.search(query, user=user, limit=limit))

    def facts(self) -> Mapping[str, str]:
        """What it does."""
        with closing(sqlite3.connect(self._db)) as connection:
            journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
        return {
            "at an append": "counts tokens, indexes words, plans summaries; embeds nothing",
            "search goes by": "words (FTS5, BM25), those of the user",
            "a commit is": f"synchronous full, journal {journal}",
            "SQLite": sqlite3.sqlite_version,
        }

    def _chat(self, user: str) -> Session:
        return self._memory.session(user=user, session="bench")


@contextmanager
def open_ours(folder: Path, _embedder: TimedEmbedder, /) -> Iterator[Ours]:
    """A new memory; it has no use for vectors of messages yet."""
    db = folder / "memory.db"
    with Memory.open(settings=plain_settings(db), worker=False) as memory:
        yield Ours(memory, db)
