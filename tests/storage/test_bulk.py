"""Many rows through one statement."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.databases.postgres import database_of
from tests.memory.harness import conversation, opened

from anaphora.errors import InvalidInput
from anaphora.storage.records import MOST, lists, packed
from anaphora.storage.tables import sessions

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("server", [False, True])
async def test_who_goes_on_with_a_session_leaves_its_key_alone(tmp_path: Path, *, server: bool) -> None:
    """Setting a key to what it is looks up everything that refers to it."""
    sent: set[str] = set()

    def note(*call: Any) -> None:
        sent.add(call[2])

    settings: dict[str, Any] = {"db": await database_of(tmp_path)} if server else {}
    async with opened(tmp_path, **settings) as memory:
        sa.event.listen(sa.Engine, "before_cursor_execute", note)
        try:
            await conversation(memory).add("user", "hello")
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", note)
    (update,) = [statement for statement in sent if statement.startswith("UPDATE sessions")]
    assigned = update.partition(" SET ")[2].partition(" WHERE ")[0]
    assert "turn_starts=" in assigned
    assert "tenant_id" not in assigned
    assert " id=" not in f" {assigned}".replace(",", " ")


def test_rows_are_sent_in_order_in_texts_of_a_bounded_length() -> None:
    rows = [{"text": "x" * (MOST // 3), "number": number} for number in range(7)]
    sent = list(lists(rows))
    assert [text.count('"number"') for text in sent] == [2, 2, 2, 1]
    assert [text.index(f'"number":{2 * at}') > 0 for at, text in enumerate(sent)] == [True] * 4
    assert max(map(len, sent)) <= MOST


def test_a_row_longer_than_any_text_should_be_goes_alone() -> None:
    assert [len(text) > MOST for text in lists([{"text": "x"}, {"text": "x" * MOST}, {"text": "x"}])] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("value", [datetime(2026, 1, 1), object(), float("nan")])  # noqa: DTZ001 - that is the point
def test_what_the_database_cannot_hold_is_told_before_anything_is_sent(value: object) -> None:
    with pytest.raises((InvalidInput, TypeError, ValueError)):
        list(packed(sessions, [{"tenant_id": "t", "updated_at": value}]))
