"""What every benchmark prints: its figures, the machine, the versions."""

from __future__ import annotations

import json
import platform
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import anaphora

RESULTS = Path(__file__).parent / "results"


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def report(name: str, figures: Mapping[str, float | int | str]) -> None:
    """Print the figures as JSON and keep them beside the benchmark."""
    document = {
        "benchmark": name,
        "figures": figures,
        "anaphora": anaphora.__version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "machine": f"{platform.system()} {platform.machine()}",
    }
    text = json.dumps(document, indent=1)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(text + "\n")
    sys.stdout.write(text + "\n")
