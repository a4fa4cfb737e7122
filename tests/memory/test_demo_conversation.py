"""The demo's conversation, 200 turns, over real HTTP: what the memory saves, and that nothing falls through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.memory.harness import conversation

from anaphora import Memory
from anaphora.demo import script
from anaphora.demo.replay import Replay
from anaphora.domain.summaries import Method
from anaphora.settings import Settings
from anaphora.testing.model_server import Request, ScriptedModelServer

pytestmark = pytest.mark.anyio

TURNS = 200


def terse(request: Request) -> str:
    """As an honest model that keeps to its words: the first nine of every fourth message."""
    before, _, after = request.last_user_text.partition("\nNEW\n")
    new = [json.loads(line) for line in after.splitlines() if line]
    earlier = [json.loads(line) for line in before.splitlines() if line.startswith("{")]
    points: list[dict[str, Any]] = [
        {"text": _words(group[0]["text"], 9), "first": group[0]["n"], "last": group[-1]["n"]}
        for group in (new[at : at + 4] for at in range(0, len(new), 4))
    ]
    merging = [entry["text"] for entry in earlier if entry["merge"]]
    return json.dumps({"points": points, "merged": "Earlier: " + _words(" ".join(merging), 20) if merging else None})


def _words(text: str, count: int) -> str:
    return " ".join(text.split()[:count]).strip(".,;:!? ") + "."


async def test_two_hundred_turns_cost_a_fifth_and_every_message_is_accounted_for(tmp_path: Path) -> None:
    """Shown by, 5: >= 80 % fewer tokens at 200 turns, coverage intact on every turn, elided <= 5 %."""
    spring = script.load().cut(TURNS)
    assert [len(session.turns) for session in spring.sessions] == [TURNS]
    with ScriptedModelServer(responders={"incremental_summary": terse}) as server:
        settings = Settings(
            db=str(tmp_path / "demo.db"),
            embedder="none",
            durability="normal",
            model="openai:scripted",
            base_url=server.base_url,
        )
        async with Memory.open(settings=settings) as memory:
            replay = Replay(memory, spring)
            with anyio.fail_after(100):
                measures = [step.measure async for step in replay.run()]
            session = memory.session(user=spring.user, session="spring")
            chain = await session.summaries(limit=1000)
            end = await session.context("And how did it all begin?")
            jobs = await memory.jobs.list(limit=1000)
    assert [m.fault for m in measures if m.fault] == []
    assert {m.head for m in measures} == set(range(0, 2 * TURNS, 2))
    for m in measures:
        assert m.summarised + m.verbatim + m.elided == m.head

    last = 1 - end.tokens / end.tokens_full_history
    totals = replay.totals()
    elided = end.coverage.counts()["elided"] / (2 * TURNS)
    worst = max(m.elided / m.head for m in measures[1:])
    print(
        f"\n{TURNS} turns: last prompt {end.tokens} of {end.tokens_full_history} tokens ({last:.1%} saved), "
        f"all prompts {totals.tokens} of {totals.tokens_full_history} ({totals.saved:.1%} saved), elided {elided:.1%} "
        f"(at worst {worst:.1%}), {len(chain)} versions, {len(server.requests)} model calls"
    )
    assert last >= 0.80
    assert totals.saved >= 0.80
    assert elided <= 0.05
    assert worst <= 0.05
    assert max(summary.tokens for summary in chain) <= 150
    assert {summary.method for summary in chain} == {Method.MODEL}
    assert {job.attempt for job in jobs} == {1}
    assert len(server.requests) == len(chain) <= 1 + 2 * TURNS // 8


async def test_every_version_carries_on_from_the_one_before(tmp_path: Path) -> None:
    """The chain as an operator sees it: dense numbers, ranges from 0 that grow, nothing read twice."""
    cut = script.load().cut(60)
    settings = Settings(db=str(tmp_path / "demo.db"), embedder="none", durability="normal")
    async with Memory.open(settings=settings) as memory:
        replay = Replay(memory, cut)
        assert [step.measure.fault async for step in replay.run() if step.measure.fault] == []
        versions = replay.versions
        found = await conversation(memory, user=cut.user, agent=settings.agent, session="spring").context("x")
    assert [v.version for v in versions] == list(range(1, len(versions) + 1))
    assert [v.base for v in versions] == [None, *range(1, len(versions))]
    assert {v.start for v in versions} == {0}
    assert [v.stop for v in versions] == sorted({v.stop for v in versions})
    assert found.degraded == ("model",), "without a model it says so"
