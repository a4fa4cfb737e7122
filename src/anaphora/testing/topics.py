"""Honest answers about topics, read from the prompts of `prompts.topic_shift` and `prompts.topic_summary`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from anaphora.rules.topics.cues import telling

#: words of the first message in a name, and of all messages in a summary
_NAME: Final = 4
_SUMMARY: Final = 40


def verdict(prompt: str) -> str:
    """The same topic if the next message shares a telling word with what was said before it."""
    before, _, after = prompt.partition("\nNEXT\n")
    said = " ".join(line["text"] for line in _lines(before))
    shared = telling(said) & telling(" ".join(line["text"] for line in _lines(after)))
    return json.dumps({"same_topic": bool(shared)})


def description(prompt: str) -> str:
    """The first words of the first message for a name, the first words of all messages for a summary."""
    texts = [line["text"] for line in _lines(prompt)]
    words = " ".join(texts).split()
    return json.dumps(
        {"name": " ".join(texts[0].split()[:_NAME]) if texts else "", "summary": " ".join(words[:_SUMMARY])},
        ensure_ascii=False,
    )


def _lines(prompt: str) -> Sequence[dict[str, Any]]:
    return [json.loads(line) for line in prompt.splitlines() if line.startswith("{")]
