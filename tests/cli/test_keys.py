"""`anaphora keys`: a key is shown once, and lists, replaces and revokes name it by its id."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from tests.cli.conftest import Run


def test_a_key_makes_the_database_and_is_shown_once(run: Run, home: Path) -> None:
    made = run("keys", "create", "--tenant", "home", "--user", "ann", "--name", "phone", "--json").document
    assert (home / "anaphora.db").exists()
    assert made["key"].startswith("anaphora_")
    assert UUID(made["id"]).hex in made["key"]
    assert (made["tenant"], made["user"], made["name"], made["expires_at"]) == ("home", "ann", "phone", None)
    assert made["scopes"] == ["erase", "export", "read", "write"]
    listed = run("keys", "list", "--tenant", "home", "--json")
    (key,) = listed.document["keys"]
    assert key == {name: value for name, value in made.items() if name != "key"}
    secret = made["key"].rpartition(".")[2]
    assert secret not in listed.out + run("keys", "list", "--tenant", "home").out
    assert run("keys", "list", "--json").document["keys"] == []
    assert not [path for path in home.iterdir() if secret.encode() in path.read_bytes()]


def test_for_people_the_key_alone_is_on_stdout(run: Run) -> None:
    made = run("keys", "create", "--operator", "--expires", "30")
    assert made.code == 0
    assert made.out.startswith("anaphora_")
    assert len(made.out.splitlines()) == 1
    assert "not shown again" in made.err
    (key,) = run("keys", "list", "--json").document["keys"]
    assert (key["user"], key["scopes"]) == (None, ["operate"])
    assert key["expires_at"] is not None
    assert "(operator)" in run("keys", "list").out


def test_a_key_is_replaced_and_revoked_by_the_end_of_its_id(run: Run) -> None:
    old = run("keys", "create", "--user", "ann", "--scopes", "read, write", "--json").document
    new = run("keys", "rotate", old["id"].replace("-", "")[-8:], "--overlap", "1", "--json").document
    assert new["key"] != old["key"]
    assert new["scopes"] == ["read", "write"]
    ended = {key["id"]: key["expires_at"] for key in run("keys", "list", "--json").document["keys"]}
    assert ended[new["id"]] is None
    assert ended[old["id"]] is not None
    revoked = [run("keys", "revoke", new["id"], "--json").document["revoked"] for _ in range(2)]
    assert revoked == [True, False]
    assert "lets nobody in" in run("keys", "rotate", new["id"]).complaint


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("create",), "--user NAME"),
        (("create", "--user", "ann", "--operator"), "give one of the two"),
        (("create", "--user", "ann", "--scopes", "raed"), "did you mean 'read'"),
        (("create", "--user", "ann", "--scopes", ","), "at least one scope"),
        (("create", "--user", "ann", "--scopes", "operate"), "cannot operate"),
        (("create", "--user", "ann", "--expires", "0"), "more than 0"),
        (("create", "--user", "ann", "--expires", "nan"), "more than 0"),
        (("revoke", "nothing"), "there is no key"),
        (("rotate", ""), "there is no key"),
    ],
)
def test_what_cannot_be_is_told_in_one_line_and_makes_no_key(words: tuple[str, ...], why: str, run: Run) -> None:
    run("keys", "create", "--user", "bob")
    done = run("keys", *words)
    assert done.code == 2 or words[0] != "create"
    assert done.code != 0
    assert why in done.complaint
    assert len(run("keys", "list", "--json").document["keys"]) == 1
