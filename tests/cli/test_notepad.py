"""`anaphora notepad`: see, rewrite, and go back; and `/notepad` in `chat`."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.cli.conftest import Run
from tests.cli.knowing import USER

from anaphora import Memory
from anaphora.settings import load
from anaphora.testing.scripted import ScriptedChat

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
SHOW, HISTORY = ("notepad", "show", *USER), ("notepad", "history", *USER)


class Terminal(io.StringIO):
    """Somebody who can be asked."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def a_database(imported: Path) -> Path:
    return imported


def noted(database: Path, said: str, *, session: str = "trip") -> None:
    """Let a model reflect upon a session."""

    async def talk() -> None:
        settings = load(db=str(database), notepad={"enabled": "all"})
        async with Memory.open(settings=settings, memory_model=ScriptedChat(), worker=False) as memory:
            chat = memory.session(user="alice", session=session)
            await chat.add("user", said)
            await chat.add("assistant", "Noted.")
            await chat.end()
            await memory.work()

    anyio.run(talk)


def text(run: Run) -> str | None:
    page = run(*SHOW, "--json").document["page"]
    return None if page is None else str(page["text"])


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({}, "no page is written without a language model"),
        ({"ANAPHORA_NOTEPAD__ENABLED": "none"}, "the setting notepad.enabled is none"),
        ({"ANAPHORA_MODEL": "openai:x"}, "when a session ends that the strategy topics serves"),
        ({"ANAPHORA_MODEL": "openai:x", "ANAPHORA_NOTEPAD__ENABLED": "all"}, "a page is written when a session ends."),
    ],
)
def test_a_notepad_without_pages_says_why(
    variables: Mapping[str, str], says: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for words in (SHOW, HISTORY):
        done = run(*words)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("Nothing is noted")
        assert done.out.endswith(f"{says}\n") or says in done.out
    assert run(*SHOW, "--json").document == {"page": None}
    assert run(*HISTORY, "--json").document == {"pages": []}


def test_a_page_is_shown_with_what_it_was_made_of(run: Run, imported: Path) -> None:
    noted(imported, "I like figs.")
    shown = run(*SHOW)
    assert (shown.code, shown.err) == (0, "")
    first, _, last = shown.out.splitlines()
    assert first == "- The user likes figs"
    assert last.startswith("version 1 of 20")
    assert last.endswith("from messages 0 to 1 of session trip, by scripted, trust assistant")
    page = run(*SHOW, "--json").document["page"]
    assert (page["session"], page["range"], page["action"]) == ("trip", [0, 2], "reflected")


def test_the_reference_names_every_key_of_a_page(run: Run, imported: Path) -> None:
    noted(imported, "I like figs.")
    page = run(*SHOW, "--json").document["page"]
    assert [key for key in page if f"`{key}`" not in REFERENCE.read_text(encoding="utf-8")] == []


def test_a_notepad_is_rewritten_and_an_earlier_page_brought_back(run: Run, imported: Path) -> None:
    noted(imported, "I like figs.")
    done = run("notepad", "edit", "Likes pears", *USER)
    assert (done.code, done.out) == (0, "The notepad of 'alice' has version 2 now (3 tokens).\n")
    assert "written by the user" in run(*SHOW).out
    back = run("notepad", "revert", "1", *USER)
    assert (back.code, back.out) == (0, "The notepad of 'alice' says again what version 1 says.\n")
    assert text(run) == "- The user likes figs"
    rows = run(*HISTORY).out.splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["3", "2", "1"]
    assert "version 1 again" in rows[0]
    assert [page["version"] for page in run(*HISTORY, "--limit", "2", "--json").document["pages"]] == [3, 2]
    changed = run("notepad", "edit", "", *USER, "--json").document
    assert (changed["version"], changed["text"], changed["trust"]) == (4, "", "owner_confirmed")
    assert run(*SHOW).out.startswith("(Everything was taken out.)")


def test_a_text_that_the_user_wrote_already_makes_no_page(run: Run, imported: Path) -> None:
    noted(imported, "I like figs.")
    assert "has version 2 now" in run("notepad", "edit", "Likes figs", *USER).out
    again = run("notepad", "edit", "Likes figs\n", *USER)
    assert (again.code, again.out) == (0, "Nothing was changed: version 2 says that already.\n")
    assert run("notepad", "edit", "Likes figs", *USER, "--json").document["version"] == 2
    assert [page["version"] for page in run(*HISTORY, "--json").document["pages"]] == [2, 1]


def test_each_agent_has_its_own(run: Run) -> None:
    run("notepad", "edit", "Cooks", *USER, "--agent", "cook")
    assert text(run) is None
    assert run(*SHOW, "--agent", "cook", "--json").document["page"]["text"] == "Cooks"


def test_a_text_is_read_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("- one\n- two\n"))
    assert run("notepad", "edit", "-", *USER).code == 0
    assert text(run) == "- one\n- two"


def test_on_a_terminal_an_editor_opens_with_what_is_there(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("notepad", "edit", "Likes figs", *USER)
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i s/figs/pears/")
    assert run("notepad", "edit", *USER).code == 0
    assert text(run) == "Likes pears"
    monkeypatch.setenv("EDITOR", "true")
    assert run("notepad", "edit", *USER).complaint == "nothing was done"
    monkeypatch.setenv("EDITOR", "false")
    assert "failed: nothing was changed" in run("notepad", "edit", *USER).complaint
    monkeypatch.setenv("VISUAL", str(home / "no-such-editor"))
    assert "cannot be started" in run("notepad", "edit", *USER).complaint
    assert text(run) == "Likes pears"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("edit",), 2, "give a text, or - to read it from stdin"),
        (("edit", "word " * 300), 2, "at most 200 (the setting notepad.tokens)"),
        (("revert", "7"), 1, "has no version 7"),
        (("revert", "x"), 2, "invalid value for 'VERSION'"),
        (("history", "--limit", "0"), 2, "limit must be between 1 and 1000"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(words: tuple[str, ...], code: int, says: str, run: Run) -> None:
    done = run("notepad", *words, *USER)
    assert done.code == code
    assert says in done.complaint
    assert text(run) is None


def test_control_characters_of_a_page_are_shown_not_obeyed(run: Run) -> None:
    run("notepad", "edit", "a\x1b[31mb", *USER)
    for words in (SHOW, HISTORY):
        assert "\x1b" not in run(*words).out
        assert "\\x1b[31m" in run(*words).out
    document: Any = json.loads(run(*SHOW, "--json").out)
    assert document["page"]["text"] == "a\x1b[31mb"
