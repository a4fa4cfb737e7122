"""A whole memory on a real, tiny model: its summaries are mostly nonsense, and nothing may break for it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from anaphora import Memory, Session
from anaphora.demo.script import load as load_script
from anaphora.errors import ModelError
from anaphora.settings import load

pytestmark = [pytest.mark.anyio, pytest.mark.models, pytest.mark.timeout(600)]

TURNS = 14


async def talk(chat: Session, text: str) -> int:
    """How many messages a turn left: two, or the question alone if the model's answer was none."""
    try:
        answer = await chat.send(text)
    except ModelError:
        return 1
    assert answer.text.strip()
    return 2


async def test_garbage_from_a_real_model_breaks_no_invariant(real_model_url: str, tmp_path: Path) -> None:
    """I1, I3, I9, I10, I20: every message accounted for at every turn, the budget kept, the queue drained."""
    settings = load(
        db=str(tmp_path / "memory.db"),
        model="openai:smollm2-135m",
        base_url=real_model_url,
        timeout=110,
        max_tokens=40,
        embedder="none",
        worker={"backoff_seconds": 0.05, "max_backoff_seconds": 0.2, "max_attempts": 2},
    )
    messages = load_script().sessions[0].messages[: 2 * TURNS]
    async with Memory.open(settings=settings) as memory:
        chat = memory.session(user="mara", session="spring")
        for at, message in enumerate(messages):
            await chat.add(message.role, message.content)
            context = await chat.context(budget=900)
            assert context.coverage.head == at + 1
            assert context.tokens <= 900
        said = await talk(chat, "What did I want to open?")
        assert await memory.idle(300)
        versions = await chat.summaries()
        assert versions, "no summary was made"
        assert all(point.text.strip() for version in versions for point in version.points)
        context = await chat.context()
        assert context.coverage.head == len(messages) + said
    connection = sqlite3.connect(tmp_path / "memory.db")
    states = connection.execute(
        "select kind, state, reason from jobs where state in ('queued', 'running') and not needs_model"
    ).fetchall()
    connection.close()
    assert not states, "I9: a job is still live"
