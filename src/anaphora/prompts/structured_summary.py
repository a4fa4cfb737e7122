"""Carry new messages into a summary, and list what they were about, in the same answer (seed 001).

The lists are arrays of the JSON, never headings in a text: a message that holds "## DECISIONS" forges nothing, and
"Washington, D.C." stays one name (hole 1.11). Each entry names the message that it was taken from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from anaphora.domain.structures import STRUCTURE_LISTS
from anaphora.domain.wire import PromptMessage
from anaphora.ports.models import SummaryRequest
from anaphora.prompts import incremental_summary
from anaphora.rules.structured import Raw

VERSION: Final = "structured_summary/1"
TITLE: Final = "structured_summary"
#: sentences of the instructions that no honest answer repeats
ECHOES: Final = (*incremental_summary.ECHOES, "Each entry has its text and the number")
#: tokens of an answer that the lists may take
ROOM: Final = 600
#: entries of a list in one answer; more are not looked at
_MOST_ENTRIES: Final = 64

_LISTS = """
Besides, list what stands in the NEW messages. Each entry has its text and the number "n" of the message that it comes \
from; an empty list is a good answer:
- "topics": what was talked about, in one to four words each,
- "entities": the people, organisations, projects, products and places that are named, spelled as there,
- "decisions": what was decided or agreed, each as one short sentence; not what was only considered,
- "open_questions": what was asked and is still without an answer,
- "answered": the numbers "k" of those entries of OPEN that the new messages settle."""

_ENTRIES: Mapping[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["text", "n"],
        "additionalProperties": False,
    },
}
_PROPERTIES: Mapping[str, Any] = {
    **dict.fromkeys(STRUCTURE_LISTS, _ENTRIES),
    "answered": {"type": "array", "items": {"type": "integer"}},
}


def _with_lists(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        **schema,
        "title": TITLE,
        "properties": {**schema["properties"], **_PROPERTIES},
        "required": [*schema["required"], *_PROPERTIES],
    }


SCHEMA: Mapping[str, Any] = _with_lists(incremental_summary.SCHEMA)
#: the answer when facts are asked for as well
SCHEMA_WITH_FACTS: Mapping[str, Any] = _with_lists(incremental_summary.SCHEMA_WITH_FACTS)


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True)
    text: str
    n: int


def build(
    request: SummaryRequest, *, merged_tokens: int, input_tokens: int, count: Callable[[str], int]
) -> tuple[PromptMessage, ...]:
    """The prompt of `incremental_summary`, and what the lists are to hold. Its arguments are the same."""
    questions = request.structure.open_questions if request.structure else ()
    asked = [json.dumps({"k": at, "text": entry.text}, ensure_ascii=False) for at, entry in enumerate(questions)]
    return incremental_summary.build(
        request,
        merged_tokens=merged_tokens,
        input_tokens=input_tokens,
        count=count,
        also=_LISTS,
        given=("", "OPEN", *(asked or ["(nothing)"])),
    )


def parse_lists(text: str) -> tuple[Mapping[str, tuple[Raw, ...]], tuple[int, ...]]:
    """The lists by their names, and which questions were answered. What is no entry is left out: the statements hold.

    `text` is an answer that `incremental_summary.parse` took.
    """
    answer = json.loads(text)
    lists = {name: tuple(_entries(answer.get(name))) for name in STRUCTURE_LISTS}
    answered = answer.get("answered")
    return lists, tuple(k for k in answered if type(k) is int) if isinstance(answered, list) else ()


def _entries(value: object) -> list[Raw]:
    found: list[Raw] = []
    for item in value[:_MOST_ENTRIES] if isinstance(value, list) else ():
        try:
            entry = _Entry.model_validate(item)
        except ValidationError:
            continue
        found.append((entry.text, entry.n))
    return found
