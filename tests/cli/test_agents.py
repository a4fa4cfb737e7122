"""`anaphora agents`: talk to an agent of a file, and check files."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, conversation, write_lines

from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.prompts import structured_summary
from anaphora.testing.faults import ServerError
from anaphora.testing.model_server import ScriptedModelServer
from anaphora.testing.scripted import faithful
from anaphora.testing.wire import Request

TALK = ("agents", "run", "research.json", "--user", "alice", "--session", "1")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", running.base_url)
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "hunter2")
        yield running


@pytest.fixture(autouse=True)
def a_file(home: Path) -> Path:
    return written(home, "research.json")


def written(folder: Path, name: str, **more: Any) -> Path:
    base = {"agent_id": "research", "resources": ["memory"], "provider": "azure_openai_cc", "model": "gpt-4o-mini"}
    path = folder / name
    path.write_text(json.dumps({**base, **more}), encoding="utf-8")
    return path


def test_one_message_is_answered_and_remembered(run: Run, server: ScriptedModelServer) -> None:
    first = run(*TALK, "--message", "My name is Alice")
    assert (first.code, first.out, first.err) == (0, "You said: My name is Alice\n", "")
    again = run(*TALK, "--message", "What's my name?", "--json")
    (turn,) = again.document["turns"]
    assert turn == {
        "message": "What's my name?",
        "answer": "You said: What's my name?",
        "degraded": [],
        "remembered": True,
    }
    assert "My name is Alice" in json.dumps(server.requests[1].messages)
    assert run("history", "--user", "alice", "--session", "1", "--agent", "research", "--json").document["messages"]


def test_lines_of_a_pipe_are_turns(run: Run, server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("One\n\nTwo\n"))
    done = run(*TALK)
    assert (done.code, done.out, done.err) == (0, "You said: One\nYou said: Two\n", "")
    assert len(server.requests) == 2


def test_a_turn_that_fails_is_told_and_the_next_goes_on(
    run: Run, server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.fail_next(ServerError())
    monkeypatch.setattr(sys, "stdin", io.StringIO("One\nTwo\n"))
    done = run(*TALK)
    assert (done.code, done.out) == (1, "You said: Two\n")
    assert done.err.startswith("anaphora: model azure:gpt-4o-mini")
    server.fail_next(ServerError())
    assert run(*TALK, "--message", "Three").code == 1


def test_a_memory_that_fails_is_told_and_the_answer_given(run: Run, server: ScriptedModelServer) -> None:
    done = run(*TALK, "--message", "Hello", "--db", "nowhere/memory.db")
    assert (done.code, done.out) == (0, "You said: Hello\n")
    assert "anaphora: the memory failed: this turn is not remembered" in done.err
    shown = run(*TALK, "--message", "Hello", "--db", "nowhere/memory.db", "--json").document
    assert [(turn["degraded"], turn["remembered"]) for turn in shown["turns"]] == [(["store"], False)]
    assert server.requests


def test_a_key_that_is_not_there_is_one_line(run: Run) -> None:
    done = run(*TALK, "--message", "Hello")
    assert done.code == 2
    assert done.complaint == "model azure:gpt-4o-mini cannot be used yet: set AZURE_OPENAI_ENDPOINT"


def test_files_in_order_are_said_to_be_with_what_may_not_be_meant(run: Run, home: Path) -> None:
    written(home, "forgetful.json", agent_id="forgetful", resources=[])
    done = run("agents", "check", "research.json", "forgetful.json")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "research.json: agent 'research': the configuration is in order",
        "research.json: provider: model azure:gpt-4o-mini cannot be used yet: set AZURE_OPENAI_ENDPOINT",
        "forgetful.json: agent 'forgetful': the configuration is in order",
        'forgetful.json: resources: nothing that is said is stored: add "memory" if it should be',
        "forgetful.json: provider: model azure:gpt-4o-mini cannot be used yet: set AZURE_OPENAI_ENDPOINT",
    ]


def test_every_mistake_of_every_file_is_a_line_and_the_exit_code_is_two(run: Run, home: Path) -> None:
    written(home, "one.json", resorces=[])
    (home / "two.toml").write_text('agent_id = "x"\nmodel = "m"\n', encoding="utf-8")
    done = run("agents", "check", "one.json", "two.toml", "gone.yaml")
    assert done.code == 2
    assert done.err.splitlines() == [
        "anaphora: one.json: resorces: unknown key 'resorces': did you mean 'resources'?",
        "anaphora: two.toml: provider: not set: name the provider of 'm', such as 'azure_openai_cc' or 'ollama'",
        "anaphora: gone.yaml: cannot be read: No such file or directory",
    ]
    shown = run("agents", "check", "one.json", "research.json", "--json")
    assert (shown.code, shown.err) == (2, "")
    assert [(each["file"], each["ok"]) for each in shown.document["files"]] == [
        ("one.json", False),
        ("research.json", True),
    ]
    assert shown.document["files"][0]["mistakes"] == [
        {"key": "resorces", "text": "unknown key 'resorces': did you mean 'resources'?", "nearest": "resources"}
    ]
    assert run(*TALK[:2], "one.json", *TALK[3:], "--message", "x").complaint.startswith("one.json: resorces: ")


def test_a_worker_summarises_as_the_agents_of_the_folder_say(run: Run, home: Path, server: ScriptedModelServer) -> None:
    folder = home / "agents"
    folder.mkdir()
    compression = {"memory": {"compression": {"threshold_tokens": 200, "recent_messages_to_keep": 2}}}
    written(folder, "research.json", resource_config=compression)
    (folder / "broken.json").write_text("{", encoding="utf-8")
    server.responders["structured_summary"] = lambda _: "no summary"
    lines = write_lines(home / "chats.jsonl", [conversation(30)])
    strategy = ("--agent", "research", "--strategy", "token_budget@research")
    assert run("import", str(lines), *strategy).code == 0
    assert run("worker", "--once").code == 0
    assert [request.schema_title for request in server.requests] == ["structured_summary"]
    assert server.requests[0].body["model"] == "gpt-4o-mini"


def summarising(request: Request) -> str:
    """A model that summarises faithfully."""
    assert request.native_schema is not None
    asked = PromptMessage(
        section=SectionName.QUERY, role=Role.USER, content=str(request.messages[-1]["content"]), tokens=0
    )
    return faithful([asked], {**request.native_schema["schema"], "title": request.schema_title})


def test_a_rebuild_that_is_waited_for_is_made_by_the_model_of_the_agent(
    run: Run, server: ScriptedModelServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.responders[structured_summary.TITLE] = summarising
    (home / "agents").mkdir()
    compression = {"threshold_tokens": 400, "recent_messages_to_keep": 2}
    written(home / "agents", "research.json", resource_config={"memory": {"compression": compression}})
    write_lines(home / "chats.jsonl", [conversation(40)])
    assert run("import", "chats.jsonl", "--agent", "research", "--strategy", "token_budget@research").code == 0
    assert run("worker", "--drain").code == 0
    words = ("--user", "alice", "--agent", "research", "--wait", "--timeout", "20")
    asked = len(server.requests)
    done = run("rebuild", "1", *words)
    assert (done.code, done.err) == (0, "")
    assert len(server.requests) > asked
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT")
    again = run("rebuild", "1", *words)
    assert again.code == 0
    assert "No model made them" in again.err


def test_a_message_without_a_word_is_refused(run: Run) -> None:
    for nothing in ("", "  "):
        done = run(*TALK, "--message", nothing)
        assert (done.code, done.out) == (2, "")
        assert "--message: say something" in done.complaint


def test_why_the_memory_failed_is_said_once(
    run: Run, server: ScriptedModelServer, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert not server.requests
    (home / "junk.db").write_text("this is not a database" * 100, encoding="utf-8")
    done = run(*TALK, "--message", "Hello", "--db", "junk.db")
    assert (done.code, done.out) == (0, "You said: Hello\n")
    (said,) = [record.getMessage() for record in caplog.records if getattr(record, "event", "") == "forgetful"]
    assert "without its memory" in said
    assert "not an SQLite database" in said
