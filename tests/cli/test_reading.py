"""`anaphora context`, `history` and `search`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, unprivileged

from anaphora.testing.model_server import Request, ScriptedModelServer

ALICE = ("--user", "alice", "--session", "1")


def test_history_gives_the_newest_messages_in_order(run: Run, imported: Path) -> None:
    assert imported.exists()
    messages = run("history", *ALICE, "--limit", "3", "--json").document["messages"]
    assert [message["seq"] for message in messages] == [27, 28, 29]
    assert messages[0]["role"] == "assistant"
    assert messages[0]["content"].startswith("Message 27 speaks of peanuts")
    assert {"id", "turn", "name", "parts", "metadata", "tokens", "created_at", "source", "trust"} <= set(messages[0])


def test_history_pages_back_to_the_first_message(run: Run, imported: Path) -> None:
    assert imported.exists()
    seen: list[int] = []
    before = 30
    while page := run("history", *ALICE, "--limit", "12", "--before", str(before), "--json").document["messages"]:
        seen = [message["seq"] for message in page] + seen
        before = seen[0]
    assert seen == list(range(30))


def test_history_for_people_is_a_line_a_message(run: Run, imported: Path) -> None:
    assert imported.exists()
    lines = run("history", *ALICE, "--limit", "2").out.splitlines()
    assert len(lines) == 2
    assert lines[1].split()[0] == "29"
    assert lines[1].endswith("assistant: Message 29 speaks of peanuts and of item29 in the kitchen.")


def test_context_accounts_for_every_message(run: Run, summarised: Path) -> None:
    assert summarised.exists()
    made = run("context", *ALICE, "--query", "What about item3?", "--budget", "900", "--json").document
    ranges = [span for part in ("summarised", "verbatim", "elided") for span in made["coverage"][part]]
    assert sorted(seq for start, stop in ranges for seq in range(start, stop)) == list(range(30))
    assert made["tokens"] <= made["budget"] == 900
    assert made["tokens"] < made["tokens_full_history"]
    assert made["degraded"] == ["model"]
    assert made["messages"][-1]["content"] == "What about item3?"
    assert "explain" not in made


def test_context_can_be_sent_as_it_is_printed(run: Run, summarised: Path) -> None:
    assert summarised.exists()
    openai = run("context", *ALICE, "--query", "Hello", "--format", "openai").document
    assert openai["messages"][-1] == {"role": "user", "content": "Hello"}
    anthropic = run("context", *ALICE, "--query", "Hello", "--format", "anthropic").document
    assert anthropic["messages"][-1]["content"][-1] == {"type": "text", "text": "Hello"}
    both = run("context", *ALICE, "--query", "Hello", "--format", "openai", "--json").document
    assert both["messages"] == openai["messages"]
    assert both["coverage"]["head"] == 30


def test_context_explains_every_line(run: Run, summarised: Path) -> None:
    assert summarised.exists()
    lines = run("context", *ALICE, "--explain", "--json").document["explain"]
    assert {"section", "source", "range", "tokens", "included", "why"} <= set(lines[0])
    shown = run("context", *ALICE, "--explain")
    assert "memory" in shown.out
    assert "30 messages: " in shown.err


def test_context_for_people_shows_the_prompt_and_accounts_for_it_on_stderr(run: Run, summarised: Path) -> None:
    assert summarised.exists()
    shown = run("context", *ALICE, "--query", "Hello")
    assert "[memory]" in shown.out
    assert "[query]" in shown.out
    assert "less than the" in shown.err
    assert "Degraded: model." in shown.err


def test_what_reranks_and_does_not_answer_is_told_and_the_order_stays(
    run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported.exists()
    words = ("search", "item7", "--user", "alice", "--json")
    before = run(*words).document["hits"]
    assert len(before) > 1
    for name, value in {"PROVIDER": "openai", "MODEL": "small", "BASE_URL": "http://127.0.0.1:9/v1"}.items():
        monkeypatch.setenv(f"ANAPHORA_RERANK_{name}", value)
    after = run(*words).document
    assert (after["hits"], after["degraded"]) == (before, ["rerank"])
    assert "rerank_provider did not answer" in run(*words[:-1]).err


def test_what_reranking_adds_is_explained_where_there_is_any(
    run: Run, imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported.exists()
    words = ("search", "item7", "--user", "alice", "--explain")
    assert "rerank" not in run(*words).out

    def grades(request: Request) -> str:
        passages = request.last_user_text.splitlines()[2:-1]
        return json.dumps({"grades": [{"n": n, "grade": 7} for n in range(1, len(passages) + 1)]})

    with ScriptedModelServer(responders={"rerank": grades}) as server:
        for name, value in {"PROVIDER": "openai", "MODEL": "small", "BASE_URL": server.base_url}.items():
            monkeypatch.setenv(f"ANAPHORA_RERANK_{name}", value)
        assert "rerank" in run(*words).out
        assert {hit["scores"]["rerank"] for hit in run(*words, "--json").document["hits"]} == {7}


def test_search_finds_only_what_the_user_said(run: Run, imported: Path) -> None:
    assert imported.exists()
    hits = run("search", "item7", "--user", "alice", "--json").document["hits"]
    assert {(hit["user"], hit["session"], hit["seq"]) for hit in hits} == {("alice", "1", 7), ("alice", "2", 7)}
    one = run("search", "item7", "--user", "alice", "--session", "2", "--json").document["hits"]
    assert [(hit["session"], hit["seq"]) for hit in one] == [("2", 7)]
    assert run("search", "comets", "--user", "alice", "--json").document == {"hits": [], "degraded": []}
    assert run("search", "comets", "--user", "alice").out == "Nothing was found.\n"
    assert "speaks of violins" in run("search", "violins", "--user", "alice", "--limit", "1").out


def test_nothing_in_a_query_is_syntax(run: Run, imported: Path) -> None:
    assert imported.exists()
    for query in ('"', "peanuts AND NOT (", "scope:*", "item7*", "NEAR(", "'; DROP TABLE messages"):
        assert run("search", query, "--user", "alice").code == 0


@pytest.mark.parametrize(
    "words",
    [("history", *ALICE), ("context", *ALICE), ("search", "peanuts", "--user", "alice"), ("sessions", "list")],
)
def test_reading_works_where_nothing_can_be_written(
    words: tuple[str, ...], run: Run, imported: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = open_folder / "copy.db"
    copy.write_bytes(imported.read_bytes())
    copy.chmod(0o444)
    open_folder.chmod(0o555)
    usual = run(*words, "--json")
    monkeypatch.chdir(open_folder)
    with unprivileged():
        done = run(*words, "--json", "--db", str(copy))
    assert (done.code, done.err) == (0, "")
    assert done.document == usual.document


def test_reading_makes_no_database_and_writes_none(run: Run, home: Path, imported: Path) -> None:
    before = imported.read_bytes()
    for words in (("history", *ALICE), ("context", *ALICE), ("search", "x", "--user", "alice"), ("jobs", "list")):
        assert run(*words).code == 0
        missing = run(*words, "--db", "other.db")
        assert missing.code == 1
        assert missing.complaint == ("there is no database at other.db: `anaphora import` or `anaphora chat` makes one")
    assert imported.read_bytes() == before
    assert not (home / "other.db").exists()


def test_a_session_that_is_not_there_is_no_empty_history(run: Run, imported: Path) -> None:
    assert imported.exists()
    for words in (("history",), ("context",), ("summaries", "show")):
        done = run(*words, "--user", "alice", "--session", "11")
        assert done.code == 1
        assert "no session '11' of user 'alice'" in done.complaint
