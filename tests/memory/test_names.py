"""Names that cannot be one are refused wherever a list or a beginning takes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import opened

from anaphora import Memory
from anaphora.errors import InvalidInput

pytestmark = pytest.mark.anyio

ASKED: dict[str, Callable[[Memory, dict[str, Any]], Awaitable[Any]]] = {
    "topics": lambda memory, who: memory.topics.list(**who),
    "sessions": lambda memory, who: memory.sessions(**who),
    "new session": lambda memory, who: memory.new_session(**{"user": "alice", **who}),
}


@pytest.mark.parametrize("what", ["user", "agent", "tenant"])
@pytest.mark.parametrize(("name", "says"), [("a\udcffb", "not valid UTF-8"), ("", "must not be empty")])
@pytest.mark.parametrize("asked", ASKED)
async def test_what_cannot_be_a_name_is_refused(asked: str, what: str, name: str, says: str, tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(InvalidInput, match=f"{what} .*{says}"):
            await ASKED[asked](memory, {what: name})
