"""What the tests of benchmarks share: questions asked in the small, results made by hand."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anaphora.bench.question import Question
from anaphora.bench.result import Figure, Result
from anaphora.bench.setup import Setup
from anaphora.bootstrap.system import SystemClock

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def setup(folder: Path, *, seed: int = 1) -> Setup:
    """As the command makes it; without the files of the local embedder."""
    return Setup(
        folder=folder, seed=seed, environment=dict(os.environ), models=folder / "no-models", say=lambda _: None
    )


async def asked(question: Question[Any], folder: Path) -> Result:
    """The question with its quick sizes."""
    return await question.ask(setup(folder), SystemClock(), quick=True)


def result(*figures: Figure, question: str = "append", started_at: datetime = NOW, **changes: Any) -> Result:
    """A result with these figures."""
    values: dict[str, Any] = {
        "question": question,
        "asks": "How fast?",
        "quick": False,
        "seed": 1,
        "sizes": {"messages": 10},
        "figures": figures,
        "notes": ("A note.",),
        "versions": {"anaphora": "0.1.0"},
        "machine": {"system": "Linux", "arch": "x86_64", "cores": 2, "memory_gib": 4.0},
        "started_at": started_at,
        "seconds": 1.5,
        **changes,
    }
    return Result(**values)
