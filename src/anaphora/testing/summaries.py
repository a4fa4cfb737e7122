"""A summariser whose work can be checked: it cites every message and says in the text which ones it means.

A message of a test carries its number as a canary, `#17#`. The statements carry stretches of them, `#12-17#`, so that
whoever reads a summary can tell which messages it speaks of, without asking the ranges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from anaphora.domain.keys import SeqRange, union
from anaphora.domain.structures import STRUCTURE_LISTS

_CANARY = re.compile(r"#(\d+)(?:-(\d+))?#")

#: messages that share a statement
PER_STATEMENT = 4


def canaries(text: str) -> set[int]:
    """The numbers that a text speaks of."""
    return {n for span in _spans(text) for n in span}


def faithful_summary(prompt: str, *, every: int = 1) -> str:
    """The JSON that an honest model would answer to the user text of the prompt `incremental_summary`.

    Args:
        prompt: the user text.
        every: 1 speaks of all messages; 2 of every second one, and so on: the others are cited by no statement.

    """
    earlier, new = _entries(prompt)
    if every > 1:
        return _partial(earlier, new[::every])
    points: list[dict[str, Any]] = []
    for at in range(0, len(new), PER_STATEMENT):
        group = new[at : at + PER_STATEMENT]
        spoken = " ".join(_gist(str(entry["text"])) for entry in group)
        marks = _marks(union(span for entry in group for span in _spans(str(entry["text"]))))
        text = f"{marks} {spoken}".strip() or "small talk"
        points.append({"text": text, "first": group[0]["n"], "last": group[-1]["n"]})
    return json.dumps({"points": points, "merged": _merged(earlier)}, ensure_ascii=False)


def faithful_lists(prompt: str) -> dict[str, Any]:
    """What an honest model would list to the user text of the prompt `structured_summary`.

    Messages that begin with "Decision:" decide, those that end with a question mark ask, "Names: A; B" names;
    "Answered: 0" settles the open question 0. What the first message says first is the topic.
    """
    _, new = _entries(prompt)
    lists: dict[str, Any] = {name: [] for name in (*STRUCTURE_LISTS, "answered")}
    for entry in new:
        text, n = str(entry["text"]), entry["n"]
        if entry is new[0] and _gist(text):
            lists["topics"].append({"text": _gist(text), "n": n})
        lists["decisions"] += [{"text": told, "n": n} for told in _after("Decision:", text)]
        lists["entities"] += [{"text": name, "n": n} for told in _after("Names:", text) for name in told.split("; ")]
        lists["answered"] += [int(told) for told in _after("Answered:", text)]
        if text.endswith("?"):
            lists["open_questions"].append({"text": text, "n": n})
    return lists


def retold_summary(prompt: str, answer: str) -> str:
    """The answer with what models often add: its last statement tells again what the old summary told.

    Words with letters and digits are told again, the first two of them and the last two: some are never dropped.
    """
    earlier, _ = _entries(prompt)
    words = (word for entry in earlier for word in _CANARY.sub("", str(entry["text"])).split())
    both = (word.strip("().,;:") for word in words if any(map(str.isdigit, word)) and any(map(str.isalpha, word)))
    told = list(dict.fromkeys(both))
    retold = [*told[:2], *told[2:][-2:]]
    summary = json.loads(answer)
    if retold and summary["points"]:
        summary["points"][-1]["text"] += f" ({' '.join(retold)} as before)"
    return json.dumps(summary, ensure_ascii=False)


def _after(mark: str, text: str) -> list[str]:
    return [text.removeprefix(mark).strip()] if text.startswith(mark) else []


def _partial(earlier: list[Mapping[str, Any]], spoken_of: list[Mapping[str, Any]]) -> str:
    points = [
        {"text": _marks(_spans(str(entry["text"]))) or "something", "first": entry["n"], "last": entry["n"]}
        for entry in spoken_of
    ]
    return json.dumps({"points": points, "merged": _merged(earlier)}, ensure_ascii=False)


def _merged(earlier: list[Mapping[str, Any]]) -> str | None:
    merging = [str(entry["text"]) for entry in earlier if entry["merge"]]
    marks = _marks(union(span for text in merging for span in _spans(text)))
    return f"{marks} earlier: {_gist(' '.join(merging))}".strip() if merging else None


def _entries(prompt: str) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    before, _, after = prompt.partition("\nNEW\n")
    before, _, _ = before.partition("\nKNOWN\n")
    before, _, _ = before.partition("\nOPEN\n")
    parse = [line for line in before.splitlines() if line.startswith("{")]
    return [json.loads(line) for line in parse], [json.loads(line) for line in after.splitlines() if line]


def _spans(text: str) -> Iterable[SeqRange]:
    for match in _CANARY.finditer(text):
        first = int(match[1])
        yield SeqRange(first, int(match[2] or first) + 1)


def _marks(spans: Iterable[SeqRange]) -> str:
    return " ".join(f"#{span.start}-{span.stop - 1}#" for span in spans)


def _gist(text: str) -> str:
    """The first words that are no canary."""
    return " ".join(_CANARY.sub("", text).split()[:3])
