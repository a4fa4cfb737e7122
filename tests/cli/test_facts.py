"""`anaphora facts`: see, add, correct, share, delete, and take back."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run, unprivileged
from tests.cli.knowing import USER, add, contents, facts, learn

NOBODYS = "01a20407-b4f0-790d-ad0c-ca3ea2a2eb6d"
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"

#: every command that takes the id of a fact, with what it needs besides
ON_A_FACT = {
    "show": (),
    "edit": ("--content", "Says something else"),
    "pin": (),
    "unpin": (),
    "confirm": (),
    "take-up": (),
    "share": (),
    "unshare": (),
    "delete": ("--yes",),
    "undo": (),
    "history": (),
}
CHANGES = {name: more for name, more in ON_A_FACT.items() if name not in {"show", "history"}}


class Terminal(io.StringIO):
    """Somebody who can be asked."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def a_database(imported: Path) -> Path:
    return imported


# -- seeing ------------------------------------------------------------------------------------------------------


def test_what_is_added_is_listed_newest_first_with_its_marks(run: Run) -> None:
    assert run("facts", "list", *USER).out == "There are no such facts.\n"
    first = add(run, "Allergic to peanuts", "--category", "preference", "--importance", "9", "--pin")
    add(run, "Plays the violin", "--category", "hobby")
    listed = run("facts", "list", *USER)
    assert (listed.code, listed.err) == (0, "")
    head, _, newest, oldest = listed.out.splitlines()
    assert head.split() == ["id", "category", "content", "importance", "marks"]
    assert newest.split() == [newest.split()[0], "hobby", "Plays", "the", "violin", "5", "confirmed"]
    assert oldest.split() == [first[-8:], "preference", "Allergic", "to", "peanuts", "9", "pinned,", "confirmed"]


def test_the_reference_names_every_key_of_the_documents(run: Run, imported: Path) -> None:
    learn(imported, "I like figs.")
    (fact,) = facts(run)
    shown = run("facts", "show", fact["id"], *USER, "--json").document
    text = REFERENCE.read_text(encoding="utf-8")
    told = set(re.findall(r"`(\w+)`", text.partition("### `anaphora facts list`")[2].partition("\n### ")[0]))
    assert set(fact) | set(fact["sources"][0]) <= told
    assert set(shown) == {*fact, "history"}
    told = set(re.findall(r"`(\w+)`", text.partition("### `anaphora facts history`")[2].partition("\n### ")[0]))
    assert set(shown["history"][0]) <= told


def test_lists_are_narrowed_by_category_subject_state_agent_and_limit(run: Run, imported: Path) -> None:
    add(run, "Lives in Paris")
    add(run, "Lives in Berlin")
    add(run, "Plays the violin", "--category", "hobby")
    add(run, "Barks at night", "--subject", "rex")
    learn(imported, "I like figs.")
    liked = "The user likes figs"
    assert contents(run) == [liked, "Barks at night", "Plays the violin", "Lives in Berlin"]
    assert contents(run, "--category", "hobby") == ["Plays the violin"]
    assert contents(run, "--subject", "rex") == ["Barks at night"]
    assert contents(run, "--subject", "") == [liked, "Plays the violin", "Lives in Berlin"]
    assert contents(run, "--state", "closed") == ["Lives in Paris"]
    assert contents(run, "--state", "all", "--limit", "2") == [liked, "Barks at night"]
    assert contents(run, "--agent", "nobody") == ["Barks at night", "Plays the violin", "Lives in Berlin"]
    assert contents(run, user="bob") == []
    assert "rex" in run("facts", "list", *USER).out
    assert "closed" in run("facts", "list", *USER, "--state", "closed").out


def test_show_tells_everything_of_a_fact(run: Run, imported: Path) -> None:
    learn(imported, "Hello.", "I like figs.")
    (fact,) = facts(run)
    assert run("facts", "edit", fact["id"], *USER, "--importance", "8").code == 0
    shown = run("facts", "show", fact["id"], *USER, "--json").document
    (source,) = shown["sources"]
    assert {name: source[name] for name in ("session", "seq", "quote", "agent", "model")} == {
        "session": "trip",
        "seq": 2,
        "quote": "I like figs",
        "agent": "default",
        "model": "scripted",
    }
    assert [(version["action"], version["importance"]) for version in shown["history"]] == [
        ("learned", 5),
        ("edited", 8),
    ]
    text = run("facts", "show", fact["id"], *USER).out
    for part in (
        "The user likes figs",
        fact["id"],
        "importance 8",
        "trip",
        "I like figs",
        "scripted",
        "learned",
        "edited",
    ):
        assert part in text, part


def test_a_fact_that_contradicts_the_owner_waits_for_a_review_until_it_is_confirmed(run: Run, imported: Path) -> None:
    old = add(run, "Lives in Paris")
    learn(imported, "I live in Lisbon.")
    (doubtful,) = run("facts", "review", *USER, "--json").document["facts"]
    assert (doubtful["content"], doubtful["state"]) == ("The user lives in Lisbon", "review")
    shown = run("facts", "review", *USER).out
    assert "contradicts what the owner stands for" in shown
    assert "I live in Lisbon" in shown
    assert contents(run) == ["Lives in Paris"]
    assert run("facts", "confirm", doubtful["id"], *USER).out == f"{doubtful['id'][-8:]} is confirmed.\n"
    assert contents(run) == ["The user lives in Lisbon"]
    assert run("facts", "review", *USER).out == "Nothing waits for a review.\n"
    closed = run("facts", "show", old, *USER, "--json").document
    assert (closed["state"], closed["superseded_by"]) == ("closed", doubtful["id"])


def test_what_a_fact_says_cannot_play_with_the_terminal(run: Run) -> None:
    fact = add(run, "Likes \x1b[2J\x1b]0;owned\x07 figs")
    for words in (("list",), ("show", fact), ("history", fact), ("edit", fact, "--importance", "3")):
        done = run("facts", *words, *USER)
        assert done.code == 0
        assert "\x1b" not in done.out
        assert "\x07" not in done.out
        assert "\\x1b[2J" in done.out


def test_looking_works_on_a_file_that_cannot_be_written(
    run: Run, imported: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = add(run, "Likes figs")
    assert run("subjects", "create", "rex", *USER).code == 0
    assert run("worker", "--once").code == 0
    copy = open_folder / "anaphora.db"
    copy.write_bytes(imported.read_bytes())
    copy.chmod(0o444)
    open_folder.chmod(0o555)
    monkeypatch.chdir(open_folder)
    looks = [("facts", "list"), ("facts", "show", fact), ("facts", "history", fact[-8:]), ("facts", "review")]
    looks += [("subjects", "list"), ("subjects", "members", "rex")]
    with unprivileged():
        codes = [run(*words, *USER).code for words in looks]
        assert "cannot be written" in run("facts", "pin", fact, *USER).complaint
    assert codes == [0] * len(looks)


# -- changing ----------------------------------------------------------------------------------------------------


def test_adding_what_is_known_confirms_it(run: Run, imported: Path) -> None:
    learn(imported, "I like figs.")
    (fact,) = facts(run)
    again = run("facts", "add", "The user likes figs", *USER, "--pin", "--category", "preference")
    assert again.out == f"{fact['id'][-8:]} was known and is confirmed.\n"
    (now,) = facts(run)
    assert (now["id"], now["trust"], now["pinned"]) == (fact["id"], "owner_confirmed", True)


def test_text_may_come_from_a_pipe(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Likes figs\n"))
    fact = add(run, "-")
    monkeypatch.setattr(sys, "stdin", io.StringIO("Likes plums\n"))
    assert run("facts", "edit", fact, *USER, "--content", "-").code == 0
    assert contents(run) == ["Likes plums"]


def test_an_edit_changes_what_is_given_and_keeps_the_rest(run: Run) -> None:
    fact = add(run, "Likes figs", "--category", "preference", "--importance", "7")
    done = run("facts", "edit", fact, *USER, "--content", "Likes plums")
    assert done.out == f"{fact[-8:]} says now (preference, importance 7): Likes plums\n"
    versions = run("facts", "history", fact, *USER, "--json").document["history"]
    assert [(v["version"], v["action"], v["content"]) for v in versions] == [
        (1, "added", "Likes figs"),
        (2, "edited", "Likes plums"),
    ]
    assert "edited" in run("facts", "history", fact, *USER).out


def test_pins_come_and_go(run: Run) -> None:
    fact = add(run, "Likes figs")
    assert run("facts", "pin", fact, *USER).out == f"{fact[-8:]} is pinned: it is wanted in every prompt.\n"
    assert [found["pinned"] for found in facts(run)] == [True]
    assert run("facts", "unpin", fact, *USER, "--json").document["pinned"] is False
    assert [found["pinned"] for found in facts(run)] == [False]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "Likes figs", "--importance", "11"), "importance must be a whole number from 1 to 10"),
        (("add", "Likes figs", "--importance", "0"), "importance must be a whole number from 1 to 10"),
        (("add", "Likes figs", "--category", "hoby"), "unknown category 'hoby': did you mean 'hobby'?"),
        (("add", "  "), "must not be empty"),
        (("add", "x" * 501), "at most 500 characters"),
        (("add", "Likes\x00figs"), "NUL"),
        (("edit", "FACT"), "say what to change: --content, --category or --importance"),
        (("edit", "FACT", "--content", ""), "must not be empty"),
        (("edit", "FACT", "--content", "Likes plums", "--importance", "11"), "importance must be"),
        (("edit", "FACT", "--content", "Likes plums", "--category", "preferense"), "did you mean 'preference'?"),
        (("list", "--state", "actve"), "unknown state 'actve': did you mean 'active'?"),
        (("list", "--category", "hoby"), "did you mean 'hobby'?"),
        (("list", "--limit", "0"), "limit must be between 1 and 1000"),
        (("delete", "FACT"), "add --yes"),
    ],
)
def test_a_mistake_is_told_in_one_line_and_changes_nothing(
    words: tuple[str, ...], says: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = add(run, "Plays the violin")
    before = facts(run)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    done = run("facts", *(fact if word == "FACT" else word for word in words), *USER)
    assert done.code == 2
    assert says in done.complaint
    assert facts(run) == before


@pytest.mark.parametrize("user", ["", "  ", "a\x00b", "x" * 201])
def test_nothing_is_added_to_the_memory_of_an_impossible_user(user: str, run: Run) -> None:
    done = run("facts", "add", "Likes figs", "--user", user)
    assert done.code == 2
    assert "user" in done.complaint


def test_a_typo_in_the_name_of_the_database_makes_no_empty_memory(run: Run, home: Path) -> None:
    for words in (("facts", "list"), ("facts", "add", "Likes figs"), ("subjects", "create", "rex")):
        done = run(*words, *USER, "--db", "typo.db")
        assert done.code == 1
        assert "there is no database at typo.db" in done.complaint
    assert not (home / "typo.db").exists()


# -- sharing -----------------------------------------------------------------------------------------------------


def test_sharing_a_fact_about_oneself_is_refused_and_changes_nothing(run: Run) -> None:
    fact = add(run, "Likes figs")
    before = facts(run)
    done = run("facts", "share", fact, *USER)
    assert done.code == 2
    assert "about its owner alone" in done.complaint
    assert facts(run) == before


def test_members_read_a_shared_fact_but_neither_its_source_nor_its_history_and_change_nothing(
    run: Run, imported: Path
) -> None:
    assert run("subjects", "create", "rex", *USER, "--member", "bob").code == 0
    learn(imported, "Honestly, Rex likes figs.", subject="rex")
    (fact,) = facts(run)
    assert contents(run, user="bob") == []
    shared = run("facts", "share", fact["id"], *USER)
    assert shared.out == f"{fact['id'][-8:]} is shared: the members of subject 'rex' read it.\n"
    before = facts(run)
    (seen,) = facts(run, user="bob")
    assert (seen["owner"], seen["content"], seen["sources"]) == ("alice", fact["content"], [])
    listed = run("facts", "list", "--user", "bob").out
    assert "author" in listed.splitlines()[0]
    assert listed.splitlines()[-1].split()[-1] == "alice"
    shown = run("facts", "show", fact["id"], "--user", "bob")
    assert (shown.code, "Honestly" in shown.out) == (0, False)
    assert run("facts", "show", fact["id"], "--user", "bob", "--json").document["history"] == []
    for name in ON_A_FACT.keys() - {"show"}:
        done = run("facts", name, fact["id"], *ON_A_FACT[name], "--user", "bob")
        assert (name, done.code) == (name, 1)
        assert "only its owner" in done.complaint
    assert facts(run) == before
    assert contents(run, user="carol") == []
    assert run("facts", "unshare", fact["id"], *USER).out == f"{fact['id'][-8:]} is private: only 'alice' reads it.\n"
    assert contents(run, user="bob") == []


@pytest.mark.parametrize("name", ON_A_FACT)
def test_the_fact_of_somebody_else_answers_as_if_it_did_not_exist(name: str, run: Run) -> None:
    foreign = add(run, "Likes figs", user="bob")
    before = facts(run, user="bob")
    refused = run("facts", name, foreign, *ON_A_FACT[name], *USER)
    missing = run("facts", name, NOBODYS, *ON_A_FACT[name], *USER)
    assert refused.code == missing.code == 1
    assert refused.complaint.replace(foreign, "ID") == missing.complaint.replace(NOBODYS, "ID")
    short = run("facts", name, foreign[-8:], *ON_A_FACT[name], *USER)
    assert short.code == 1
    assert short.complaint.replace(foreign[-8:], "ID") == missing.complaint.replace(NOBODYS, "ID")
    assert facts(run, user="bob") == before


def test_the_fact_of_another_tenant_answers_as_if_it_did_not_exist(run: Run) -> None:
    fact = add(run, "Likes figs", "--tenant", "other")
    for name, more in ON_A_FACT.items():
        done = run("facts", name, fact, *more, *USER)
        assert (name, done.code, done.complaint) == (name, 1, f"there is no fact {fact}")
    assert contents(run, "--tenant", "other") == ["Likes figs"]


# -- deleting and taking back ------------------------------------------------------------------------------------


def test_delete_says_what_happens_and_leaves_nothing(run: Run, imported: Path) -> None:
    fact = add(run, "Collects zanzibarite stones")
    assert run("facts", "edit", fact, *USER, "--content", "Collects quuxite stones").code == 0
    assert b"zanzibarite" in whole(imported)
    done = run("facts", "delete", fact, *USER, "--yes")
    assert done.out == (
        f"{fact[-8:]} is deleted: nothing of it is left, and what says the same is not learned again.\n"
    )
    assert facts(run) == []
    assert run("facts", "history", fact, *USER).code == 1
    assert not re.search(b"zanzibarite|quuxite", whole(imported))


def test_what_was_deleted_is_not_learned_again_but_may_be_added(run: Run, imported: Path) -> None:
    learn(imported, "I like figs.")
    (fact,) = facts(run)
    assert run("facts", "delete", fact["id"], *USER, "--yes", "--json").document == {"id": fact["id"], "deleted": True}
    learn(imported, "I like figs.", "I play chess.", session="later")
    assert contents(run) == ["The user plays chess"]
    add(run, "The user likes figs")
    assert contents(run) == ["The user likes figs", "The user plays chess"]


def test_delete_asks_a_person_and_shows_what_would_go(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fact = add(run, "Likes \x1b[2J figs")
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    said_no = run("facts", "delete", fact, *USER)
    assert said_no.code == 1
    assert "figs" in said_no.out + said_no.err
    assert "\x1b" not in said_no.out + said_no.err
    assert "nothing was done" in said_no.err
    assert len(facts(run)) == 1
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert run("facts", "delete", fact, *USER).code == 0
    assert facts(run) == []


def test_undo_takes_back_change_after_change_and_the_beginning_removes_the_fact(run: Run) -> None:
    fact = add(run, "Likes figs")
    assert run("facts", "edit", fact, *USER, "--content", "Likes plums").code == 0
    assert run("facts", "pin", fact, *USER).code == 0
    first = run("facts", "undo", fact, *USER, "--json").document
    assert (first["deleted"], first["fact"]["pinned"], first["fact"]["content"]) == (False, False, "Likes plums")
    second = run("facts", "undo", fact, *USER)
    assert second.out == f"The last change of {fact[-8:]} is taken back (other, importance 5, active): Likes figs\n"
    third = run("facts", "undo", fact, *USER)
    assert third.out == f"{fact[-8:]} is gone: that was its beginning. What says the same is not learned again.\n"
    assert facts(run) == []


def test_undoing_what_took_its_place_brings_a_fact_back_and_it_can_be_undone_too(run: Run) -> None:
    old = add(run, "Lives in Paris")
    new = add(run, "Lives in Berlin")
    refused = run("facts", "undo", old, *USER)
    assert refused.code == 2
    assert f"fact {new} took its place" in refused.complaint
    assert run("facts", "undo", new, *USER, "--json").document == {"id": new, "deleted": True, "fact": None}
    assert contents(run) == ["Lives in Paris"]
    assert run("facts", "undo", old, *USER, "--json").document == {"id": old, "deleted": True, "fact": None}
    assert facts(run) == []
    assert run("doctor").code == 0


def test_undoing_a_confirmation_brings_back_what_it_had_closed(run: Run, imported: Path) -> None:
    add(run, "Lives in Paris")
    learn(imported, "I live in Lisbon.")
    (doubtful,) = run("facts", "review", *USER, "--json").document["facts"]
    assert run("facts", "confirm", doubtful["id"], *USER).code == 0
    assert contents(run) == ["The user lives in Lisbon"]
    assert run("facts", "undo", doubtful["id"], *USER).code == 0
    assert contents(run, "--state", "review") == ["The user lives in Lisbon"]
    assert contents(run) == ["Lives in Paris"]
    assert run("doctor").code == 0


def whole(database: Path) -> bytes:
    """Everything that the files of the database hold."""
    return b"".join(file.read_bytes() for file in sorted(database.parent.glob(f"{database.name}*")))
