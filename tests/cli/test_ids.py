"""Ids of facts and documents as people type them."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Run
from tests.cli.knowing import USER, add, contents, facts

from anaphora import Memory
from anaphora.cli.ids import fact_id, short_id, short_ids


def test_a_fact_is_named_by_its_whole_id_or_by_digits_of_either_end(run: Run, imported: Path) -> None:
    assert imported.exists()
    uid = add(run, "Likes figs")
    plain = uid.replace("-", "")
    for given_id in (uid, uid.upper(), plain, plain[-6:], plain[-8:], uid[-17:], plain[:6], uid[:10], plain[:31]):
        done = run("facts", "show", given_id, *USER, "--json")
        assert (given_id, done.code) == (given_id, 0)
        assert done.document["id"] == uid


def test_digits_that_fit_two_facts_are_refused_and_nothing_is_changed(run: Run, imported: Path) -> None:
    """The first digits are the time: all facts of a few hours have the same six."""
    assert imported.exists()
    one, two = add(run, "Likes figs"), add(run, "Plays chess")
    assert one[:6] == two[:6]
    before = facts(run)
    for words in (("pin", one[:6]), ("delete", one[:6], "--yes"), ("undo", one[:6])):
        done = run("facts", *words, *USER)
        assert done.code == 2
        assert f"'{one[:6]}' fits 2 facts" in done.complaint
        assert one in done.complaint
        assert two in done.complaint
    assert facts(run) == before


def test_the_facts_of_others_make_no_digits_ambiguous(run: Run, imported: Path) -> None:
    assert imported.exists()
    mine = add(run, "Likes figs")
    add(run, "Plays chess", user="bob")
    assert run("facts", "pin", mine[:6], *USER).code == 0


@pytest.mark.parametrize(
    ("given_id", "code", "says"),
    [
        ("01a20", 2, "'01a20' is too short: give at least 6 digits"),
        ("figs", 2, "'figs' is no id of a fact: `anaphora facts list` shows them"),
        ("", 2, "'' is no id of a fact"),
        ("g" * 32, 2, "is no id of a fact"),
        ("0" * 33, 2, "is no id of a fact"),
        ("000000", 1, "there is no fact 000000"),
    ],
)
def test_what_is_no_id_or_fits_none_is_said_so(given_id: str, code: int, says: str, run: Run, imported: Path) -> None:
    assert imported.exists()
    add(run, "Likes figs")
    done = run("facts", "show", given_id, *USER)
    assert done.code == code
    assert says in done.complaint


def test_what_the_list_shows_can_be_typed(run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert imported.exists()
    for content in ("Likes figs", "Plays chess", "Works in a mill"):
        add(run, content)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    for line in run("facts", "list", *USER).out.splitlines()[2:]:
        assert run("facts", "delete", line.split()[0], *USER, "--yes").code == 0
    assert contents(run) == []


@pytest.mark.anyio
async def test_however_many_facts_there_are_all_are_looked_through(tmp_path: Path) -> None:
    async with Memory.open(tmp_path / "m.db", worker=False) as memory:
        made = [await memory.facts.add(f"Owns book number {number}", user="alice") for number in range(7)]
        for each in made:
            assert await fact_id(memory.facts, short_id(each.id), user="alice", page_size=2) == each.id


@given(st.sets(st.integers(min_value=0, max_value=3), min_size=1), st.integers(min_value=0, max_value=23))
def test_short_ids_tell_the_listed_facts_apart(heads: set[int], alike: int) -> None:
    """Whatever the facts have in common at the end."""
    ids = [UUID(int=(head << 4 * (alike + 8)) + 0xABCDEF01) for head in heads]
    shown = short_ids(ids)
    assert len(set(shown.values())) == len(ids)
    assert all(uid.hex.endswith(shown[uid]) and len(shown[uid]) >= 8 for uid in ids)
