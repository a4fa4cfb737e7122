"""How well the gate tells facts from junk, on a file of labelled candidates.

One JSON object a line: `id`, `kind`, `speaker`, `subject`, `messages` (each `seq`, `role`, `name`, `content`),
`memory`, `fact` (`category`, `content`, `quote`, `seq`, `importance`) and `keep`, the label.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anaphora.domain.facts import LEAST_IMPORTANT, MAX_CONTENT, MOST_IMPORTANT, Candidate
from anaphora.domain.messages import Message, Role, Trust
from anaphora.rules.facts.gate import Judgement, Outcome, judge
from anaphora.services.importing.values import BadFile

#: when the messages of a file were said: it does not matter to the gate
_WHEN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TRUST: Final = {Role.USER: Trust.OWNER_SAID, Role.ASSISTANT: Trust.ASSISTANT, Role.TOOL: Trust.TOOL}


class _Spoken(BaseModel):
    model_config = ConfigDict(extra="forbid")
    seq: int = Field(ge=0)
    role: Role
    name: str | None = None
    content: str


class _Proposed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    category: str
    content: str = Field(min_length=1, max_length=MAX_CONTENT)
    quote: str
    seq: int = Field(ge=0)
    importance: int = Field(ge=LEAST_IMPORTANT, le=MOST_IMPORTANT)


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str
    kind: str
    speaker: str | None = None
    subject: str | None = None
    messages: list[_Spoken] = Field(min_length=1)
    memory: list[str] = []
    fact: _Proposed
    keep: bool
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A candidate with the conversation that it comes from, and whether it may be believed."""

    id: str
    kind: str
    speaker: str | None
    subject: str | None
    messages: tuple[Message, ...]
    memory: tuple[str, ...]
    candidate: Candidate
    keep: bool


def read(path: Path) -> list[Labelled]:
    """The rows of a file.

    Raises:
        BadFile: it cannot be read, has no rows, or a line is no labelled candidate; the line is named.

    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(str(path), "", f"cannot be read: {type(error).__name__}") from error
    rows: dict[str, Labelled] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = _labelled(_checked(path, number, line))
        if row.id in rows:
            raise BadFile(str(path), f"line {number}", f"the id {row.id!r} stands in the file twice")
        rows[row.id] = row
    if not rows:
        raise BadFile(str(path), "", "expected labelled candidates, one JSON object a line, but there are none")
    return list(rows.values())


def evaluate(rows: Iterable[Labelled]) -> dict[str, Any]:
    """What the gate does with the rows.

    Returns:
        `rows`; `true_facts`, `kept` and `kept_share` (accepted among those to keep); `junk`, `junk_accepted` and
        `junk_accepted_share`; `review`, how many were left to somebody; `by_kind`; and `wrong`: id, kind, label,
        outcome and reason of those that went wrong. A share of nothing is None.

    """
    judged = [(row, _judged(row)) for row in rows]
    kinds = dict.fromkeys(row.kind for row, _ in judged)
    return {
        **_figures(judged),
        "by_kind": {kind: _figures([entry for entry in judged if entry[0].kind == kind]) for kind in kinds},
        "wrong": [
            {"id": row.id, "kind": row.kind, "keep": row.keep, "outcome": result.outcome.value, "reason": result.reason}
            for row, result in judged
            if _right(row, result) is False
        ],
    }


def _figures(judged: Sequence[tuple[Labelled, Judgement]]) -> Mapping[str, Any]:
    keep = [result for row, result in judged if row.keep]
    junk = [result for row, result in judged if not row.keep]
    kept, let_in = _accepted(keep), _accepted(junk)
    return {
        "rows": len(judged),
        "true_facts": len(keep),
        "kept": kept,
        "kept_share": kept / len(keep) if keep else None,
        "junk": len(junk),
        "junk_accepted": let_in,
        "junk_accepted_share": let_in / len(junk) if junk else None,
        "review": sum(result.outcome is Outcome.REVIEW for _, result in judged),
    }


def _accepted(results: Sequence[Judgement]) -> int:
    return sum(result.outcome is Outcome.ACCEPT for result in results)


def _right(row: Labelled, result: Judgement) -> bool:
    return (result.outcome is Outcome.ACCEPT) is row.keep


def _judged(row: Labelled) -> Judgement:
    return judge(row.candidate, row.messages, speaker=row.speaker, subject=row.subject, memory=row.memory)


def _checked(path: Path, number: int, line: str) -> _Row:
    where = f"line {number}"
    try:
        return _Row.model_validate(json.loads(line))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadFile(str(path), where, f"{place or 'the row'}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise BadFile(str(path), where, "is no JSON") from error


def _labelled(row: _Row) -> Labelled:
    messages = tuple(
        Message(
            id=UUID(int=place),
            seq=spoken.seq,
            turn=spoken.seq,
            role=spoken.role,
            name=spoken.name,
            content=spoken.content,
            tokens=0,
            created_at=_WHEN,
            trust=_TRUST.get(spoken.role, Trust.OTHER),
        )
        for place, spoken in enumerate(row.messages)
    )
    fact = row.fact
    return Labelled(
        id=row.id,
        kind=row.kind,
        speaker=row.speaker,
        subject=row.subject,
        messages=messages,
        memory=tuple(row.memory),
        candidate=Candidate(
            category=fact.category, content=fact.content, quote=fact.quote, seq=fact.seq, importance=fact.importance
        ),
        keep=row.keep,
    )
