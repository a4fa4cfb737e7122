"""Workers and clients killed, the server restarted, three answers of the model in ten spoilt: nothing is lost (F14).

`make chaos`. How long it lasts is what `ANAPHORA_CHAOS_SECONDS` says (600), how it goes `ANAPHORA_CHAOS_SEED` (1).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from tests.chaos import laws
from tests.chaos.book import Book
from tests.chaos.storm import OF_SERVER, OF_WORKERS, WAYS, Storm, open_storm

pytestmark = [pytest.mark.chaos]

# read before the tests hide the environment
SECONDS: Final = float(os.environ.get("ANAPHORA_CHAOS_SECONDS", "600"))
SEED: Final = int(os.environ.get("ANAPHORA_CHAOS_SEED", "1"))


@pytest.mark.timeout(SECONDS + 300)
def test_whatever_is_killed_nothing_acknowledged_is_lost_and_nothing_is_stuck(tmp_path: Path) -> None:
    """I1-I7, I9, I14, I17."""
    # outside of pytest's folders: on some machines the user who runs the server may not enter them
    with tempfile.TemporaryDirectory(prefix="anaphora-chaos-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        with open_storm(tmp_path, Path(name) / "server", seed=SEED) as storm:
            begun = time.monotonic()
            storm.begin()
            storm.rage(SECONDS)
            raged = time.monotonic() - begun
            storm.calm()
            assert not storm.surprises, "\n".join(storm.surprises)
            books = storm.books()
            show("storm", account(storm, books, raged))
            show("quiet", {"seconds until idle": round(laws.seconds_until_idle(storm.url), 1)})
            show("jobs", laws.jobs_by(storm.url))
            show("failed for", laws.reasons(storm.url))
            show("served", laws.served_by(storm.url))
            show("kept", {"messages in the database": laws.check_logs(storm.url, books)})
            laws.check_order(books)
            laws.check_derived(storm.url)
            laws.check_contexts(storm.url, books)
            storm.run("doctor")
            check_nobody_stumbled(storm)
            check_the_faults_happened(storm, books)


def account(storm: Storm, books: Sequence[Book], seconds: float) -> Mapping[str, Any]:
    """What was done, and what was done to it."""
    acknowledged = sum(book.acknowledged for book in books)
    return {
        "seed": storm.seed,
        "seconds": round(seconds, 1),
        "messages acknowledged": acknowledged,
        "a second": round(acknowledged / seconds, 1),
        "deeds": together(book.deeds for book in books),
        "appends that met an error": sum(len(book.troubled) for book in books),
        "errors": together(book.errors for book in books),
        "left unanswered by killed clients": sum(book.taken_over for book in books),
        "deaths": dict(storm.deaths),
        "model answers": dict(storm.model.answers),
        "share of spoilt answers": round(storm.model.share, 3),
    }


def together(counts: Any) -> Mapping[str, int]:
    """Counts of several, added up."""
    found: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            found[name] = found.get(name, 0) + count
    return found


def show(title: str, figures: Mapping[str, Any]) -> None:
    """A line a figure, for whoever looks on (`-s`)."""
    print(f"\n{title}")
    for name, figure in figures.items():
        if isinstance(figure, Mapping):
            print(f"  {name}:")
            for part, count in sorted(figure.items(), key=lambda pair: -pair[1]):
                print(f"    {count:>7,} {part}")
        else:
            print(f"  {name}: {figure:,}" if isinstance(figure, int) else f"  {name}: {figure}")


def check_nobody_stumbled(storm: Storm) -> None:
    """No process met anything that it was not made for."""
    for child in storm.everybody:
        said = child.said()
        for word in ("Traceback", "stumbled", "unexpected", "Exception"):
            assert word not in said, f"{child.out.name}: {said[-3000:]}"


def check_the_faults_happened(storm: Storm, books: Sequence[Book]) -> None:
    """A run in which nothing went wrong proves nothing."""
    deaths, restarts = storm.deaths, int(SECONDS // (OF_SERVER[1] + 8))
    assert deaths["worker"] + deaths["worker ended by itself"] >= SECONDS / OF_WORKERS[1] / 1.5
    assert deaths["client"] >= SECONDS // 30
    for at, way in enumerate(WAYS):
        assert deaths[f"server {way}"] >= (restarts + len(WAYS) - 1 - at) // len(WAYS), way
    assert storm.model.answers.total() >= SECONDS / 4
    assert 0.2 <= storm.model.share <= 0.4
    assert sum(len(book.troubled) for book in books) >= restarts
    assert sum(book.acknowledged for book in books) >= 2 * SECONDS
    late = [name for name in laws.jobs_by(storm.url) if "done" in name and not name.endswith("attempt 1")]
    assert late, "no job was ever taken over or tried again"
