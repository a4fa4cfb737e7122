"""`anaphora facts` where the configuration names categories of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.knowing import add, contents


def test_with_categories_of_ones_own_no_fact_needs_one(
    run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported.exists()
    monkeypatch.setenv("ANAPHORA_FACTS__CATEGORIES", '["health", "work"]')
    add(run, "Has asthma")
    assert contents(run, "--category", "work") == ["Has asthma"]
