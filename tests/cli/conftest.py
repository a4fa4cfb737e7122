"""Commands run in this process, on real files, from the real entry point."""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anaphora.cli import main

NOBODY = 65534


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line on stderr that says what went wrong."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("anaphora: ")
        assert "Traceback" not in self.err
        assert self.out == ""
        return lines[0].removeprefix("anaphora: ")


Run = Callable[..., Ran]


#: summaries need no embedder, and the smaller encoding is read in half the time
SETTINGS = {"ANAPHORA_EMBEDDER": "none", "ANAPHORA_ENCODING": "cl100k_base"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the commands."""
    monkeypatch.chdir(tmp_path)
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `anaphora` with some words, in `home`."""
    assert Path.cwd() == home

    def ran(*words: str) -> Ran:
        capsys.readouterr()
        code = main(list(words))
        said = capsys.readouterr()
        return Ran(code=code, out=said.out, err=said.err)

    return ran


def conversation(count: int, *, user: str = "alice", session: str = "1", topic: str = "peanuts") -> dict[str, Any]:
    """A conversation of `count` messages that can be imported; each says its number in words that can be found."""
    roles = ("user", "assistant")
    messages = [
        {"role": roles[seq % 2], "content": f"Message {seq} speaks of {topic} and of item{seq} in the kitchen."}
        for seq in range(count)
    ]
    return {"user": user, "session": session, "messages": messages}


def write_lines(path: Path, records: Sequence[object]) -> Path:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Databases that were made once, by the commands themselves: imported, summarised, and with a longer chain."""
    folder = tmp_path_factory.mktemp("templates")
    records = [
        conversation(30),
        conversation(12, session="2", topic="violins"),
        conversation(12, user="bob", topic="comets"),
    ]
    file, database = write_lines(folder / "chats.jsonl", records), folder / "made.db"
    made: dict[str, Path] = {}

    def done(name: str, *words: str) -> None:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as err:
            assert main([*words, "--db", str(database)]) == 0, err.getvalue()
        made[name] = Path(shutil.copy(database, folder / f"{name}.db"))

    with pytest.MonkeyPatch.context() as patch:
        for name, value in SETTINGS.items():
            patch.setenv(name, value)
        done("imported", "import", str(file))
        done("summarised", "worker", "--drain")
        done("longer", "import", str(write_lines(folder / "more.jsonl", [conversation(44)])))
        done("chain", "worker", "--drain")
    return made


@pytest.fixture
def imported(home: Path, templates: Mapping[str, Path]) -> Path:
    """A database with 30 messages of alice in session 1, 12 in session 2, and 12 of bob; nothing is summarised yet."""
    return Path(shutil.copy(templates["imported"], home / "anaphora.db"))


@pytest.fixture
def summarised(home: Path, templates: Mapping[str, Path]) -> Path:
    """The same database after a worker has drained it."""
    return Path(shutil.copy(templates["summarised"], home / "anaphora.db"))


@pytest.fixture
def chain(home: Path, templates: Mapping[str, Path]) -> Path:
    """The same database after session 1 of alice grew to 44 messages and to a second version."""
    return Path(shutil.copy(templates["chain"], home / "anaphora.db"))


@contextmanager
def unprivileged() -> Iterator[None]:
    """Whoever runs the tests, what is inside may not do what only root may."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)
