"""`anaphora models`: what is configured, what is here, and how it comes here."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run


@pytest.fixture
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of models."""
    monkeypatch.setenv("ANAPHORA_MODELS", str(home / "models"))
    monkeypatch.setenv("ANAPHORA_EMBEDDER", "local")
    return home / "models"


def test_what_is_missing_is_said_with_the_way_to_get_it(run: Run, folder: Path) -> None:
    found = run("models", "list", "--json").document
    assert found["chat"] == {"model": None}
    assert found["embedder"]["state"] == "missing"
    assert found["embedder"]["folder"] == str(folder)
    assert "anaphora models pull" in run("models", "list").out


def test_what_is_configured_is_shown(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not folder.exists()
    monkeypatch.setenv("ANAPHORA_MODEL", "ollama:llama3.2")
    monkeypatch.setenv("ANAPHORA_EMBEDDER", "none")
    found = run("models", "list", "--json").document
    assert found["chat"] == found["memory"] == {"model": "ollama:llama3.2"}
    assert found["embedder"]["state"] == "off"


@pytest.mark.parametrize(
    ("provider", "model", "shown"),
    [("", "", None), ("none", "", None), ("local", "", "local (bge-small"), ("ollama", "llama3.2", "ollama:llama3.2")],
)
def test_who_reranks_is_shown(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, provider: str, model: str, shown: str | None
) -> None:
    assert not folder.exists()
    monkeypatch.setenv("ANAPHORA_RERANK_PROVIDER", provider)
    monkeypatch.setenv("ANAPHORA_RERANK_MODEL", model)
    found = run("models", "list", "--json").document["reranker"]["model"]
    assert found is None if shown is None else found.startswith(shown)
    assert (shown or "stay in the order") in run("models", "list").out


def test_a_wrong_file_is_told_apart_from_a_missing_one(run: Run, folder: Path) -> None:
    folder.mkdir()
    for name in ("tokenizer.json", "model_quantized.onnx"):
        (folder / name).write_bytes(b"not a model")
    embedder = run("models", "list", "--json").document["embedder"]
    assert embedder["state"] == "broken"
    assert "models pull" in embedder["detail"]


def test_a_pull_from_a_wrong_place_changes_nothing(run: Run, folder: Path, home: Path) -> None:
    (home / "tokenizer.json").write_bytes(b"not a tokenizer")
    done = run("models", "pull", "--from", str(home))
    assert done.code == 2
    assert "wrong sha256" in done.complaint
    assert list(folder.iterdir()) == []
