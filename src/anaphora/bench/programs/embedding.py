"""A server of vectors that mean nothing, for a service that is measured: told when to end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from anaphora.bench.child import hear, serve, tell
from anaphora.bench.hashing import HashingEmbedder
from anaphora.testing.model_server import ScriptedModelServer


def work(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Told `dimensions`; answers `url`, serves until it is told anything, then says how often it was asked."""
    embedder = HashingEmbedder(told["dimensions"])
    with ScriptedModelServer(embed=embedder.embed_query) as server:
        tell({"url": server.base_url})
        hear()
        return {"asked": len(server.embeddings.requests)}


if __name__ == "__main__":
    sys.exit(serve(work))
