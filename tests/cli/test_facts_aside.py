"""`anaphora facts`: what is set aside is counted, listed, and taken up."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.knowing import USER, contents, facts, learn


@pytest.fixture(autouse=True)
def a_database(imported: Path) -> Path:
    return imported


def flooded(run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory of which two facts are believed and two are set aside."""
    monkeypatch.setenv("ANAPHORA_FACTS__PER_MESSAGE", "1")
    monkeypatch.setenv("ANAPHORA_FACTS__CAPACITY", "2")
    learn(imported, "I like figs. I like plums.", session="one")
    for number, fruit in enumerate(("dates", "limes")):
        learn(imported, f"I like {fruit}.", session=f"more {number}")
    assert len(facts(run)) == 4


def test_a_list_says_how_many_are_set_aside_and_why(run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("facts", "list", *USER, "--json").document["aside"] == {"importance": 0, "source": 0, "capacity": 0}
    flooded(run, imported, monkeypatch)
    listed = run("facts", "list", *USER)
    assert listed.out.splitlines()[-1] == (
        "2 set aside (1 of too much from one source, 1 over the capacity). `facts list --state aside` lists them, "
        "`facts take-up ID` brings one back."
    )
    assert run("facts", "list", *USER, "--json").document["aside"] == {"importance": 0, "source": 1, "capacity": 1}
    aside = run("facts", "list", *USER, "--state", "aside")
    assert "why" in aside.out.splitlines()[0].split()
    assert "more than 1 fact of one message" in aside.out
    assert "more than 2 facts" in aside.out


def test_what_is_set_aside_is_taken_up_and_put_back(run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flooded(run, imported, monkeypatch)
    (fact, _) = run("facts", "list", *USER, "--state", "aside", "--json").document["facts"]
    assert f"set aside: {fact['doubt']}" in run("facts", "show", fact["id"], *USER).out
    refused = run("facts", "confirm", fact["id"], *USER)
    assert (refused.code, "take it up first" in refused.err) == (2, True)
    taken = run("facts", "take-up", fact["id"][-8:], *USER)
    assert taken.out == f"{fact['id'][-8:]} is taken up: it is believed, and has your word.\n"
    assert fact["content"] in contents(run)
    again = run("facts", "take-up", fact["id"], *USER)
    assert (again.code, "is not set aside" in again.err) == (2, True)
    assert run("facts", "undo", fact["id"], *USER).code == 0
    assert fact["content"] not in contents(run)
    assert run("facts", "take-up", fact["id"], *USER, "--json").document["state"] == "active"
