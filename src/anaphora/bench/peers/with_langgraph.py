"""LangGraph's `SqliteStore`: one item a message, in a namespace a user, with an index over its text."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from anaphora.bench.peers.embedding import TimedEmbedder
from anaphora.bench.peers.pragmas import durability
from anaphora.bench.peers.side import Said
from anaphora.errors import StoreError


class LangGraph:
    """A store that is set up."""

    def __init__(self, store: Any, put: Any, sqlite_version: str) -> None:  # noqa: ANN401 - packages that may not be here
        self._store = store
        self._put = put
        self._sqlite_version = sqlite_version
        self._keys = count()

    def append(self, user: str, said: Said) -> None:
        """Put one item."""
        self._store.put(("memories", user), str(next(self._keys)), _item(said))

    def append_many(self, user: str, said: Sequence[Said]) -> None:
        """Put a batch."""
        self._store.batch(
            [self._put(namespace=("memories", user), key=str(next(self._keys)), value=_item(one)) for one in said]
        )

    def search(self, user: str, query: str, limit: int) -> int:
        """Search by vector."""
        return len(self._store.search(("memories", user), query=query, limit=limit))

    def facts(self) -> Mapping[str, str]:
        """What it does."""
        return {
            "at an append": "embeds the text; one commit",
            "search goes by": "vectors, all of the user's (sqlite-vec)",
            "a commit is": durability(self._store.conn),
            "SQLite": self._sqlite_version,
        }


@contextmanager
def open_langgraph(folder: Path, embedder: TimedEmbedder, /) -> Iterator[LangGraph]:
    """A new store on a connection as `SqliteStore.from_conn_string` makes it.

    Raises:
        StoreError: this Python's SQLite cannot load the extension that the store needs.

    """
    store = importlib.import_module("langgraph.store.sqlite").SqliteStore
    put = importlib.import_module("langgraph.store.base").PutOp
    driver = _driver()
    index = {"dims": embedder.profile.dimensions, "embed": embedder.embed, "fields": ["text"]}
    with closing(driver.connect(str(folder / "store.db"), check_same_thread=False, isolation_level=None)) as connection:
        made = store(connection, index=index)
        made.setup()
        yield LangGraph(made, put, driver.sqlite_version)


def _driver() -> ModuleType:
    """Python's own SQLite if it can load extensions, else the package that brings one."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        return importlib.import_module("pysqlite3")
    except ImportError:
        raise StoreError(
            "LangGraph's SqliteStore needs a Python whose sqlite3 can load extensions: "
            "install pysqlite3-binary, or take another build of Python"
        ) from None


def _item(said: Said) -> dict[str, str]:
    role, text = said
    return {"role": role, "text": text}
