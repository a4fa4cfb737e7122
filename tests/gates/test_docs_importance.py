"""How important facts must be to be kept: the pages say of each strategy what it asks for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from anaphora.settings import load

DOCS = Path(__file__).parents[2] / "docs"
#: how each page says it: of the strategy that differs, then of all others
PAGES = {
    "reference/settings.md": "{odd} for `{name}`, {usual} for the others",
    "explanation/facts.md": "`{name}` asks for {odd}, the other strategies for {usual}",
    "how-to/facts.md": "of the strategy `{name}` ask for {odd}",
}


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_ask_for_the_importance_that_the_strategies_ask_for(page: str) -> None:
    least = {name: one.least_importance for name, one in load(db=":memory:").strategies().by_name.items()}
    [(usual, _)] = Counter(least.values()).most_common(1)
    [(name, odd)] = [(name, asked) for name, asked in least.items() if asked != usual]
    text = " ".join((DOCS / page).read_text(encoding="utf-8").split())
    assert PAGES[page].format(name=name, odd=odd, usual=usual) in text
