"""What works but may not be meant so is told, with the key and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.models.cross_encoder import write

from anaphora.agents import notices_of, read, settings_for
from anaphora.agents.checking import keys_missing
from anaphora.settings import Settings

KB = "resource_config.knowledge_base"
COMPRESSION = "resource_config.memory.compression"
BOTH = ["memory", "knowledge_base"]


def agent(resources: list[str], knowledge: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """An agent that somebody answers for."""
    compression = more.pop("compression", None)
    parts: dict[str, Any] = {}
    if compression is not None:
        parts["memory"] = {"compression": compression}
    if knowledge is not None:
        parts["knowledge_base"] = dict(knowledge)
    base = {"agent_id": "a", "resources": resources, "provider": "ollama", "model": "m"}
    return {**base, **({"resource_config": parts} if parts else {}), **more}


RECALL = {"enable_cross_session_context": True}
ARCHIVE = {"archive_conversations": True}


@pytest.mark.parametrize(
    ("config", "db", "told"),
    [
        (agent(["memory"]), "x.db", {}),
        (agent([]), "x.db", {"resources": "nothing that is said is stored"}),
        (
            agent([], compression={}),
            "x.db",
            {"resources": "nothing that is said", "resource_config.memory": "does nothing"},
        ),
        (agent(["memory"], compression={"enabled": False}), "x.db", {f"{COMPRESSION}.enabled": "set it to true"}),
        (
            agent(BOTH, compression={"enabled": False, **ARCHIVE}),
            "x.db",
            {f"{COMPRESSION}.enabled": "nothing is summarised", f"{COMPRESSION}.archive_conversations": "is false"},
        ),
        (
            agent(["memory"], compression=ARCHIVE),
            "x.db",
            {f"{COMPRESSION}.archive_conversations": 'add "knowledge_base" to resources'},
        ),
        (agent(["memory"], {}), "x.db", {KB: 'add "knowledge_base" to resources'}),
        (
            agent(["memory"], allowed_regular_tools=["list_documents"]),
            "x.db",
            {"allowed_regular_tools": 'add "knowledge_base" to resources'},
        ),
        (agent(BOTH, {"search_triggers": ["again"]}), "x.db", {f"{KB}.search_triggers": "do nothing"}),
        (agent(BOTH, RECALL, compression=ARCHIVE), "x.db", {}),
        (agent(BOTH, RECALL), "x.db", {f"{KB}.enable_cross_session_context": "set archive_conversations"}),
        (
            agent(["knowledge_base"], RECALL),
            "x.db",
            {"resources": "nothing that is said", f"{KB}.enable_cross_session_context": '"memory" is not in resources'},
        ),
        (
            agent(BOTH, {**RECALL, "relevance_threshold": 1.0}, compression=ARCHIVE),
            "x.db",
            {f"{KB}.relevance_threshold": "0.7 is the default"},
        ),
        (agent(BOTH, {"vector_provider": "pgvector"}), "x.db", {f"{KB}.vector_provider": "nothing is missing"}),
        (agent(BOTH, {"vector_provider": "pgvector"}), "postgresql://u@h/d", {}),
        (agent(BOTH, {"vector_provider": "qdrant"}), "x.db", {f"{KB}.vector_provider": "'qdrant' is not used"}),
        (agent(["memory"], provider=None, model=None), "x.db", {"provider": "no model answers"}),
        (agent(["memory"], context_budget=10_000), "x.db", {"context_budget": "set it to more than 10,000"}),
        (agent(["memory"], context_budget=10_001), "x.db", {}),
        (agent(["memory"], context_budget=300, compression={"threshold_tokens": 200}), "x.db", {}),
    ],
)
def test_what_may_not_be_meant_so_is_told_with_what_to_do(
    config: Mapping[str, Any], db: str, told: Mapping[str, str]
) -> None:
    wanted = read(config)
    notices = list(notices_of(wanted, settings_for(wanted, base=Settings(db=db))))
    assert [notice.key for notice in notices] == list(told)
    assert [notice.text for notice in notices if told[notice.key] not in notice.text] == []


def test_a_budget_of_the_settings_that_is_not_above_the_threshold_is_told_like_one_of_the_file() -> None:
    wanted = read(agent(["memory"]))
    for small in (Settings(context_budget=4000), Settings(agents={"a": {"context_budget": 4000}})):
        (notice,) = notices_of(wanted, settings_for(wanted, base=small))
        assert (notice.key, "4,000" in notice.text) == ("context_budget", True)


@pytest.mark.anyio
async def test_what_the_environment_lacks_is_told_by_the_name_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    knowledge = {
        "embedding_provider": "azure_openai_cc",
        "embedding_model": "e",
        "rerank_provider": "azure_openai_cc",
        "rerank_model": "r",
    }
    config = read(agent(BOTH, knowledge, provider="azure_openai_cc", model="gpt"))
    settings = settings_for(config, base=Settings(db="x.db"))
    missing = await keys_missing(config, settings)
    assert [notice.key for notice in missing] == ["provider", f"{KB}.embedding_provider", f"{KB}.rerank_provider"]
    assert ["set AZURE_OPENAI_ENDPOINT" in notice.text for notice in missing] == [True] * 3
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "hunter2")
    assert await keys_missing(config, settings) == []


@pytest.mark.anyio
async def test_a_cross_encoder_that_cannot_be_used_is_told_and_one_that_can_is_not(tmp_path: Path) -> None:
    config = read(agent(BOTH, {"rerank_provider": "onnx", "rerank_model": str(tmp_path / "my encoder")}))
    settings = settings_for(config, base=Settings(db="x.db"))
    (missing,) = await keys_missing(config, settings)
    assert missing.key == f"{KB}.rerank_model"
    assert "model.onnx" in missing.text
    write(tmp_path / "my encoder")
    assert await keys_missing(config, settings) == []
