from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from anaphora import Context, Memory
from anaphora.demo.replay import Replay, fault
from anaphora.demo.script import Script, ScriptMessage, load
from anaphora.errors import InvalidInput
from anaphora.settings import Settings
from anaphora.settings import load as load_settings

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def script() -> Script:
    return load()


def plain(db: Path, strategy: str = "rolling_pairs") -> Settings:
    return load_settings(db=str(db), strategy=strategy, embedder="none")


async def replayed(script: Script, db: Path, strategy: str) -> Replay:
    async with Memory.open(settings=plain(db, strategy=strategy)) as memory:
        replay = Replay(memory, script)
        async for _ in replay.run():
            pass
        return replay


@pytest.mark.parametrize("strategy", ["rolling_pairs", "sliding_window"])
async def test_every_message_is_accounted_for_at_every_turn(script: Script, tmp_path: Path, strategy: str) -> None:
    replay = await replayed(script.cut(30), tmp_path / "m.db", strategy)
    assert [m.fault for m in replay.measures] == [None] * 30
    assert [m.head for m in replay.measures] == list(range(0, 60, 2))
    assert all(m.summarised + m.verbatim + m.elided == m.head for m in replay.measures)


@pytest.mark.parametrize("strategy", ["rolling_pairs", "sliding_window"])
async def test_each_version_carries_on_from_the_one_before(script: Script, tmp_path: Path, strategy: str) -> None:
    replay = await replayed(script.cut(30), tmp_path / "m.db", strategy)
    assert len(replay.versions) >= 7
    for earlier, later in pairwise(replay.versions):
        assert (later.version, later.base) == (earlier.version + 1, earlier.version)
        assert earlier.start <= later.start <= earlier.stop < later.stop


async def test_sessions_have_chains_and_prompts_of_their_own(script: Script, tmp_path: Path) -> None:
    sessions = tuple(s.model_copy(update={"messages": s.messages[:24]}) for s in script.sessions[:2])
    short = script.model_copy(update={"sessions": sessions, "questions": ()})
    replay = await replayed(short, tmp_path / "m.db", "rolling_pairs")
    assert [m.head for m in replay.measures] == [*range(0, 24, 2), *range(0, 24, 2)]
    firsts = {v.session: v for v in reversed(replay.versions)}
    assert {name: (v.version, v.base) for name, v in firsts.items()} == {"spring": (1, None), "summer": (1, None)}
    assert (replay.totals().messages, replay.totals().intact) == (48, 24)


async def test_the_totals_add_up_and_the_memory_saves_tokens(script: Script, tmp_path: Path) -> None:
    replay = await replayed(script.cut(30), tmp_path / "m.db", "rolling_pairs")
    totals = replay.totals()
    assert (totals.turns, totals.messages, totals.intact) == (30, 60, 30)
    assert totals.tokens == sum(m.tokens for m in replay.measures)
    assert totals.saved == 1 - totals.tokens / totals.tokens_full_history
    assert totals.saved > 0.4
    assert replay.measures[-1].tokens < replay.measures[-1].tokens_full_history / 2


async def test_questions_of_the_past_are_found_with_their_rank(script: Script, tmp_path: Path) -> None:
    async with Memory.open(settings=plain(tmp_path / "m.db")) as memory:
        replay = Replay(memory, script.cut(30))
        async for _ in replay.run():
            pass
        findings = await replay.ask()
    assert [finding.rank for finding in findings] == [1] * len(findings)
    session, message = findings[0].found[0]
    assert (session, message.seq, f"{message.created_at:%Y-%m-%d}") == ("spring", 2, "2026-03-02")
    assert "Mrs Oduya" in message.content


async def test_a_conversation_that_is_there_already_is_not_said_twice(script: Script, tmp_path: Path) -> None:
    await replayed(script.cut(2), tmp_path / "m.db", "rolling_pairs")
    with pytest.raises(InvalidInput, match="already: give the demo a new file"):
        await replayed(script.cut(2), tmp_path / "m.db", "rolling_pairs")


async def said_and_shown(script: Script, db: Path) -> tuple[Sequence[ScriptMessage], Context]:
    messages = script.sessions[0].messages[:8]
    async with Memory.open(settings=plain(db), worker=False) as memory:
        chat = memory.session(user="mara", session="spring")
        for message in messages:
            await chat.add(message.role, message.content)
        return messages, await chat.context("And now?")


async def test_the_check_sees_a_message_that_is_missing_from_the_account(script: Script, tmp_path: Path) -> None:
    said, context = await said_and_shown(script, tmp_path / "m.db")
    assert fault(context, said) is None
    assert fault(context, [*said, said[0]]) == "message 8 is accounted for 0 times"
    assert fault(context, said[:-1]) == "message 7 is accounted for 1 times"


async def test_the_check_sees_a_message_that_is_shown_otherwise_than_it_was_said(
    script: Script, tmp_path: Path
) -> None:
    said, context = await said_and_shown(script, tmp_path / "m.db")
    changed = replace(context.messages[3], content="something else")
    forged = replace(context, messages=(*context.messages[:3], changed, *context.messages[4:]))
    assert fault(forged, said) == "message 3 is not in the prompt as it was said"
    without = replace(context, messages=context.messages[1:])
    assert fault(without, said) == "the messages in the prompt are not those that are declared verbatim"


async def test_the_check_sees_a_wrong_sum_and_an_overrun(script: Script, tmp_path: Path) -> None:
    said, context = await said_and_shown(script, tmp_path / "m.db")
    assert "over its budget" in str(fault(replace(context, tokens=context.tokens - 1), said))
    assert "over its budget" in str(fault(replace(context, budget=context.tokens - 1), said))
