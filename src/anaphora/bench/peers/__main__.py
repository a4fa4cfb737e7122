"""Measure one system, part by part, and answer what `side.measured` gives."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from anaphora.bench.child import hear, serve, tell
from anaphora.bench.peers.embedding import shared_embedder
from anaphora.bench.peers.ours import open_ours
from anaphora.bench.peers.side import OpenSide, Order, Plan, measured
from anaphora.bench.peers.with_langgraph import open_langgraph
from anaphora.bench.peers.with_mem0 import open_mem0

SIDES: Mapping[str, OpenSide] = {"anaphora": open_ours, "langgraph": open_langgraph, "mem0": open_mem0}


def work(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Told side, plan, folder and models; ready, told one order after the other; told nothing more, answers."""
    embedder = shared_embedder(Path(told["models"]))
    with redirect_stdout(sys.stderr):  # a package may print what it likes, but not among the answers
        found = measured(SIDES[told["side"]], Plan(**told["plan"]), Path(told["folder"]), embedder, _orders())
    return {**found, "embedder": embedder.profile.id}


def _orders() -> Iterator[Order]:
    tell({"ready": True})
    while told := hear():
        if "finish" in told:
            return
        yield Order(**told)
        tell({"done": True})


if __name__ == "__main__":
    sys.exit(serve(work))
