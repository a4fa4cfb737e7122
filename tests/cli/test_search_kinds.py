"""`anaphora search` for facts and chunks: what was found, by what, and where it was learned."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.knowing import USER, add, learn


@pytest.fixture(autouse=True)
def a_database(imported: Path) -> Path:
    learn(imported, "I like figs.")
    return imported


def test_facts_say_what_they_were_found_by_and_where_they_were_learned(run: Run) -> None:
    (fact,) = run("search", "figs", *USER, "--kind", "facts", "--json").document["facts"]
    assert [(source["session"], source["seq"]) for source in fact["sources"]] == [("trip", 0)]
    assert (fact["found_by"]["session"], fact["found_by"]["seq"]) == ("trip", 0)
    assert fact["found_by"]["scores"]
    assert set(fact["scores"]) == {"words", "message"}
    assert fact["words"] == ["figs"]
    explained = run("search", "figs", *USER, "--kind", "facts", "--explain")
    assert "trip 0" in explained.out
    assert "Nothing was found." not in explained.out
    assert "found by" not in run("search", "figs", *USER, "--kind", "facts").out


def test_chunks_say_what_they_were_found_by(run: Run) -> None:
    (chunk,) = run("search", "figs", *USER, "--kind", "chunks", "--json").document["chunks"]
    assert (chunk["found_by"]["session"], chunk["found_by"]["seq"]) == ("trip", 0)
    assert "trip 0" in run("search", "figs", *USER, "--kind", "chunks", "--explain").out


def test_of_what_others_share_no_message_is_told(run: Run) -> None:
    assert run("subjects", "create", "rex", "--user", "bob", "--member", "alice").code == 0
    fact = add(run, "Barks at comets", "--subject", "rex", user="bob")
    assert run("facts", "share", fact, "--user", "bob").code == 0
    (found,) = run("search", "comets", *USER, "--kind", "facts", "--json").document["facts"]
    assert (found["owner"], found["sources"], found["found_by"]) == ("bob", [], None)


def test_a_kind_that_was_asked_for_is_told_though_there_is_none_of_it(run: Run) -> None:
    words = ("search", "comets", *USER, "--kind", "facts", "--kind", "chunks", "--json")
    assert run(*words).document == {"hits": [], "degraded": [], "facts": [], "chunks": []}


def test_a_session_that_there_is_not_is_no_session_without_an_answer(run: Run) -> None:
    wrong = run("search", "figs", *USER, "--session", "tripp")
    assert (wrong.code, wrong.out) == (1, "")
    assert "there is no session 'tripp'" in wrong.err
    assert run("search", "figs", *USER, "--session", "trip", "--agent", "nobody").code == 1
    assert run("search", "figs", *USER, "--session", "trip").code == 0


def test_a_prompt_that_costs_more_than_a_short_history_saves_no_negative_share(run: Run, imported: Path) -> None:
    learn(imported, "Hi.", session="new")
    told = run("context", *USER, "--session", "new", "--query", "Do I like figs?").err
    assert "more than the" in told
    assert "-" not in told.splitlines()[0]
    assert "%" not in told.splitlines()[0]
