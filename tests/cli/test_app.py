"""The face of the program: help, version, exit codes, streams."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
import typer.main
from tests.cli.conftest import Run
from typer.core import TyperGroup

import anaphora
from anaphora.cli import app, main
from anaphora.cli.lazy import LazyGroup
from anaphora.cli.logs import logging_to_stderr
from anaphora.cli.options import duration
from anaphora.cli.output import cell, clean, plural
from anaphora.errors import StoreBusy


def commands() -> Iterator[tuple[str, ...]]:
    """The words of every command."""

    def below(group: TyperGroup, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for name, command in group.commands.items():
            if isinstance(command, TyperGroup):
                yield from below(command, (*words, name))
            else:
                yield (*words, name)

    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    return below(root, ())


COMMANDS = list(commands())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example_of_itself(words: tuple[str, ...], run: Run) -> None:
    shown = run(*words, "--help")
    assert (shown.code, shown.err) == (0, "")
    text = " ".join(shown.out.split())
    assert f"Example: anaphora {' '.join(words)}" in text
    assert "--verbose" in text


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_that_prints_data_can_print_json(words: tuple[str, ...], run: Run) -> None:
    assert ("--json" in run(*words, "--help").out) or words == ("chat",)


def test_the_list_of_commands_says_what_the_commands_say() -> None:
    def check(group: TyperGroup) -> int:
        assert isinstance(group, LazyGroup)
        for name, entry in group.table.items():
            said = group.commands[name].help or ""
            assert said.strip(), name
            assert len(entry.help) <= 75, name
        groups = [command for command in group.commands.values() if isinstance(command, TyperGroup)]
        return len(group.table) + sum(check(inner) for inner in groups)

    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    assert check(root) == len(COMMANDS)


@pytest.mark.parametrize("group", [(), ("summaries",), ("jobs",), ("sessions",), ("models",)])
def test_a_group_alone_shows_its_help(group: tuple[str, ...], run: Run) -> None:
    alone, asked = run(*group), run(*group, "--help")
    assert alone.code == asked.code == 0
    assert alone.out.strip() == asked.out.strip()


def test_version_is_the_version(run: Run) -> None:
    assert run("--version").out == f"anaphora {anaphora.__version__}\n"


def test_the_package_runs_as_the_command_does() -> None:
    told = subprocess.run([sys.executable, "-m", "anaphora", "--version"], check=True, capture_output=True, text=True)
    assert told.stdout.split() == ["anaphora", anaphora.__version__]


def test_help_is_quick_and_loads_neither_database_nor_settings(tmp_path: Path) -> None:
    probe = (
        "import sys; from anaphora.cli import main; code = main(['--help']);"
        "heavy = {'sqlalchemy', 'pydantic', 'rich', 'anaphora.memory'} & set(sys.modules);"
        "sys.exit(code or ', '.join(sorted(heavy)) or 0)"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    assert (done.returncode, done.stderr) == (0, "")
    assert seconds < 2.0
    assert "import" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["imprt"], "no such command 'imprt'. Did you mean 'import'?"),
        (["jobs", "retri"], "no such command 'retri'. Did you mean 'retry'?"),
        (["history", "--usr", "alice"], "no such option: --usr"),
        (["history", "--user", "alice"], "missing option '--session'"),
        (["history", "--user", "alice", "--session", "1", "--limit", "many"], "invalid value for '--limit'"),
        (["import"], "missing argument 'FILE'"),
        (["jobs", "list", "--stuck", "soon"], "'soon' is not a duration: write 30s, 5m, 2h or 1d"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(words: list[str], says: str, run: Run) -> None:
    done = run(*words)
    assert done.code == 2
    assert says in done.complaint
    assert "--help`)" in done.complaint


def test_an_interrupt_ends_with_130_and_no_word(run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    assert imported.exists()
    monkeypatch.setattr(anyio, "run", interrupted)
    done = run("history", "--user", "alice", "--session", "1")
    assert (done.code, done.out, done.err) == (130, "", "")


def test_what_fails_in_several_tasks_at_once_is_told_a_line_each(
    run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        inner = ExceptionGroup("tasks", [StoreBusy("the database is busy"), OSError(5, "Input/output error", "x.db")])
        raise ExceptionGroup("tasks", [inner])

    assert imported.exists()
    monkeypatch.setattr(anyio, "run", fails)
    done = run("history", "--user", "alice", "--session", "1")
    assert done.code == 1
    assert done.err.splitlines() == ["anaphora: the database is busy", "anaphora: x.db: Input/output error"]


def test_a_fault_of_ours_is_not_hidden(run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ExceptionGroup("tasks", [StoreBusy("the database is busy"), ZeroDivisionError()])

    assert imported.exists()
    monkeypatch.setattr(anyio, "run", fails)
    with pytest.raises(ExceptionGroup):
        run("history", "--user", "alice", "--session", "1")


def test_a_reader_who_stops_reading_gets_no_complaint(run: Run, imported: Path) -> None:
    assert run("history", "--user", "alice", "--session", "1").code == 0
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", "import sys; from anaphora.cli import main; sys.exit(main())"]
    done = subprocess.run(
        [*command, "history", "--user", "alice", "--session", "1", "--db", str(imported)],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_terminal_without_unicode_shows_codes(
    imported: Path, monkeypatch: pytest.MonkeyPatch, home: Path, run: Run
) -> None:
    lines = home / "more.jsonl"
    lines.write_text(
        '{"user": "zoe", "session": "1", "messages": [{"role": "user", "content": "caf\u00e9"}]}\n', "utf-8"
    )
    assert run("import", str(lines)).code == 0
    assert imported.exists()
    for extra, expected in ((), "caf\\xe9"), (("--json",), "caf\\u00e9"):
        raw = io.BytesIO()
        terminal = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", terminal)
            code = main(["history", "--user", "zoe", "--session", "1", *extra])
        assert code == 0
        assert expected in raw.getvalue().decode("ascii")


def test_what_people_wrote_cannot_play_with_the_terminal() -> None:
    assert clean("a\x1b[2Jb\rc\x9bd\u202ee\tf\ng") == "a\\x1b[2Jb\\rc\\x9bd\\u202ee\tf\ng"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30.0), ("5m", 300.0), ("2h", 7200.0), ("1d", 86400.0), ("90", 90.0), ("1.5m", 90.0), ("250ms", 0.25)],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "-5m", "5 parsecs", "m", "1e9d", "99999999d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="not a duration"):
        duration(text)


def test_numbers_and_nouns_read_well() -> None:
    assert [plural(0, "job"), plural(1, "job"), plural(2000, "job")] == ["0 jobs", "1 job", "2,000 jobs"]
    assert [cell(None), cell(True), cell(1234), cell(1.26), cell("x")] == ["-", "yes", "1,234", "1.3", "x"]


def test_verbose_shows_ids_and_numbers_but_never_what_was_said(run: Run, imported: Path) -> None:
    assert imported.exists()
    done = run("worker", "--drain", "-vv")
    assert re.search(r"INFO anaphora.summarise: Summarised messages 0-\d+ for [0-9a-f-]{36} in \d+ ms", done.err)
    assert not re.search("peanuts|violins|comets|kitchen", done.err)


def test_logging_leaves_nothing_behind(run: Run, imported: Path) -> None:
    assert imported.exists()
    assert "INFO" in run("worker", "--once", "-v").err
    assert "INFO" not in run("worker", "--once").err
    assert "INFO" in run("-v", "worker", "--once").err
    with logging_to_stderr(0):
        assert "INFO" not in run("worker", "--once").err
