"""Honest answers about topics, read from the prompts of `prompts.topic_segments` and `prompts.topic_summary`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from anaphora.prompts.topic_segments import BEGINS, MAY_BEGIN
from anaphora.rules.topics.cues import telling

#: words of the first message in a name, and of all messages in a summary
_NAME: Final = 4
_SUMMARY: Final = 40


def segments(prompt: str) -> str:
    """A topic begins where a message that may begin one shares no telling word with the topic before it."""
    lines = _lines(prompt)
    begins, may = (_seqs(prompt, heading) for heading in (BEGINS, MAY_BEGIN))
    found: list[list[dict[str, Any]]] = [[]]
    for line in lines:
        known = telling(" ".join(earlier["text"] for earlier in found[-1]))
        new = line["n"] in begins or (line["n"] in may and not known & telling(line["text"]))
        if new and found[-1]:
            found.append([])
        found[-1].append(line)
    topics = [{"first": said[0]["n"], **_described([line["text"] for line in said])} for said in found if said]
    return json.dumps({"topics": topics}, ensure_ascii=False)


def description(prompt: str) -> str:
    """The first words of the first message for a name, the first words of all messages for a summary."""
    return json.dumps(_described([line["text"] for line in _lines(prompt)]), ensure_ascii=False)


def _described(texts: Sequence[str]) -> dict[str, str]:
    words = " ".join(texts).split()
    named = next((text for text in texts if text.strip()), "nothing")
    return {"name": " ".join(named.split()[:_NAME]), "summary": " ".join(words[:_SUMMARY])}


def _seqs(prompt: str, heading: str) -> frozenset[int]:
    """The numbers that stand on the line with the heading."""
    line = next((line for line in prompt.splitlines() if line.startswith(heading)), "")
    return frozenset(int(number) for number in re.findall(r"\d+", line))


def _lines(prompt: str) -> Sequence[dict[str, Any]]:
    return [json.loads(line) for line in prompt.splitlines() if line.startswith("{")]
