"""What the state machine found, as small as it could be made."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.harness import conversation, opened, say, served, settle

from anaphora.domain.jobs import JobKind
from anaphora.domain.summaries import SummaryStatus
from anaphora.errors import ModelUnavailable
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat, faithful

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("turns", [64, 80])
async def test_a_rebuild_far_behind_the_log_makes_what_was_served_anew(turns: int, tmp_path: Path) -> None:
    """I6: a session remembers where its newest 64 turns begin; the served summary may end before all of them."""
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock, strategy="sliding_window") as memory:
        chat = conversation(memory)
        await say(chat, 36)
        await settle(memory, clock)
        before = await served(chat)
        assert before is not None
        assert before.range.stop == 36
        await say(chat, 2 * turns, start=36)
        await chat.edit(30, "#30# corrected is what was said")
        worker = memory._services.worker
        while (job := await worker.claim()) is not None and job.kind is not JobKind.REBUILD:
            pass  # somebody else has the summary of what is new in hand
        assert job is not None
        await worker.do(job)
        after = await served(chat)
        assert after is not None, "the summary is gone, and nothing was made in its place"
        assert after.range == before.range
        assert "corrected" in str(after.points)


async def test_a_rebuild_that_is_asked_for_keeps_nothing_of_one_that_waited_half_done(tmp_path: Path) -> None:
    """A digest is made again when a model is there, in steps; who asks for a rebuild meanwhile wants all of it new."""
    clock, model = FakeClock(), ScriptedChat()
    async with opened(tmp_path, chat=model, clock=clock, worker={"batch_messages": 10}) as memory:
        chat = conversation(memory)
        model.script = out_of_order
        await say(chat, 48)
        while (made := await served(chat)) is None or made.range.stop < 36:
            await memory.work()
            await clock.advance(60)
        model.script = faithful
        worker = memory._services.worker
        half: set[int] = set()
        while not half:
            await clock.advance(400)
            job = await worker.claim()
            assert job is not None
            await worker.do(job)
            half = {v.version for v in await chat.summaries() if v.status is SummaryStatus.BUILDING}
        assert await chat.rebuild()
        await settle(memory, clock)
        kept = {v.version for v in await chat.summaries() if v.status is SummaryStatus.COMPLETED}
        assert kept
        assert not kept & half


def out_of_order(*_: object) -> str:
    """No answer."""
    raise ModelUnavailable("out of order")
