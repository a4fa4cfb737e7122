"""What a message costs in a prompt."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from anaphora.domain.messages import Part

#: how many tokens a text has
Count: TypeAlias = Callable[[str], int]
#: role and separators around each message of a chat prompt (OpenAI's cookbook figure)
MESSAGE_OVERHEAD = 4


def message_tokens(count: Count, content: str, *, name: str | None = None, parts: Sequence[Part] = ()) -> int:
    """Tokens of a message with its role, its name, and the parts that reach a prompt beside its text."""
    total = MESSAGE_OVERHEAD + count(content)
    if name:
        total += count(name) + 1
    for part in parts:
        kind = part.get("type")
        if kind == "tool_call":
            total += MESSAGE_OVERHEAD + count(f"{part.get('id')} {part.get('name')} {arguments_text(part)}")
        elif kind == "tool_result":
            shown = str(part.get("content", ""))
            total += count(str(part.get("id"))) + (count(shown) if shown != content else 0)
    return total


def arguments_text(part: Part) -> str:
    """The arguments of a tool call as they travel: JSON text."""
    value = part.get("arguments", {})
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
