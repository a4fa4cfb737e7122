"""`anaphora reindex` and `worker`: what their help says is what they do."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run

from anaphora.memory import GRACE


def shown(run: Run, *words: str) -> str:
    done = run(*words, "--help")
    assert done.code == 0
    return " ".join(done.out.replace("│", " ").split())


def test_how_long_reindex_waits_is_what_its_help_says(run: Run) -> None:
    assert "[default: (1h)]" in shown(run, "reindex")
    assert "[default: (5m)]" in shown(run, "worker")


def test_reindex_says_that_it_does_whatever_is_due(run: Run) -> None:
    assert "whatever else is due" in shown(run, "reindex")


def test_how_long_work_in_hand_may_take_is_what_the_help_of_a_worker_says(run: Run) -> None:
    assert f"gets {GRACE:g} seconds" in shown(run, "worker")


def test_what_is_only_planned_forgets_nothing_and_is_not_asked_to(run: Run, imported: Path) -> None:
    assert imported.exists()
    done = run("reindex", "--plan-only", "--prune")
    assert done.code == 2
    assert done.complaint == "--prune forgets when all is done, --plan-only does nothing yet: give one of the two"
