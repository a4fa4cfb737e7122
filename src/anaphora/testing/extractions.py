"""An extraction whose work can be checked: a fact for every plain statement of a user, quoted as it was said.

In a test a user says "I like figs.", or "Joe likes figs." of a subject; what a message says besides is no fact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

#: what users say in tests, and how it is said of them
_VERBS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "like": ("likes", "preference"),
        "hate": ("hates", "preference"),
        "live": ("lives", "other"),
        "work": ("works", "occupation"),
        "have": ("has", "other"),
        "play": ("plays", "hobby"),
    }
)
#: whom tests speak of
_OTHERS: Final = ("Joe", "Rex", "Tom", "The cat")
_SAID = re.compile(rf"\bI ({'|'.join(_VERBS)}) ([^.!?\n]+)|\b(?:{'|'.join(_OTHERS)}) (likes [^.!?\n]+)")


def faithful_extraction(prompt: str, *, under: str = "MESSAGES") -> dict[str, Any]:
    """What an honest model would answer to the user text of the prompt `summary_and_facts`.

    Args:
        prompt: the user text.
        under: the heading of the messages in it.

    """
    entries = _entries(prompt, under)
    texts = " ".join(str(entry["text"]) for entry in entries)
    facts = [fact for entry in entries if entry["who"] not in {"assistant", "tool"} for fact in _facts(entry)]
    return {"summary": f"They spoke: {' '.join(texts.split()[:12])}", "facts": facts}


def extraction_answer(prompt: str) -> str:
    """The same as the text of an answer."""
    return json.dumps(faithful_extraction(prompt), ensure_ascii=False)


def _facts(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for match in _SAID.finditer(str(entry["text"])):
        verb, category = _VERBS[match[1] or "like"]
        yield {
            "category": category,
            "content": f"The user {verb} {match[2]}" if match[1] else match[0],
            "quote": match[3] or match[0],
            "n": entry["n"],
            "importance": 5,
            "replaces": None,
        }


def _entries(prompt: str, under: str) -> list[Mapping[str, Any]]:
    _, _, after = prompt.partition(f"\n{under}\n")
    return [json.loads(line) for line in after.splitlines() if line]
