"""`anaphora summaries`: versions, chains, differences, figures."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.cli.conftest import Run

from anaphora import Memory
from anaphora.domain.differences import Words
from anaphora.rules.summary_diff import words
from anaphora.testing.scripted import ScriptedChat

ALICE = ("--user", "alice", "--session", "1")


def test_work_on_a_first_version_is_listed_as_processing(run: Run, imported: Path) -> None:
    assert imported.exists()
    (entry,) = run("summaries", "list", *ALICE, "--json").document["summaries"]
    assert (entry["status"], entry["version"], entry["kind"]) == ("processing", None, "summarise")
    assert "processing" in run("summaries", "list", *ALICE).out


def test_versions_are_listed_newest_first_with_the_one_that_is_served(run: Run, chain: Path) -> None:
    assert chain.exists()
    entries = run("summaries", "list", *ALICE, "--json").document["summaries"]
    versions = [entry["version"] for entry in entries]
    assert versions == sorted(versions, reverse=True)
    assert len(versions) >= 2
    assert [entry["served"] for entry in entries] == [True, *[False] * (len(entries) - 1)]
    assert {entry["status"] for entry in entries} == {"completed"}


def test_a_chain_shows_what_each_version_carried_on_from(run: Run, chain: Path) -> None:
    assert chain.exists()
    entries = run("summaries", "list", *ALICE, "--chain", "--json").document["summaries"]
    for newer, older in pairwise(entries):
        assert newer["base_id"] == older["id"]
        assert newer["base_version"] == older["version"]
        assert newer["new_range"] == [older["range"][1], newer["range"][1]]
        assert newer["window"] == newer["range"][1] - newer["range"][0]
    assert entries[-1]["base_version"] is None
    assert "base end" in run("summaries", "list", *ALICE, "--chain").out


def test_a_chain_that_is_cut_by_the_limit_still_names_its_base(run: Run, chain: Path) -> None:
    assert chain.exists()
    (entry,) = run("summaries", "list", *ALICE, "--chain", "--limit", "1", "--json").document["summaries"]
    assert entry["base_version"] == entry["version"] - 1


def test_of_several_sessions_the_newest_version_of_each_is_listed(run: Run, chain: Path) -> None:
    assert chain.exists()
    everybody = run("summaries", "list", "--all-users", "--json").document["summaries"]
    assert {(entry["user"], entry["session"]) for entry in everybody} == {("alice", "1"), ("alice", "2"), ("bob", "1")}
    assert len(everybody) == 3
    alice = run("summaries", "list", "--user", "alice", "--json").document["summaries"]
    assert {entry["user"] for entry in alice} == {"alice"}
    assert len(run("summaries", "list", "--user", "alice", "--chain", "--json").document["summaries"]) > len(alice)


@pytest.mark.parametrize("words_", [(), ("--user", "alice", "--all-users"), ("--session", "1", "--all-users")])
def test_it_must_be_said_whose_summaries(words_: tuple[str, ...], run: Run, imported: Path) -> None:
    assert imported.exists()
    done = run("summaries", "list", *words_)
    assert done.code == 2
    assert "--user" in done.complaint


def test_a_version_is_shown_by_number_by_id_or_as_the_latest(run: Run, chain: Path) -> None:
    assert chain.exists()
    latest = run("summaries", "show", *ALICE, "--json").document
    assert latest == run("summaries", "show", str(latest["version"]), *ALICE, "--json").document
    assert latest == run("summaries", "show", latest["id"], *ALICE, "--json").document
    assert latest == run("summaries", "show", f"v{latest['version']}", *ALICE, "--json").document
    at = latest["range"][0]
    for point in latest["points"]:
        assert point["range"][0] == at
        at = point["range"][1]
    assert at == latest["range"][1]
    assert latest["points"][0]["text"] in run("summaries", "show", *ALICE).out


@pytest.mark.parametrize(
    ("version", "code"), [("99", 1), ("0", 1), ("three", 2), (str(UUID(int=7)), 1), ("-1", 2), ("1" * 40, 2)]
)
def test_a_version_that_is_not_there_is_said_so(version: str, code: int, run: Run, chain: Path) -> None:
    assert chain.exists()
    done = run("summaries", "show", *ALICE, "--", version)
    assert done.code == code
    assert done.complaint


def test_a_difference_tells_which_points_came_and_went(run: Run, chain: Path) -> None:
    assert chain.exists()
    found = run("summaries", "diff", "1", "2", *ALICE, "--json").document
    old = run("summaries", "show", "1", *ALICE, "--json").document["points"]
    new = run("summaries", "show", "2", *ALICE, "--json").document["points"]
    changed = len(found["changed"])
    assert found["kept"] + len(found["removed"]) + changed == len(old)
    assert found["kept"] + len(found["added"]) + changed == len(new)
    assert found["added"]
    assert all(point in new for point in found["added"])
    shown = run("summaries", "diff", "1", "2", *ALICE).out.splitlines()
    assert shown[0].startswith("Version 1 [0, ")
    assert len(shown) == 1 + len(found["added"]) + len(found["removed"]) + changed


def test_a_version_does_not_differ_from_itself(run: Run, chain: Path) -> None:
    assert chain.exists()
    found = run("summaries", "diff", "2", "2", *ALICE, "--json").document
    assert (found["added"], found["removed"], found["changed"]) == ([], [], [])


def test_words_that_change_are_marked_one_by_one() -> None:
    assert list(words("Ann likes red wine", "Ann likes white wine now")) == [
        Words("keep", "Ann likes"),
        Words("remove", "red"),
        Words("add", "white"),
        Words("keep", "wine"),
        Words("add", "now"),
    ]


def test_stats_count_by_method(run: Run, chain: Path) -> None:
    assert chain.exists()
    everybody = run("summaries", "stats", "--json").document
    alice = run("summaries", "stats", "--user", "alice", "--json").document
    assert set(everybody) == {"avg_ms", "by_method", "count", "max_ms"}
    assert everybody["by_method"]["extractive"] == alice["by_method"]["extractive"] + 1
    assert "on average" in run("summaries", "stats").out


def test_what_a_version_lists_is_shown_and_looked_for(run: Run, home: Path) -> None:
    """Strategy `token_budget`: topics, names, decisions and questions, each with its messages."""

    async def talk() -> None:
        budget = {"threshold_tokens": 200, "recent_messages_to_keep": 2}
        given: dict[str, Any] = {"token_budget": budget, "embedder": "none"}
        async with Memory.open(home / "anaphora.db", memory_model=ScriptedChat(), worker=False, **given) as memory:
            chat = memory.session(user="alice", session="1", strategy="token_budget")
            for text in ("Decision: Use Redis", "Names: Washington, D.C.; Redis", *["What else is there to say?"] * 30):
                await chat.add("user", text)
            await memory.work()

    asyncio.run(talk())
    shown = run("summaries", "show", *ALICE).out
    assert "Decisions:\n[0, 1) Use Redis" in shown
    assert "Entities:\n[1, 2) Washington, D.C.\n[1, 2) Redis" in shown
    structure = run("summaries", "show", *ALICE, "--json").document["structure"]
    assert structure["decisions"] == [{"text": "Use Redis", "range": [0, 1]}]
    for option, wanted, found in (
        ("--entity", "washington", True),
        ("--entity", "Paris", False),
        ("--topic", "dec", True),
    ):
        entries = run("summaries", "list", *ALICE, option, wanted, "--json").document["summaries"]
        assert bool(entries) == found
        assert all(entry["version"] for entry in entries)
    assert not run("summaries", "list", "--all-users", "--entity", "Paris", "--json").document["summaries"]
