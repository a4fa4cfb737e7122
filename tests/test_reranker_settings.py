"""Who reranks is named by provider and model; what does not go together is one line that says what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from anaphora import Memory
from anaphora.errors import ConfigError, MissingExtra
from anaphora.settings import load


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: no `anaphora.toml` but the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_by_default_nobody_reranks() -> None:
    settings = load()
    assert (settings.rerank_provider, settings.reranker()) == ("", None)
    assert (settings.rerank_candidates, settings.rerank_timeout) == (30, 10.0)


@pytest.mark.parametrize("provider", ["", "none", "local"])
def test_without_a_provider_of_models_no_model_reranks(provider: str) -> None:
    assert load(rerank_provider=provider, model="openai:chat").reranker() is None


def test_the_environment_can_turn_off_what_the_file_turns_on(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("anaphora.toml").write_text('rerank_provider = "openai"\nrerank_model = "small"\n', encoding="utf-8")
    assert load().reranker() is not None
    monkeypatch.setenv("ANAPHORA_RERANK_PROVIDER", "none")
    assert load().reranker() is None


def test_url_and_key_are_those_of_what_summarises_if_it_is_of_the_same_provider() -> None:
    memory: dict[str, Any] = {"memory_model": "openai:a", "memory_base_url": "http://here/v1", "memory_api_key": "k"}
    model = load(**memory, rerank_provider="openai", rerank_model="b", rerank_timeout=3).reranker()
    assert model is not None
    assert (model.model, model.base_url, model.api_key, model.timeout) == (
        "openai:b",
        "http://here/v1",
        SecretStr("k"),
        3,
    )
    other = load(**memory, rerank_provider="ollama", rerank_model="b").reranker()
    assert other is not None
    assert (other.model, other.base_url, other.api_key) == ("ollama:b", None, None)


def test_a_url_of_its_own_inherits_no_key() -> None:
    model = load(
        memory_model="openai:a",
        memory_api_key="k",
        rerank_provider="openai",
        rerank_model="b",
        rerank_base_url="http://elsewhere/v1",
    ).reranker()
    assert model is not None
    assert (model.base_url, model.api_key) == ("http://elsewhere/v1", None)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"rerank_model": "small"}, "rerank_model: it has no provider"),
        ({"rerank_provider": "local", "rerank_model": "small"}, "rerank_model: 'local' asks no model"),
        ({"rerank_provider": "openai"}, "name the model of 'openai'"),
        ({"rerank_provider": "onnx"}, "rerank_model: not set: name the folder"),
        ({"rerank_provider": "openai:small"}, "rerank_provider = 'openai' and rerank_model = 'small'"),
        ({"rerank_provider": " "}, "rerank_provider: ' ' is no provider"),
        ({"rerank_candidates": 1}, "rerank_candidates"),
        ({"rerank_candidates": 201}, "rerank_candidates"),
        ({"rerank_timeout": 0}, "rerank_timeout"),
        ({"rerank_provder": "local"}, "did you mean 'rerank_provider'"),
    ],
)
def test_what_does_not_go_together_is_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError, match=line) as caught:
        load(**given)
    assert "\n" not in str(caught.value)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"rerank_provider": "opnai", "rerank_model": "small"}, "opnai:small names no known provider"),
        ({"rerank_provider": "openai", "rerank_model": "small"}, "OPENAI_API_KEY"),
        ({"rerank_provider": "onnx", "rerank_model": "nothing here"}, "rerank_model: cannot read .*model.onnx"),
        ({"rerank_provider": "local", "models": "nothing here"}, "run `anaphora models pull`"),
    ],
)
async def test_a_reranker_that_cannot_be_is_said_when_the_memory_is_opened(
    given: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises((ConfigError, MissingExtra), match=line) as caught:
        async with Memory.open("m.db", **given):
            pass
    assert "\n" not in str(caught.value)
