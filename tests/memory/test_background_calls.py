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
from anaphora.testing.scripted import ScriptedChat, faithful

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.deep,  # a thousand turns
    pytest.mark.sqlite_only("which calls are made does not depend on where the rows are"),
]

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "models.md"
#: how each strategy is set where its defaults are not meant
OPTIONS: Mapping[str, dict[str, Any]] = {
    "rolling_pairs": {},
    "sliding_window": {"sliding_window": {"min_new_messages": 12}},
    "topics": {},
    "batch_extraction": {},
}


def told() -> dict[str, float]:
    """What the page says that a turn costs, by strategy."""
    rows = re.findall(r"^\| `(\w+)`[^|]*\|.*\| (\d\.\d\d) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: float(cost) for name, cost in rows}


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


@pytest.mark.parametrize("strategy", OPTIONS)
async def test_a_turn_costs_the_calls_that_the_docs_tell(tmp_path: Path, strategy: str) -> None:
    turns, made = await calls(tmp_path, strategy, **OPTIONS[strategy])
    assert round(made.total() / turns, 2) == told()[strategy], dict(made)
