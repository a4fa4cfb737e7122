"""kill -9 of a command at every named failpoint (F2; I4, I7, I9, I12): run once more, it completes its work."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.faults.failpoint_names import failpoints
from tests.faults.laws import check_settled, check_sound, check_whole, log_of
from tests.faults.nursery import Child, Nursery
from tests.faults.places import Place, Places, as_left, change, everything, few, on_a_server, rows
from tests.faults.programs import BACKLOG, LEASE, text_of

from anaphora.testing.faults import Fault, ServerError, SlowDrip, Timeout
from anaphora.testing.model_server import ScriptedModelServer
from anaphora.testing.summaries import faithful_summary

pytestmark = pytest.mark.faults

#: sessions and messages of the imported file: each session is several blocks
SESSIONS, IMPORTED = 2, 650
#: the message that is edited and deleted, and what it says then
CHANGED, CORRECTED = 5, "#5# word5 was meant here"
WORDS: Mapping[str, tuple[str, ...]] = {
    "import": ("import", "chats.jsonl", "--user", "u"),
    "restore": ("import", "export.jsonl"),
    "worker": ("worker", "--drain", "--timeout", "20"),
    "rebuild": ("rebuild", "s", "--user", "u", "--wait", "--timeout", "20"),
    "reset": ("reset", "--session", "s", "--user", "u", "--yes"),
    "edit": ("edit", str(CHANGED), CORRECTED, "--session", "s", "--user", "u"),
    "delete": ("delete", str(CHANGED), "--session", "s", "--user", "u", "--yes"),
    "retry": ("jobs", "retry"),
}
#: what is wrong with the model until the command dies
FAULTS: Mapping[str, Fault | None] = {
    "honest": None,
    "slow": SlowDrip(seconds=LEASE / 6),
    "failing": ServerError(),
    "hanging": Timeout(),
}
#: a word of every message, as it also stands in the search index, and in no schema
ERASED = b"here"

_Plan = tuple[tuple[str, str, tuple[int, ...]], ...]
_EVERY_JOB: _Plan = (("worker", "none", (1,)), ("worker", "honest", (4,)), ("rebuild", "none", (3,)))
_EVERY_COMMIT: _Plan = (
    ("worker", "none", (1, 3)),
    ("rebuild", "none", (2, 4)),
    ("rebuild", "honest", (5,)),
    ("reset", "none", (1,)),
    ("edit", "none", (1,)),
    ("delete", "none", (1,)),
    ("retry", "none", (1,)),
    ("restore", "none", (2,)),
)
#: command, model and counts for each failpoint; () for those that are reached in conversation only
PLAN: Mapping[str, _Plan] = {
    "append.before_commit": (("import", "none", (1, 2, 3)),),
    "append.after_commit": (("import", "none", (1, 2, 3)),),
    "write.before_commit": _EVERY_COMMIT,
    "write.after_commit": _EVERY_COMMIT,
    "ingest.appended": (("import", "none", (1, 4)),),
    "jobs.retried": (("retry", "none", (1,)),),
    "message.deleted": (("delete", "none", (1,)),),
    "message.edited": (("edit", "none", (1,)),),
    "reset.before_commit": (("reset", "none", (1,)),),
    "restore.after_block": (("restore", "none", (1, 2)),),
    "session.ended": (),
    "session.numbered": (),
    "session.rebuild_queued": (("rebuild", "none", (1,)),),
    "session.reset": (("reset", "none", (1,)),),
    "worker.claimed": _EVERY_JOB,
    "worker.done": _EVERY_JOB,
    "worker.heartbeat": (("worker", "slow", (1, 3)), ("rebuild", "slow", (1,))),
    "worker.released": (("worker", "hanging", (1,)),),
    "worker.retry_planned": (("worker", "failing", (1, 2)), ("rebuild", "failing", (1,))),
    "worker.failed": (("rebuild", "failing", (1,)),),
    "summarise.assigned": _EVERY_JOB,
    "summarise.after_model": _EVERY_JOB,
    "summarise.after_commit": _EVERY_JOB,
}


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    count: int
    command: str
    model: str

    def __str__(self) -> str:
        return f"{self.name}-{self.count}-{self.command}-{self.model}"


def cases(choose: Callable[[Sequence[int]], Sequence[int]] = tuple) -> Iterator[Case]:
    for name, plan in PLAN.items():
        for command, model, counts in plan:
            for count in choose(counts):
                yield Case(name=name, count=count, command=command, model=model)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(
        responders={"incremental_summary": lambda request: faithful_summary(request.last_user_text)}
    ) as running:
        yield running


@pytest.fixture(scope="module")
def worked(
    places: Places, nursery: Nursery, prepared: Mapping[int, Place], tmp_path_factory: pytest.TempPathFactory
) -> Place:
    """A database whose work is done."""
    place = places.copy(prepared[BACKLOG], tmp_path_factory.mktemp("worked"))
    places.keep()
    assert nursery.run("labour", db=str(place)).notes("quiet") == [["True"]]
    return place


@pytest.fixture(scope="module")
def exported(places: Places, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of what is imported elsewhere here."""
    folder = tmp_path_factory.mktemp("exported")
    write_chats(folder)
    told: dict[str, Any] = {"db": str(places.new(folder)), "folder": str(folder)}
    places.keep()
    nursery.run("anaphora", words=WORDS["import"], **told)
    nursery.run("anaphora", words=["export", "export.jsonl"], **told)
    return folder / "export.jsonl"


@pytest.fixture
def prepare(
    places: Places,
    worked: Place,
    exported: Path,
    database: Callable[[int], Place],
    new: Callable[..., Place],
    tmp_path: Path,
) -> Callable[[Case], Place]:
    """Makes what a command works on, in the folder of the test."""

    def make(case: Case) -> Place:
        if case.command == "import":
            write_chats(tmp_path)
            return new()
        if case.command == "restore":
            shutil.copy(exported, tmp_path)
            return new()
        if case.command == "worker":
            return database(BACKLOG)
        assert ERASED in said_in(worked)
        place = places.copy(worked, tmp_path)
        if case.command == "retry":
            assert change(place, "update jobs set state = 'failed' where start = 0") == 1
        return place

    return make


def write_chats(folder: Path) -> None:
    """A file to import."""
    with (folder / "chats.jsonl").open("w", encoding="utf-8") as lines:
        for session in range(SESSIONS):
            said = [{"role": "user", "content": text_of(number)} for number in range(IMPORTED)]
            lines.write(json.dumps({"session": f"s{session}", "messages": said}) + "\n")


def test_the_plan_names_failpoints_of_the_package() -> None:
    """That every other one has its cases elsewhere is asked by test_failpoint_names."""
    assert set(PLAN) <= set(failpoints())


@pytest.mark.sqlite_only("on a server there are fewer cases, by the next test")
@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_a_command_that_is_killed_at_a_failpoint_completes_when_it_is_run_again(
    case: Case, server: ScriptedModelServer, prepare: Callable[[Case], Place], nursery: Nursery, tmp_path: Path
) -> None:
    check_kill_and_second_run(case, server, prepare, nursery, tmp_path)


@on_a_server
@pytest.mark.parametrize("case", list(cases(few)), ids=str)
def test_a_command_that_is_killed_while_it_uses_a_server_completes_when_it_is_run_again(
    case: Case, server: ScriptedModelServer, prepare: Callable[[Case], Place], nursery: Nursery, tmp_path: Path
) -> None:
    check_kill_and_second_run(case, server, prepare, nursery, tmp_path)


def check_kill_and_second_run(
    case: Case, server: ScriptedModelServer, prepare: Callable[[Case], Place], nursery: Nursery, tmp_path: Path
) -> None:
    place = prepare(case)
    environment = {} if case.model == "none" else environment_of(server)
    told: dict[str, Any] = {"db": str(place), "words": WORDS[case.command], "folder": str(tmp_path)}
    server.reset()
    server.fault = FAULTS.get(case.model)
    failpoint = {"ANAPHORA_FAILPOINT": f"{case.name}:{case.count}"}
    child = nursery.start("anaphora", environment={**environment, **failpoint}, **told)
    if case.model == "hanging":
        end_politely(child, server)
    code = nursery.reap(child)
    assert code == -9, f"hollow run: it ended with {code}: {child.errors()}"
    left = as_left(place, tmp_path / "left")
    check_whole(left)
    check_sound(left)
    if case.command in {"worker", "rebuild", "retry"}:
        assert log_of(left) == [text_of(number) for number in range(BACKLOG)]
    server.fault = None
    nursery.run("anaphora", environment=environment, **told)
    check_done(case, place)


def environment_of(server: ScriptedModelServer) -> dict[str, str]:
    """The settings for a model."""
    return {"ANAPHORA_MODEL": "openai:scripted", "ANAPHORA_BASE_URL": server.base_url, "ANAPHORA_API_KEY": "k"}


def end_politely(child: Child, server: ScriptedModelServer) -> None:
    """Two signals while the model is asked."""
    deadline = time.monotonic() + 20
    while not server.requests:
        assert time.monotonic() < deadline, child.errors()
        time.sleep(0.005)
    for _ in range(2):
        child.signal(signal.SIGTERM)
        time.sleep(0.1)


def check_done(case: Case, place: Place) -> None:
    """The work of the command is done, once."""
    check_sound(place)
    said = [text_of(number) for number in range(BACKLOG)]
    if case.command in {"import", "restore"}:
        check_whole(place)
        for session in range(SESSIONS):
            assert log_of(place, f"s{session}") == [text_of(number) for number in range(IMPORTED)], "I7, I14"
    elif case.command == "reset":
        check_settled(place)
        assert rows(place, "select count(*) from messages") == [(0,)]
        assert remains(place) == [], "I12"
    elif case.command in {"edit", "delete"}:
        wanted = CORRECTED if case.command == "edit" else ""
        assert log_of(place) == [*said[:CHANGED], wanted, *said[CHANGED + 1 :]]
        versions = rows(place, "select seq, version, content from message_versions")
        assert versions == [(CHANGED, 1, text_of(CHANGED))], "it was changed twice"
    elif case.command == "retry":
        assert rows(place, "select count(*) from jobs where state = 'failed'") == [(0,)]
        assert rows(place, "select start, attempt from jobs where state = 'queued'") == [(0, 0)]
    else:
        check_settled(place, honest=case.model != "none")
        assert log_of(place) == said


def said_in(place: Place) -> bytes:
    """All that stands in a database: in the file itself, or in the rows that a server shows."""
    return place.read_bytes() if isinstance(place, Path) else str(everything(place)).encode()


def remains(place: Place) -> list[str]:
    """The files of a database in which erased words still stand, or the database itself."""
    if not isinstance(place, Path):
        return [str(place)] if ERASED in said_in(place) else []
    return [file.name for file in place.parent.glob(f"{place.name}*") if ERASED in file.read_bytes()]


@pytest.mark.sqlite_only("a server's files are its own: what its rows leave behind goes when it vacuums them")
def test_what_a_killed_reset_leaves_in_the_files_is_gone_when_the_next_command_has_opened_them(
    prepare: Callable[[Case], Place], nursery: Nursery, tmp_path: Path
) -> None:
    """I12: the reset was committed, but its process died before it could clean up."""
    case = Case(name="write.after_commit", count=1, command="reset", model="none")
    place = prepare(case)
    told: dict[str, Any] = {"db": str(place), "folder": str(tmp_path)}
    failpoint = {"ANAPHORA_FAILPOINT": case.name}
    child = nursery.start("anaphora", words=WORDS["reset"], environment=failpoint, **told)
    assert nursery.reap(child) == -9
    assert rows(as_left(place, tmp_path / "left"), "select count(*) from messages") == [(0,)]
    assert remains(place) != [], "hollow run: everything was clean already"
    nursery.run("anaphora", words=WORDS["worker"], **told)
    assert remains(place) == []
