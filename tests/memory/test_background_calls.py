"""What a turn costs in the background: calls of the memory model over the demo's conversation, by strategy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened

from anaphora.demo import script
from anaphora.domain.wire import PromptMessage
from anaphora.settings import load
from anaphora.testing.scripted import ScriptedChat, faithful

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.deep,  # a thousand turns
    pytest.mark.sqlite_only("which calls are made does not depend on where the rows are"),
]

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "models.md"
#: the rows of the page, each with what is set beside the defaults
OPTIONS: Mapping[str, dict[str, Any]] = {
    "rolling_pairs": {},
    "rolling_pairs, summarise_after = 12": {"rolling_pairs": {"summarise_after": 12}},
    "sliding_window": {},
    "sliding_window, min_new_messages = 12": {"sliding_window": {"min_new_messages": 12}},
    "token_budget": {},
    "topics": {"topics": {"batch": 48}},
    "batch_extraction": {},
}


def told() -> dict[str, float]:
    """What the page says that a turn costs, by its rows."""
    rows = re.findall(r"^\| (`[^|]+`) \|.*\| (\d\.\d\d) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name.replace("`", ""): float(cost) for name, cost in rows}


async def calls(folder: Path, strategy: str, **options: Any) -> tuple[int, Counter[str]]:
    """How many turns there were, and which calls they cost, by the title of their schemas."""
    made: Counter[str] = Counter()

    def counted(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        made[str((schema or {}).get("title"))] += 1
        return faithful(messages, schema)

    spring = script.load()
    turns = 0
    async with opened(folder, chat=ScriptedChat(counted), strategy=strategy, extraction="batch", **options) as memory:
        for part in spring.sessions:
            session = memory.session(user=spring.user, session=part.session)
            for turn in part.turns:
                pair = (turn.user, turn.assistant)
                await session.add_turn([{"role": said.role, "content": said.content} for said in pair])
                await memory.work()
                turns += 1
            await session.end()
            await memory.work()
    return turns, made


@pytest.mark.parametrize("row", OPTIONS)
async def test_a_turn_costs_the_calls_that_the_docs_tell(tmp_path: Path, row: str) -> None:
    turns, made = await calls(tmp_path, row.partition(",")[0], **OPTIONS[row])
    assert round(made.total() / turns, 2) == told()[row], dict(made)


def test_every_strategy_has_a_row_and_one_that_costs_a_call_in_five_turns_at_most() -> None:
    strategies = set(load(db=":memory:").strategies().by_name)
    cheap = {row.partition(",")[0] for row, cost in told().items() if cost <= 0.2}
    assert cheap == strategies == {row.partition(",")[0] for row in OPTIONS}
    assert set(told()) == set(OPTIONS)


def test_with_its_defaults_a_strategy_has_a_row_too() -> None:
    assert set(load(db=":memory:").strategies().by_name) <= set(told())
