"""mem0 with `infer=False`: messages as they are, in qdrant's local store and mem0's history. No model is called."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from anaphora.bench.peers.embedding import TimedEmbedder
from anaphora.bench.peers.pragmas import durability
from anaphora.bench.peers.side import Said

#: where mem0 would call a service, it is given a key that no service takes
_NO_KEY = {"provider": "openai", "config": {"api_key": "none"}}


def quiet(folder: Path) -> Mapping[str, str]:
    """The environment in which mem0 tells nobody that it runs, and keeps its own files in the folder."""
    return {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}


class Mem0:
    """A memory that is set up."""

    def __init__(self, memory: Any, folder: Path) -> None:  # noqa: ANN401 - a package that may not be here
        self._memory = memory
        self._folder = folder

    def append(self, user: str, said: Said) -> None:
        """Add one message."""
        self.append_many(user, [said])

    def append_many(self, user: str, said: Sequence[Said]) -> None:
        """Add messages in one call."""
        messages = [{"role": role, "content": text} for role, text in said]
        self._memory.add(messages, user_id=user, infer=False)

    def search(self, user: str, query: str, limit: int) -> int:
        """Search by vector."""
        return len(self._memory.search(query, filters={"user_id": user}, top_k=limit)["results"])

    def facts(self) -> Mapping[str, str]:
        """What it does; its files are opened as mem0 and qdrant-client open them, with the defaults of `sqlite3`."""
        commits = set()
        for path in (self._folder / "history.db", *self._folder.rglob("storage.sqlite")):
            with closing(sqlite3.connect(path)) as connection:
                commits.add(durability(connection))
        return {
            "at an append": "embeds the text; two commits: vector, history",
            "search goes by": "vectors, those of all users (qdrant-client)",
            "a commit is": "; ".join(sorted(commits)),
            "SQLite": sqlite3.sqlite_version,
        }


@contextmanager
def open_mem0(folder: Path, embedder: TimedEmbedder, /) -> Iterator[Mem0]:
    """A new memory. The environment of the process must be `quiet`."""
    mem0 = importlib.import_module("mem0")
    base = importlib.import_module("mem0.embeddings.base").EmbeddingBase

    class Shared(base):  # type: ignore[misc, valid-type]  # a class that is known when the package is loaded
        """The shared embedder as mem0 calls one."""

        def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0's name
            return embedder.embed([text])[0]

    store = {
        "path": str(folder / "qdrant"),
        "collection_name": "bench",
        "embedding_model_dims": embedder.profile.dimensions,
        "on_disk": True,
    }
    memory = mem0.Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": _NO_KEY,
            "llm": _NO_KEY,
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = Shared()
    try:
        yield Mem0(memory, folder)
    finally:
        memory.vector_store.client.close()
        memory.close()
