"""Categories of somebody's own: whatever finds a fact, it is of one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened
from tests.memory.reading import APART

from anaphora.domain.facts import CATEGORIES, fallback_category
from anaphora.errors import ConfigError, UnknownName
from anaphora.settings import load

pytestmark = pytest.mark.anyio

OWN: dict[str, Any] = {"facts": {"categories": ["health", "work"]}}


async def test_what_is_added_without_a_category_is_of_the_one_for_everything_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        assert (await memory.facts.add("Likes figs", user="ann")).category == "other"
        assert (await memory.facts.add("Likes dates", user="ann", category=None)).category == "other"
    async with opened(tmp_path, **OWN) as memory:
        assert (await memory.facts.add("Likes plums", user="ann")).category == "work"
        assert (await memory.facts.add("Has asthma", user="ann", category="health")).category == "health"
        with pytest.raises(UnknownName, match="unknown category 'other'"):
            await memory.facts.add("Likes kiwis", user="ann", category="other")


async def test_what_rules_find_is_of_a_configured_category(tmp_path: Path) -> None:
    options: dict[str, Any] = {**OWN, **APART, "extraction": "turn"}
    async with opened(tmp_path, **options) as memory:
        session = memory.session(user="ann", session="s")
        await session.add("user", "I'm allergic to peanuts. I love green tea.")
        await session.add("assistant", "Noted.")
        await memory.work()
        found = await memory.facts.list(user="ann")
        assert {fact.category for fact in found} == {"work"}
        assert {fact.content for fact in found} >= {"Allergic to peanuts"}


def test_everything_else_is_other_where_there_is_such_a_category_and_the_last_where_there_is_none() -> None:
    assert fallback_category(CATEGORIES) == "other"
    assert fallback_category(("other", "work")) == "other"
    assert fallback_category(("health", "work")) == "work"


@pytest.mark.parametrize(
    ("categories", "why"),
    [
        ([], "facts.categories: "),
        (["health", ""], "facts.categories: the name of a category must not be empty"),
        (["health", "  "], "facts.categories: the name of a category must not be empty"),
        (["health", "work", "health"], "facts.categories: 'health' stands there twice"),
        (["health", "Health"], "facts.categories: 'Health' stands there twice"),
        ([" health"], "facts.categories: ' health' begins or ends with a space"),
        (["x" * 65], "facts.categories: the name of a category is longer than 64 characters"),
        (["a\nb"], "facts.categories: 'a\\nb' is not one line"),
        (["a\0b"], "facts.categories: the name of a category contains a NUL character"),
    ],
)
def test_a_category_that_nobody_could_name_is_refused_in_one_line(categories: list[str], why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(facts={"categories": categories})
    assert str(refused.value).startswith(why)
    assert "\n" not in str(refused.value)
