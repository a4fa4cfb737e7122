"""T10: what no store could hold is refused in one line that says what to do, and nothing is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from anaphora.errors import BudgetTooSmall, InvalidInput, UnknownName
from anaphora.testing.conformance.memory_laws.appends import CALL
from anaphora.testing.conformance.memory_laws.base import MemoryLaws
from anaphora.testing.conformance.memory_laws.conversations import conversation

HALF = "\ud83d"


def nested(depth: int) -> dict[str, Any]:
    """So many mappings in each other."""
    return {"x": nested(depth - 1)} if depth else {}


#: what is wrong: what the error says, and the arguments
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "NUL": ("NUL", {"content": "a\x00b"}),
    "half a surrogate pair": ("surrogate", {"content": f"smile {HALF}"}),
    "NUL in the name": ("NUL", {"name": "a\x00"}),
    "half a pair in metadata": ("surrogate", {"metadata": {"a": [HALF]}}),
    "half a pair in a key of metadata": ("surrogate", {"metadata": {HALF: 1}}),
    "NUL in a part": ("NUL", {"parts": [{"type": "text", "text": "\x00"}]}),
    "nothing": ("content or parts", {"content": ""}),
    "blanks": ("content or parts", {"content": " \n\t"}),
    "none": ("content or parts", {"content": None}),
    "a number": ("must be a string, not int", {"content": 7}),
    "bytes": ("must be a string, not bytes", {"content": b"hello"}),
    "unknown role": ("did you mean 'user'", {"role": "usr"}),
    "role of a wrong type": ("role", {"role": 3}),
    "no role": ("role", {"role": None}),
    "empty name": ("name", {"name": " "}),
    "endless name": ("name", {"name": "n" * 201}),
    "name of a wrong type": ("name", {"name": 5}),
    "time without a zone": ("time zone", {"created_at": datetime(2026, 1, 1)}),  # noqa: DTZ001 - that is the flaw
    "time as text": ("time zone", {"created_at": "2026-01-01T00:00:00Z"}),
    "a time that UTC does not have": (
        "created_at",
        {"created_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))},
    ),
    "too large": ("1,048,576", {"content": "x" * ((1 << 20) + 1)}),
    "too large in bytes": ("1,048,576", {"content": "ä" * ((1 << 19) + 1)}),
    "too large with its metadata": ("1,048,576", {"metadata": {"x": "y" * (1 << 20)}}),
    "deep metadata": ("20 levels", {"metadata": nested(21)}),
    "deep part": ("20 levels", {"parts": [{"type": "x", "y": nested(20)}]}),
    "very deep metadata": ("20 levels", {"metadata": nested(400)}),
    "no JSON": ("datetime, which is not JSON", {"metadata": {"a": datetime(2026, 1, 1, tzinfo=UTC)}}),
    "a number that JSON lacks": ("JSON cannot write", {"metadata": {"a": float("nan")}}),
    "a number too long for JSON": ("metadata", {"metadata": {"a": 10**5000}}),
    "metadata as a list": ("metadata", {"metadata": [1, 2]}),
    "metadata as text": ("metadata", {"metadata": "x"}),
    "metadata as pairs": ("metadata", {"metadata": [("a", 1)]}),
    "a part without type": ("type", {"parts": [{"text": "x"}]}),
    "a part as text": ("part", {"parts": ["x"]}),
    "parts as a number": ("parts", {"parts": 5}),
    "parts as one mapping": ("part", {"parts": CALL}),
    "a call without id": ('"id"', {"parts": [{"type": "tool_call", "name": "look"}]}),
    "a call without name": ('"name"', {"parts": [{"type": "tool_call", "id": "1"}]}),
    "a result without id": ('"id"', {"parts": [{"type": "tool_result"}]}),
    "an empty key": ("key", {"key": ""}),
    "an endless key": ("key", {"key": "k" * 201}),
}
NAMES: tuple[Any, ...] = ("", " ", "a\x00", HALF, "x" * 201, 7)


class RefusalLaws(MemoryLaws):
    """What is refused."""

    async def test_what_no_store_could_hold_is_refused_in_one_line_and_nothing_is_written(self, tmp_path: Path) -> None:
        """T10: the error names what was wrong, in one line, and neither a message nor a session is made."""
        async with self.opened(tmp_path) as memory:
            session = conversation(memory)
            for flaw, (says, given) in REFUSED.items():
                with pytest.raises(InvalidInput) as refused:
                    await session.add(**({"role": "user", "content": "hello"} | given))
                assert says in str(refused.value), flaw
                assert len(str(refused.value).splitlines()) == 1, flaw
                assert len(str(refused.value)) < 300, flaw
                assert len(await session.messages()) == 0, flaw
                assert len(await memory.sessions()) == 0, flaw
            assert (await session.add("user", "hello")).seq == 0

    async def test_names_that_no_store_could_hold_are_refused(self, tmp_path: Path) -> None:
        """T7: names have 1 to 200 characters of valid text; the error says which of them has not."""
        async with self.opened(tmp_path) as memory:
            for part in ("user", "session", "agent", "tenant"):
                for name in NAMES:
                    with pytest.raises(InvalidInput, match=part):
                        conversation(memory, **{part: name})

    async def test_a_strategy_that_nobody_knows_names_the_nearest(self, tmp_path: Path) -> None:
        """An unknown name is an error that helps."""
        async with self.opened(tmp_path) as memory:
            with pytest.raises(UnknownName, match="rolling_pairs"):
                conversation(memory, strategy="rolling_pair")

    async def test_a_budget_without_room_is_refused_and_says_what_is_needed(self, tmp_path: Path) -> None:
        """I10: rather an error than a prompt that is over its budget, or one without the conversation."""
        async with self.opened(tmp_path) as memory:
            for budget in (0, -5, 1, 63):
                with pytest.raises(BudgetTooSmall) as refused:
                    await conversation(memory).context("hello", budget=budget)
                assert (refused.value.budget, refused.value.needed) == (budget, 64)
            with pytest.raises(BudgetTooSmall, match="at least 69"):
                await conversation(memory, instructions="x" * 4).context("hello", budget=68)
            assert (await conversation(memory, instructions="x" * 4).context("hello", budget=69)).tokens <= 69
