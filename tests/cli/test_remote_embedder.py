"""The commands with an embedder behind HTTP."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from anaphora.testing.embeddings import by_topics
from anaphora.testing.model_server import ScriptedModelServer

TOPICS = {"pets": ["dog", "pet"], "food": ["allergic", "peanuts", "eat"]}
TURNED = dict(reversed(TOPICS.items()))
SAID = ("My dog is called Rex.", "I am allergic to peanuts.")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModelServer]:
    """The embedder that is configured."""
    with ScriptedModelServer(embed=by_topics(TOPICS)) as running:
        monkeypatch.setenv("ANAPHORA_EMBEDDER", "openai:small")
        monkeypatch.setenv("ANAPHORA_EMBEDDER_BASE_URL", running.base_url)
        yield running


def kept(home: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(home / "anaphora.db")) as connection:
        return list(connection.execute("SELECT space, count(*) FROM message_vectors GROUP BY space"))


def found(run: Run) -> tuple[list[str], list[str]]:
    """The contents of what answers the question, and what was missing."""
    document = run("search", "Which pet do they own?", "--user", "ann", "--limit", "1", "--json").document
    return [hit["content"] for hit in document["hits"]], document["degraded"]


def test_after_a_change_of_the_embedder_reindex_makes_its_vectors_and_forgets_the_others(
    run: Run, home: Path, server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = {"messages": [{"role": "user", "content": text} for text in SAID]}
    (home / "said.jsonl").write_text(json.dumps(lines), encoding="utf-8")
    assert run("import", "said.jsonl", "--user", "ann").code == 0
    assert run("worker", "--drain").code == 0
    assert found(run) == ([SAID[0]], [])
    (first,) = kept(home)
    with ScriptedModelServer(embed=by_topics(TURNED)) as other:
        monkeypatch.setenv("ANAPHORA_EMBEDDER", "openai:large")
        monkeypatch.setenv("ANAPHORA_EMBEDDER_BASE_URL", other.base_url)
        assert found(run) == ([], ["vectors"])
        asked = len(server.embeddings.requests)
        assert run("reindex").code == 0
        assert found(run) == ([SAID[0]], [])
        assert first in kept(home)
        assert [count for _, count in kept(home)] == [2, 2]
        assert run("reindex", "--prune").code == 0
        ((space, count),) = kept(home)
        assert space.startswith("openai:large@127.0.0.1:")
        assert (space == first[0], count) == (False, 2)
        assert found(run) == ([SAID[0]], [])
    assert len(server.embeddings.requests) == asked, "the first embedder is asked nothing any more"


def test_models_list_and_doctor_show_the_embedder_and_ask_it_nothing(run: Run, server: ScriptedModelServer) -> None:
    place = server.base_url.removeprefix("http://").removesuffix("/v1")
    embedder = run("models", "list", "--json").document["embedder"]
    assert (embedder["id"], embedder["state"]) == (f"openai:small@{place}", "present")
    assert "openai:small" in run("models", "list").out
    assert run("migrate").code == 0
    (check,) = [check for check in run("doctor", "--json").document["checks"] if check["id"] == "embedder"]
    assert check["ok"]
    assert server.embeddings.requests == ()


def test_an_embedder_that_cannot_be_is_shown_as_broken_with_what_to_do(
    run: Run, server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANAPHORA_EMBEDDER", "opnai:small")
    embedder = run("models", "list", "--json").document["embedder"]
    assert (embedder["id"], embedder["state"]) == ("opnai:small", "broken")
    assert "did you mean 'openai'" in embedder["detail"]
    assert run("migrate").code == 0
    assert "did you mean 'openai'" in run("search", "dogs", "--user", "ann").complaint
    assert server.embeddings.requests == ()
