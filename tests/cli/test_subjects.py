"""`anaphora subjects`: whom facts are about, and who reads what is shared."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.knowing import USER, add, contents

BOB = ("--user", "bob")


@pytest.fixture(autouse=True)
def rex(run: Run, imported: Path) -> None:
    """A dog of alice that bob knows."""
    assert imported.exists()
    made = run("subjects", "create", "rex", *USER, "--name", "Rex the dog", "--member", "bob", "--json")
    assert made.code == 0, made.err
    assert set(made.document) == {"subject", "name", "owner", "members", "created_at"}


def test_a_subject_is_there_for_its_members_only(run: Run) -> None:
    for who in (USER, BOB):
        (found,) = run("subjects", "list", *who, "--json").document["subjects"]
        assert (found["subject"], found["name"], found["owner"]) == ("rex", "Rex the dog", "alice")
        assert run("subjects", "members", "rex", *who).out == "alice\nbob\n"
    assert run("subjects", "list", "--user", "carol").out == "There are no subjects.\n"
    hidden, missing = (run("subjects", "members", each, "--user", "carol") for each in ("rex", "tom"))
    assert hidden.code == missing.code == 1
    assert hidden.complaint.replace("rex", "X") == missing.complaint.replace("tom", "X")
    assert run("subjects", "list", *USER, "--tenant", "other", "--json").document == {"subjects": []}


def test_the_list_names_owner_and_members(run: Run) -> None:
    row = run("subjects", "list", *BOB).out.splitlines()[-1]
    assert row.split() == ["rex", "Rex", "the", "dog", "alice", "alice,", "bob"]


def test_without_a_name_a_subject_is_called_by_its_id_and_may_be_renamed(run: Run) -> None:
    made = run("subjects", "create", "tom", *USER)
    assert made.out == "Subject 'tom' is made; its members: alice.\n"
    assert run("subjects", "rename", "tom", "Tom the cat", *USER).out == "Subject 'tom' is called 'Tom the cat' now.\n"
    names = {row["subject"]: row["name"] for row in run("subjects", "list", *USER, "--json").document["subjects"]}
    assert names == {"rex": "Rex the dog", "tom": "Tom the cat"}


def test_who_is_a_member_reads_what_is_shared_and_who_is_not_does_not(run: Run) -> None:
    fact = add(run, "Barks at night", "--subject", "rex")
    assert run("facts", "share", fact, *USER).code == 0
    assert (contents(run, user="bob"), contents(run, user="carol")) == (["Barks at night"], [])
    added = run("subjects", "add-member", "rex", "carol", *USER)
    assert added.out == "'carol' reads what is shared with subject 'rex'.\n"
    assert contents(run, user="carol") == ["Barks at night"]
    removed = run("subjects", "remove-member", "rex", "bob", *USER)
    assert removed.out == "'bob' is no member of subject 'rex' any more.\n"
    assert contents(run, user="bob") == []
    assert run("subjects", "remove-member", "rex", "bob", *USER).out == "'bob' was no member of subject 'rex'.\n"
    assert run("subjects", "members", "rex", *USER, "--json").document == {"members": ["alice", "carol"]}


def test_a_member_may_leave(run: Run) -> None:
    assert run("subjects", "remove-member", "rex", "bob", *BOB, "--json").document == {"removed": True}
    assert run("subjects", "members", "rex", *USER, "--json").document == {"members": ["alice"]}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("create", "rex", "--user", "carol"), 2, "there is a subject 'rex' already"),
        (("create", "", *USER), 2, "subject must not be empty"),
        (("create", "tom", *USER, "--name", " "), 2, "name of a subject must not be empty"),
        (("create", "tom", *USER, "--member", ""), 2, "member must not be empty"),
        (("rename", "rex", "Max", *BOB), 1, "only its owner may do that"),
        (("rename", "rex", " ", *USER), 2, "name of a subject must not be empty"),
        (("rename", "tom", "Max", *USER), 1, "there is no subject 'tom'"),
        (("add-member", "rex", "carol", *BOB), 1, "only its owner may do that"),
        (("remove-member", "rex", "alice", *BOB), 1, "only its owner may remove others"),
        (("remove-member", "rex", "alice", *USER), 2, "stays its member"),
        (("add-member", "rex", "carol", "--user", "carol"), 1, "there is no subject 'rex'"),
        (("list", *USER, "--limit", "0"), 2, "limit must be between 1 and 1000"),
    ],
)
def test_a_mistake_is_told_in_one_line_and_changes_nothing(
    words: tuple[str, ...], code: int, says: str, run: Run
) -> None:
    before = run("subjects", "list", *USER, "--json").document
    done = run("subjects", *words)
    assert done.code == code
    assert says in done.complaint
    assert run("subjects", "list", *USER, "--json").document == before


def test_what_a_name_says_cannot_play_with_the_terminal(run: Run) -> None:
    assert run("subjects", "rename", "rex", "Rex \x1b[2J", *USER).out.count("\x1b") == 0
    assert "\x1b" not in run("subjects", "list", *USER).out


@pytest.mark.parametrize("group", ["facts", "subjects"])
def test_the_group_alone_shows_its_help(group: str, run: Run) -> None:
    alone, asked = run(group), run(group, "--help")
    assert alone.code == asked.code == 0
    assert alone.out.strip() == asked.out.strip()
    assert "list" in alone.out
