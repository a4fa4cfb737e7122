"""Configurations of agents: those that are printed work as printed, and every mistake is told by file, key and fix."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.models import KnownModelName, OpenAIChatCompatibleProvider
from tests.agents import printed

from anaphora.agents import AgentConfig, Mistake, examine, names, read, read_by_id
from anaphora.agents.config import checked_agent_id
from anaphora.agents.files import MAX_BYTES
from anaphora.errors import ConfigError, InvalidInput, NotFound
from anaphora.models.embedders.remote import PROVIDERS

PLAIN: Mapping[str, Any] = {"agent_id": "a"}
KB = "resource_config.knowledge_base"
SIX = (
    "what did we discuss",
    "previous conversation",
    "last time",
    "remind me",
    "we mentioned",
    "earlier you said",
)


def with_compression(**values: object) -> dict[str, Any]:
    return {**PLAIN, "resource_config": {"memory": {"compression": values}}}


def with_knowledge(**values: object) -> dict[str, Any]:
    return {**PLAIN, "resource_config": {"knowledge_base": values}}


def mistakes(source: Any) -> list[Mistake]:
    found = examine(source)
    assert isinstance(found, tuple), found
    return list(found)


def at(config: AgentConfig, key: str) -> object:
    value: object = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", [printed.BASIC, printed.ADVANCED, printed.ARCHIVAL], ids=["basic", "advanced", "kb"])
def test_a_printed_configuration_says_what_it_prints(text: str, tmp_path: Path) -> None:
    config = read(written(tmp_path, "agent.json", text))
    assert config == read(json.loads(text))
    dumped = config.model_dump(mode="json", exclude_unset=True)
    assert dumped == json.loads(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [(printed.COMPRESSION, "memory"), (printed.RERANKING, "")],
    ids=["compression", "reranking"],
)
def test_a_printed_part_of_a_configuration_works_in_its_place(text: str, place: str) -> None:
    part = json.loads(text)
    config = read({**PLAIN, "resource_config": {place: part} if place else part})
    dumped = config.resource_config.model_dump(mode="json", exclude_unset=True)
    assert (dumped[place] if place else dumped) == part


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("resources", ()),
        ("remembers", False),
        ("provider", None),
        ("model", None),
        ("allowed_regular_tools", ()),
        ("resource_config.memory.compression.enabled", True),
        ("resource_config.memory.compression.threshold_tokens", 10_000),
        ("resource_config.memory.compression.recent_messages_to_keep", 10),
        ("resource_config.memory.compression.archive_conversations", False),
        (f"{KB}.enable_cross_session_context", False),
        (f"{KB}.relevance_threshold", 0.7),
        (f"{KB}.search_triggers", SIX),
        (f"{KB}.rerank_provider", None),
        (f"{KB}.rerank_model", None),
        (f"{KB}.chunk_size", 800),
        (f"{KB}.chunk_overlap", 100),
    ],
)
def test_a_default_is_that_of_the_list_of_options(key: str, default: object) -> None:
    assert at(read(PLAIN), key) == default


@pytest.mark.parametrize(
    ("source", "key", "says", "nearest"),
    [
        ({}, "agent_id", "not set", None),
        ({"agent_id": 7}, "agent_id", "should be text in quotation marks, not 7", None),
        ({"agent_id": "../x"}, "agent_id", "not '../x'", None),
        ({**PLAIN, "resorces": []}, "resorces", "did you mean 'resources'?", "resources"),
        ({**PLAIN, "zebra": 1}, "zebra", "known: agent_id,", None),
        ({**PLAIN, "resources": ["memmory"]}, "resources.0", "unknown resource 'memmory': did you mean", "memory"),
        ({**PLAIN, "resources": "memory"}, "resources", 'should be a list, not "memory"', None),
        (
            {**PLAIN, "allowed_regular_tools": ["search_knowledge"]},
            "allowed_regular_tools.0",
            "did you mean 'search_knowledge_base'?",
            "search_knowledge_base",
        ),
        ({**PLAIN, "provider": "azure_openai_c", "model": "m"}, "provider", "did you mean", "azure_openai_cc"),
        ({**PLAIN, "provider": "ollama"}, "model", "name the model of 'ollama'", None),
        ({**PLAIN, "model": "m"}, "provider", "name the provider of 'm'", None),
        ({**PLAIN, "resource_config": []}, "resource_config", "should be an object, not []", None),
        (
            {**PLAIN, "resource_config": {"memory": {"threshold_tokens": 1}}},
            "resource_config.memory.threshold_tokens",
            "it belongs in resource_config.memory.compression",
            "resource_config.memory.compression.threshold_tokens",
        ),
        (
            with_compression(enable=True),
            "resource_config.memory.compression.enable",
            "did you mean 'enabled'?",
            "enabled",
        ),
        (
            with_compression(enabled="yes"),
            "resource_config.memory.compression.enabled",
            'should be true or false, not "yes"',
            None,
        ),
        (
            with_compression(threshold_tokens="8000"),
            "resource_config.memory.compression.threshold_tokens",
            'should be a whole number, not "8000"',
            None,
        ),
        (
            with_compression(threshold_tokens=0),
            "resource_config.memory.compression.threshold_tokens",
            "greater than or equal to 192, not 0",
            None,
        ),
        (with_knowledge(relevance_threshold=1.5), f"{KB}.relevance_threshold", "or equal to 1, not 1.5", None),
        (with_knowledge(relevance_threshold=True), f"{KB}.relevance_threshold", "should be a number, not true", None),
        (with_knowledge(search_triggers=[7]), f"{KB}.search_triggers.0", "should be text", None),
        (with_knowledge(search_triggers=["last time", "?!"]), f"{KB}.search_triggers.1", "a phrase has words", None),
        (with_knowledge(cross_session_agents=["a/b"]), f"{KB}.cross_session_agents.0", "not 'a/b'", None),
        (with_knowledge(chunk_size=100), f"{KB}.chunk_overlap", "between 0 and half of chunk_size, not 100", None),
        (with_knowledge(namespaces=[["user", "bob"]]), f"{KB}.namespaces.0", "use another name", None),
        (with_knowledge(namespaces=["team"]), f"{KB}.namespaces.0", 'should be a list, not "team"', None),
        (with_knowledge(namespaces=[["a\x00"]]), f"{KB}.namespaces.0", "NUL", None),
        (with_knowledge(embedding_model="e"), f"{KB}.embedding_provider", "name the provider of 'e'", None),
        (with_knowledge(embedding_provider="openai"), f"{KB}.embedding_model", "name the model of 'openai'", None),
        (with_knowledge(rerank_provider="olama", rerank_model="m"), f"{KB}.rerank_provider", "did you mean", "ollama"),
        (with_knowledge(rerank_provider="ollama"), f"{KB}.rerank_model", "name the model of 'ollama'", None),
        (with_knowledge(rerank_model="m"), f"{KB}.rerank_model", "it has no provider", None),
        ({**PLAIN, "provider": "voyage", "model": "m"}, "provider", "unknown provider 'voyage': known: alibaba", None),
        (
            with_knowledge(embedding_provider="claud", embedding_model="m"),
            f"{KB}.embedding_provider",
            "unknown provider 'claud': did you mean 'ovhcloud'?",
            "ovhcloud",
        ),
        ({**PLAIN, "provider": "gemni", "model": "m"}, "provider", "did you mean 'gemini'?", "gemini"),
        ({**PLAIN, "instructions": "a\x00b"}, "instructions", "NUL", None),
        ({**PLAIN, "instructions": "\ud800"}, "instructions", "surrogate", None),
        ({**PLAIN, "description": "a\x00b"}, "description", "NUL", None),
        (with_knowledge(search_triggers=["last\ud800"]), f"{KB}.search_triggers.0", "surrogate", None),
        (with_knowledge(rerank_provider="onnx", rerank_model="\x00"), f"{KB}.rerank_model", "NUL", None),
        ({**PLAIN, "max_tokens": 16**5000}, "max_tokens", "less than or equal to", None),
        ({**PLAIN, "zebra\nstripe": 1}, r"zebra\nstripe", "unknown key", None),
        ({**PLAIN, "zebra\ud800": 1}, "", "should be valid Unicode text", None),
    ],
)
def test_a_mistake_names_its_key_and_the_fix(source: Any, key: str, says: str, nearest: str | None) -> None:
    (found,) = mistakes(source)
    assert (found.file, found.key, found.nearest) == ("configuration", key, nearest)
    assert says in found.text
    assert "\n" not in str(found)


def test_every_mistake_is_told_and_names_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "agent.toml", 'agent_id = "a/b"\nresorces = []\n')
    with pytest.raises(ConfigError) as raised:
        read(path)
    lines = str(raised.value).splitlines()
    assert [line.split(": ")[:2] for line in lines] == [[str(path), "agent_id"], [str(path), "resorces"]]


@pytest.mark.parametrize(
    ("wrong", "keys"),
    [
        (
            {"resorces": [], "provider": "opnai", "model": "m", **with_knowledge(chunk_size=100, chunk_overlap=90)},
            ["resorces", f"{KB}.chunk_overlap", "provider"],
        ),
        ({"agent_id": 7, "provider": "opnai", "model": "m"}, ["agent_id", "provider"]),
        # what a wrong value may have meant is not guessed
        ({"provider": 7, "model": "m"}, ["provider"]),
        ({"provder": "ollama", "model": "m"}, ["provder"]),
        ({"provider": "ollama", "modl": "m"}, ["modl"]),
        (with_knowledge(chunk_size="100", chunk_overlap=700), [f"{KB}.chunk_size"]),
        (with_knowledge(chunk_siz=2000, chunk_overlap=700), [f"{KB}.chunk_siz"]),
        ({"resource_config": [], "model": "m"}, ["resource_config", "provider"]),
        ({"embedding_provider": "openai", **with_knowledge(embedding_model="e")}, ["embedding_provider"]),
        (
            with_knowledge(search_triggers=["?!", 7], rerank_provider="olama"),
            [f"{KB}.search_triggers.1", f"{KB}.rerank_provider"],
        ),
    ],
)
def test_all_mistakes_are_told_at_once(wrong: dict[str, Any], keys: list[str]) -> None:
    assert [mistake.key for mistake in mistakes({**PLAIN, **wrong})] == keys


def test_a_mistake_is_one_line_whatever_its_file_and_its_key_are_called(tmp_path: Path) -> None:
    path = written(tmp_path, "a\nb.json", json.dumps({**PLAIN, "zebra\nstripe": "x", "provider": "\u2028\ud800"}))
    for mistake in mistakes(path):
        assert str(mistake).splitlines() == [str(mistake)]
        assert str(mistake).encode("utf-8")


def test_json_toml_and_yaml_say_the_same(tmp_path: Path) -> None:
    toml = 'agent_id = "a"\nresources = ["memory"]\n[resource_config.memory.compression]\nthreshold_tokens = 900\n'
    yaml = "agent_id: a\nresources: [memory]\nresource_config:\n  memory: {compression: {threshold_tokens: 900}}\n"
    texts = {"a.json": json.dumps(tomllib.loads(toml)), "a.toml": toml, "a.yaml": yaml, "a.yml": yaml}
    configs = {read(written(tmp_path, name, text)) for name, text in texts.items()}
    assert {config.compression.threshold_tokens for config in configs} == {900}
    assert len(configs) == 1


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", b"", "line 1, column 1: not valid JSON"),
        ("a.json", b"[]", "not an object"),
        ("a.json", b'{"agent_id": "a", "agent_id": "b"}', "'agent_id' stands twice"),
        ("a.json", b'{"agent_id": "\xff"}', "not UTF-8 text"),
        ("a.json", b"[" * 50_000, "not valid JSON"),
        ("a.json", b" " * (MAX_BYTES + 1), "larger than 1,048,576 bytes"),
        ("a.json", b'{"max_tokens": ' + b"9" * 5000 + b"}", "not valid JSON: a number has too many digits"),
        ("a.toml", b"max_tokens = " + b"9" * 5000, "not valid TOML: a number has too many digits"),
        ("a.yaml", b"max_tokens: " + b"9" * 5000, "not valid YAML: a value cannot be read"),
        ("a.toml", b"agent_id = ", "not valid TOML"),
        ("a.yaml", b"agent_id: [", "not valid YAML: line"),
        ("a.yaml", b"a: &x [1]\nb: *x\n", "references (*name) are not taken"),
        ("a.yaml", b"agent_id: a\nagent_id: b\n", "line 2: 'agent_id' stands there twice"),
        ("a.yaml", b"agent_id: !!python/object/apply:os.getcwd []\n", "not valid YAML"),
        ("a.txt", b"{}", "use .json, .toml, .yaml, .yml"),
    ],
)
def test_a_file_that_is_no_configuration_is_one_clear_mistake(
    name: str, content: bytes, says: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    (found,) = mistakes(path)
    assert (found.file, found.key) == (str(path), "")
    assert says in found.text


def test_a_folder_and_a_file_that_is_not_there_are_clear_mistakes(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    for name in ("folder.json", "gone.json"):
        (found,) = mistakes(tmp_path / name)
        assert found.text.startswith("cannot be read: ")


def test_an_agent_is_found_by_its_id_and_no_other_file_is(tmp_path: Path) -> None:
    written(tmp_path, "research.json", json.dumps({"agent_id": "research"}))
    written(tmp_path, "other.json", json.dumps({"agent_id": "research"}))
    assert read_by_id(tmp_path, "research").agent_id == "research"
    with pytest.raises(NotFound, match="did you mean 'research'"):
        read_by_id(tmp_path, "reserch")
    with pytest.raises(ConfigError, match="'research' is not the name of the file: write 'other'"):
        read_by_id(tmp_path, "other")
    written(tmp_path, "research.toml", 'agent_id = "research"')
    with pytest.raises(ConfigError, match="are the same agent: leave one out"):
        read_by_id(tmp_path, "research")
    with pytest.raises(NotFound, match=r"write x\.json there"):
        read_by_id(tmp_path / "nowhere", "x")


@pytest.mark.parametrize(
    "agent_id",
    [
        "",
        ".",
        "..",
        "../x",
        "x/y",
        "x\\y",
        "/x",
        "C:x",
        "x\x00",
        ".x",
        "x..y",
        "x.",
        "é",
        "x y",
        "x\n",
        "~x",
        "a" * 101,
    ],
)
def test_an_id_that_could_name_another_file_is_refused(agent_id: str, tmp_path: Path) -> None:
    outside = written(tmp_path, "x.json", json.dumps({"agent_id": "x"}))
    folder = tmp_path / "agents"
    folder.mkdir()
    assert outside.exists()
    with pytest.raises(InvalidInput, match="an agent_id has"):
        read_by_id(folder, agent_id)


@given(st.text(alphabet="ab./\\:~ \x00é-_", max_size=8))
def test_an_accepted_id_never_leaves_its_folder(agent_id: str) -> None:
    folder = Path("folder")
    try:
        name = checked_agent_id(agent_id)
    except ValueError:
        return
    path = folder / f"{name}.json"
    assert path.parent == folder
    assert ".." not in path.parts
    assert not name.startswith(".")


def test_every_provider_that_is_taken_is_one_that_can_be_asked() -> None:
    asked = {str(name).partition(":")[0] for name in get_args(KnownModelName.__value__)}
    known = asked | set(get_args(OpenAIChatCompatibleProvider.__value__)) | {"openai-chat", "openai-responses"}
    assert not names.CHAT - known
    assert not names.EMBEDDING - PROVIDERS


@pytest.mark.parametrize(
    ("provider", "wanted"),
    [("azure_openai_cc", "azure:m"), ("ollama", "ollama:m"), ("openai", "openai:m"), ("gemini", "google:m")],
)
def test_a_provider_of_a_configuration_is_one_of_the_settings(provider: str, wanted: str) -> None:
    assert names.chat_model(provider, "m") == names.embedder(provider, "m") == wanted
    assert names.rerank_provider(provider) == wanted.partition(":")[0]
