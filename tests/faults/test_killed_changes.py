"""kill -9 around edits, deletions and what is done by hand: acknowledged changes stay, what is stale is made anew."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.faults.change_programs import take_of
from tests.faults.laws import check_whole
from tests.faults.nursery import Child, Nursery
from tests.faults.places import Place, as_left, few, on_a_server, rows
from tests.faults.programs import settings_for, text_of
from tests.faults.test_kills import Case, check_it_happened

from anaphora.bootstrap.maintenance import diagnose

pytestmark = pytest.mark.faults

ROUNDS = 60
#: counts for each failpoint that the program `change` reaches
CHANGES: Mapping[str, tuple[int, ...]] = {
    "message.edited": (1, 2, 3, 8),
    "message.deleted": (1, 2, 4),
    "session.rebuild_queued": (1, 2, 3),
    "session.ended": (1, 3),
    "ingest.appended": (1, 5, 16),
    "write.before_commit": tuple(range(20, 60, 4)),
    "write.after_commit": tuple(range(20, 60, 4)),
    "summarise.after_model": (4, 6, 8),
    "summarise.after_commit": (4, 6, 8),
}
MANAGED: Mapping[str, tuple[int, ...]] = {
    "session.numbered": (1, 3),
    "jobs.retried": (1, 2),
    "pause.begun": (1,),
    "pause.ended": (1,),
    "key.made": (1, 2),
    "key.used": (1,),
    "audit.noted": (2,),
    "key.replaced": (1,),
    "key.revoked": (1,),
}


def cases(
    plan: Mapping[str, tuple[int, ...]], program: str, choose: Callable[[Sequence[int]], Sequence[int]] = tuple
) -> Iterator[Case]:
    for name, counts in plan.items():
        for count in choose(counts):
            yield Case(name=name, count=count, program=program, model="honest")


@pytest.mark.sqlite_only("on a server there are fewer cases, by the next test")
@pytest.mark.parametrize("case", list(cases(CHANGES, "change")), ids=str)
def test_a_kill_around_a_change_keeps_it_whole_and_what_is_stale_is_made_anew(
    case: Case, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    check_kill_around_a_change(case, nursery, database, tmp_path)


@on_a_server
@pytest.mark.parametrize("case", list(cases(CHANGES, "change", few)), ids=str)
def test_a_client_that_is_killed_around_a_change_leaves_it_whole_and_what_is_stale_is_made_anew(
    case: Case, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    check_kill_around_a_change(case, nursery, database, tmp_path)


def check_kill_around_a_change(case: Case, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path) -> None:
    place = database(0)
    child = nursery.start("change", db=str(place), failpoint=f"{case.name}:{case.count}", count=ROUNDS)
    check_it_happened(child, nursery.reap(child), case)
    left = as_left(place, tmp_path / "left")
    check_whole(left)
    said = check_changes(left, child)
    again = nursery.run("find_changes", db=str(place))
    assert again.notes("quiet") == [["True"]]
    assert log_of(place) == said, "recovery changed the log"
    ((*words,),) = again.notes("context")
    check_served(json.loads(" ".join(words)), said)
    broken = [check for check in diagnose(settings_for(str(place)), stuck_seconds=0.0).checks if not check.ok]
    assert [check for check in broken if not check.warning] == []


@pytest.mark.sqlite_only("on a server there are fewer cases, by the next test")
@pytest.mark.parametrize("case", list(cases(MANAGED, "manage")), ids=str)
def test_a_kill_around_what_is_done_by_hand_leaves_nothing_half_done(
    case: Case, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    check_kill_around_managing(case, nursery, database, tmp_path)


@on_a_server
@pytest.mark.parametrize("case", list(cases(MANAGED, "manage", few)), ids=str)
def test_a_client_that_is_killed_around_what_is_done_by_hand_leaves_nothing_half_done(
    case: Case, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path
) -> None:
    check_kill_around_managing(case, nursery, database, tmp_path)


def check_kill_around_managing(case: Case, nursery: Nursery, database: Callable[[int], Place], tmp_path: Path) -> None:
    place = database(0)
    child = nursery.start("manage", db=str(place), failpoint=f"{case.name}:{case.count}", count=ROUNDS)
    check_it_happened(child, nursery.reap(child), case)
    left = as_left(place, tmp_path / "left")
    check_whole(left)
    names = {name for (name,) in rows(left, "select session_id from sessions")}
    assert {name for (name,) in child.notes("numbered")} <= names
    nursery.run("manage", db=str(place), count=1)
    assert len(rows(place, "select 1 from sessions")) == len(names) + 1
    broken = [check for check in diagnose(settings_for(str(place)), stuck_seconds=0.0).checks if not check.ok]
    assert [check for check in broken if not check.warning] == []


def log_of(place: Place) -> dict[int, str | None]:
    """What each message says; None for a tombstone."""
    found = rows(place, "select seq, content, deleted from messages order by seq")
    return {seq: None if deleted else content for seq, content, deleted in found}


def check_changes(left: Place, child: Child) -> dict[int, str | None]:
    """Each message says what was acknowledged last, or what was under way; every earlier version is kept."""
    log = log_of(left)
    acked = {seq: [text_of(seq)] for seq in child.acked}
    for edited, take in child.notes("edited"):
        acked[int(edited)].append(take_of(int(edited), int(take)))
    deleted = {int(gone) for (gone,) in child.notes("deleted")}
    under_way: dict[int, str | None] = {}
    last = [note for note in child.notes() if note[0] != "reached"][-1]
    if last[0] == "edit":
        under_way[int(last[1])] = take_of(int(last[1]), int(last[2]))
    elif last[0] == "delete":
        under_way[int(last[1])] = None
    versions: dict[int, list[str]] = defaultdict(list)
    for number, text in rows(left, "select seq, content from message_versions order by seq, version"):
        versions[number].append(text)
    for seq, takes in acked.items():
        wanted = {None if seq in deleted else takes[-1]} | ({under_way[seq]} if seq in under_way else set())
        assert log[seq] in wanted, f"message {seq}: an acknowledged change is lost"
        current = [] if log[seq] is None else [log[seq]]
        assert [*versions[seq], *current][: len(takes)] == takes, f"message {seq}: an earlier version is lost"
    return log


def check_served(served: Mapping[str, Any], log: Mapping[int, str | None]) -> None:
    """I1 with deletions; and the summary speaks of what the messages say now."""
    parts = {
        name: [n for start, stop in served[name] for n in range(start, stop)]
        for name in ("summarised", "verbatim", "elided", "deleted")
    }
    assert sorted(n for part in parts.values() for n in part) == list(range(len(log))), f"I1: {served}"
    assert parts["deleted"] == [seq for seq, content in log.items() if content is None]
    assert parts["elided"] == []
    assert served["degraded"] == [], "what is stale was not made anew"
    now = {word for content in log.values() if content for word in content.split()}
    spoken = {word for word in served["block"].split() if word.startswith(("take", "word"))}
    assert spoken <= now, "the summary speaks of what no message says any more"
