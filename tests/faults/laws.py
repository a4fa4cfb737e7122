"""What must hold of a database after a death, and after the recovery: read by plain SQL, then by our own doctor."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.faults.nursery import Child
from tests.faults.places import Place, rows
from tests.faults.programs import settings_for, text_of

from anaphora.bootstrap.maintenance import diagnose

#: messages that may wait for more of their kind before a summary is due: the window, and what the next one needs
NOT_DUE = 3
#: messages of which the first summary is due
FIRST_DUE = 4
_UNTOUCHED = (
    "select s.session_id, s.head from sessions s where not exists"
    " (select 1 from heads h where h.session_uid = s.id and h.reader like 'live:%')"
)
_CHAINS = (
    "select h.position, m.stop, s.head, s.id from sessions s join heads h on h.session_uid = s.id"
    " left join summaries m on m.id = h.summary_id where h.reader like 'live:%'"
)


def check_whole(place: Place) -> None:
    """A file is whole, and the seqs of each session are 0 to head - 1 (I2)."""
    if isinstance(place, Path):
        assert rows(place, "pragma integrity_check") == [("ok",)]
    heads: dict[Any, int] = dict(rows(place, "select id, head from sessions"))
    seqs: dict[Any, list[int]] = {session: [] for session in heads}
    for session, seq in rows(place, "select session_uid, seq from messages order by seq"):
        seqs[session].append(seq)
    assert {session: list(range(head)) for session, head in heads.items()} == seqs, "I2"


def log_of(place: Place, session: str = "s") -> list[str]:
    """The log of a session of the only user, text by text."""
    query = "select s.session_id, m.content from messages m join sessions s on s.id = m.session_uid order by m.seq"
    return [content for name, content in rows(place, query) if name == session]


def check_kept(place: Place, *, acked: dict[int, int], unanswered: Sequence[int], before: int = 0) -> int:
    """Every acknowledged message is in its place, and nothing that was never sent (I7); how many messages there are."""
    check_whole(place)
    log = log_of(place)
    for number, seq in acked.items():
        assert log[seq : seq + 1] == [text_of(number)], f"I7: acknowledged message {number} is lost"
    least = before + len(acked)
    assert least <= len(log) <= least + len(unanswered), "I7: more or less than was sent"
    assert log == [text_of(number) for number in range(len(log))]
    return len(log)


def check_settled(place: Place, *, honest: bool = True, refused: bool = False) -> None:
    """Nothing is due or stuck; versions tile, once each; heads stand where versions end (I3, I4, I6, I9).

    While the model is down (not `honest`), digests wait for it to be made again. Where the store `refused` things, jobs
    may have died of that, and others have done their work.
    """
    check_whole(place)
    left = rows(place, "select kind, state, needs_model from jobs where state not in ('done', 'failed')")
    assert left == [] or (not honest and left == [("rebuild", "queued", 1)]), f"I9: jobs are left: {left}"
    points = spans_by(place, "select summary_id, start, stop from points order by ordinal")
    for summary, start, stop in rows(place, "select id, start, stop from summaries"):
        spans = points[summary]
        assert _tiled(spans, start, stop), f"I3: points {spans} do not tile [{start}, {stop})"
    query = "select session_uid, strategy, start, stop from summaries where status = 'completed'"
    completed = rows(place, query)
    assert len(completed) == len(set(completed)), "two completed versions of one range"
    worked = spans_by(place, "select session_uid, start, stop from jobs where kind = 'summarise' and start is not null")
    for name, head in rows(place, _UNTOUCHED):
        assert head < FIRST_DUE, f"I9: the first {head} messages of {name} wait for a summary that is due"
    for position, stop, head, session in rows(place, _CHAINS):
        assert position == stop, "I6: the head is not where its version ends"
        assert head - position <= NOT_DUE, f"I9: {head - position} messages wait for a summary that is due"
        spans = sorted(worked[session])
        assert refused or _tiled(spans, 0, position), f"one job a range: {spans} up to {position}"
    check_sound(place)


def check_sound(place: Place) -> None:
    """Our own doctor finds no broken promise."""
    broken = [check for check in diagnose(settings_for(str(place)), stuck_seconds=0.0).checks if not check.ok]
    assert [check for check in broken if not check.warning] == []


def spans_by(place: Place, query: str) -> dict[Any, list[tuple[int, int]]]:
    """Ranges by what they belong to."""
    found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for owner, start, stop in rows(place, query):
        found[owner].append((start, stop))
    return found


def served_by(child: Child) -> dict[str, Any]:
    """What the recovered memory showed as context."""
    ((*words,),) = child.notes("context")
    served: dict[str, Any] = json.loads(" ".join(words))
    return served


def check_covered(served: dict[str, Any], *, head: int, honest: bool) -> None:
    """Each message is summarised, verbatim or declared; with an honest model nothing is left out (I1)."""
    parts = {name: _numbers(served[name]) for name in ("summarised", "verbatim", "elided")}
    assert sorted(n for part in parts.values() for n in part) == list(range(head)), f"I1: {served}"
    if honest:
        assert parts["elided"] == [], f"I1: left out for no reason: {served}"
        assert set(parts["summarised"]) <= set(served["canaries"]), "I1: said to be summarised, and is not"
        assert served["degraded"] == [], "I17: a digest was not made again"


def _numbers(spans: Iterable[Sequence[int]]) -> list[int]:
    return [number for start, stop in spans for number in range(start, stop)]


def _tiled(spans: Sequence[tuple[Any, ...]], start: int, stop: int) -> bool:
    at = start
    for first, last in spans:
        if first != at or last <= first:
            return False
        at = last
    return at == stop
