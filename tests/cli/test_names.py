"""Names of people, agents, tenants and sessions: every command refuses those that cannot be one, in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer.main
from tests.cli.conftest import Run
from typer.core import TyperGroup

from anaphora.cli import app

#: parameters that name somebody or something
NAMES = frozenset({"user", "agent", "tenant", "session", "subject", "member"})
#: what is given for parameters that must be given
GIVEN: Mapping[str, str] = {
    "user": "alice",
    "session": "1",
    "subject": "trip",
    "member": "bob",
    "seq": "0",
    "version": "1",
    "before": "1",
    "days": "30",
    "job": "00000000-0000-7000-8000-000000000000",
}
READS = {("facts", "list"), ("facts", "review")}
#: as the shell gives a name that is not UTF-8
NOT_UTF_8 = "a\udcffb"


def leaves(group: TyperGroup, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from leaves(command, (*words, name))
        else:
            yield (*words, name), command


def calls() -> Iterator[tuple[tuple[str, ...], str]]:
    """Every command with each of its parameters, and the words that give that parameter a name that is no text."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    for words, command in leaves(root):
        for asked in command.params:
            if asked.name in NAMES:
                yield (*words, *_filled(command.params, asked.name)), asked.name


def _filled(params: list[Any], bad: str) -> Iterator[str]:
    for each in params:
        value = "{bad}" if each.name == bad else GIVEN.get(each.name, "x")
        if each.name == bad or each.required:
            yield from (value,) if each.param_type_name == "argument" else (each.opts[0], value)


CALLS = list(calls())
#: an empty subject is none: facts about the user alone
EMPTY = [(words, what) for words, what in CALLS if what != "subject" or words[:2] not in READS]


@pytest.mark.parametrize(
    ("words", "what", "value", "says"),
    [
        *((words, what, NOT_UTF_8, "is not valid UTF-8") for words, what in CALLS),
        *((words, what, "", "must not be empty") for words, what in EMPTY),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_cannot_be_a_name_is_refused_in_one_line(
    words: tuple[str, ...], what: str, value: str, says: str, run: Run, imported: Path
) -> None:
    assert imported.exists()
    done = run(*(value if word == "{bad}" else word for word in words))
    assert done.code == 2
    assert says in done.complaint
    assert what in done.complaint
