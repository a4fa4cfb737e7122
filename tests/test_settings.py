"""Flags over environment over `anaphora.toml` over defaults; a mistake is one line that names the key and the fix."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.memory.harness import say

from anaphora import Memory
from anaphora.domain.summaries import Method
from anaphora.errors import ConfigError
from anaphora.services.settings import Work
from anaphora.settings import load
from anaphora.strategies.rolling_pairs import RollingPairs
from anaphora.strategies.sliding_window import SlidingWindow
from anaphora.testing.model_server import Request, ScriptedModelServer
from anaphora.testing.summaries import faithful_summary


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: no `anaphora.toml` but the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(text: str, name: str = "anaphora.toml") -> None:
    Path(name).write_text(text, encoding="utf-8")


def test_without_anything_the_seeds_numbers_hold() -> None:
    settings = load()
    strategies = settings.strategies()
    assert strategies.default == "rolling_pairs"
    assert strategies.by_name["rolling_pairs"] == RollingPairs(
        window_pairs=4, min_messages_for_summary=10, summarise_after=8, summary_max_tokens=150
    )
    assert strategies.by_name["sliding_window"] == SlidingWindow(
        window=14, summarise_after_seq=5, min_new_messages=1, keep_verbatim=4, summary_max_tokens=300
    )
    assert settings.work() == Work()
    assert (settings.max_tokens, settings.temperature, settings.memory_temperature) == (300, 0.7, 0.3)
    assert settings.db == "./anaphora.db"


def test_a_flag_is_over_the_environment_is_over_the_file_is_over_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    write('agent = "file"\ntenant = "file"\ndb = "file.db"\n')
    monkeypatch.setenv("ANAPHORA_AGENT", "environment")
    monkeypatch.setenv("ANAPHORA_TENANT", "environment")
    settings = load(agent="flag", tenant=None)
    assert (settings.agent, settings.tenant, settings.db) == ("flag", "environment", "file.db")
    assert settings.strategy == "rolling_pairs"


def test_levels_are_merged_key_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    write("[rolling_pairs]\nwindow_pairs = 3\nsummarise_after = 6\n[agents.cook]\nstrategy = 'sliding_window'\n")
    monkeypatch.setenv("ANAPHORA_ROLLING_PAIRS__WINDOW_PAIRS", "5")
    monkeypatch.setenv("ANAPHORA_WORKER__LEASE_SECONDS", "7.5")
    settings = load()
    assert (settings.rolling_pairs.window_pairs, settings.rolling_pairs.summarise_after) == (5, 6)
    assert settings.rolling_pairs.summary_max_tokens == 150
    assert settings.worker.lease_seconds == 7.5
    assert settings.agents["cook"].strategy == "sliding_window"


def test_an_empty_variable_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_MODEL", "")
    assert load().model is None


def test_the_file_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    write('agent = "here"\n')
    write('agent = "there"\n', "other.toml")
    monkeypatch.setenv("ANAPHORA_CONFIG", "other.toml")
    assert load().agent == "there"
    monkeypatch.setenv("ANAPHORA_CONFIG", "missing.toml")
    with pytest.raises(ConfigError, match=r"^missing\.toml: there is no such file"):
        load()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("stratgy = 'x'", "stratgy: unknown setting 'stratgy': did you mean 'strategy'?"),
        (
            "[worker]\nlease_second = 3",
            "worker.lease_second: unknown setting 'lease_second': did you mean 'lease_seconds'?",
        ),
        (
            "[rolling_pairs]\nwindow_pair = 3",
            "rolling_pairs.window_pair: unknown setting 'window_pair': did you mean 'window_pairs'?",
        ),
        ("[sliding_window]\nwindw = 3", "sliding_window.windw: unknown setting 'windw': did you mean 'window'?"),
        ("[agents.cook]\nmodle = 'x'", "agents.cook.modle: unknown setting 'modle': did you mean 'model'?"),
        (
            "[agents.cook.memory]\ntemprature = 1",
            "agents.cook.memory.temprature: unknown setting 'temprature': did you mean 'temperature'?",
        ),
        (
            "[tasks.summarise]\ntimeot = 1",
            "tasks.summarise.timeot: unknown setting 'timeot': did you mean 'timeout'?",
        ),
    ],
)
def test_an_unknown_key_names_the_nearest(text: str, line: str) -> None:
    write(text)
    with pytest.raises(ConfigError) as wrong:
        load()
    assert str(wrong.value) == line


def test_an_unknown_flag_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'context_budget'"):
        load(context_budgett=100)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("context_budget = 63", "context_budget: "),
        ("context_budget = 'many'", "context_budget: "),
        ("temperature = 2.5", "temperature: "),
        ("max_message_bytes = 10", "max_message_bytes: "),
        ("durability = 'none'", "durability: "),
        ("[worker]\nlease_seconds = 0", "worker.lease_seconds: "),
        ("[worker]\nmax_attempts = 0", "worker.max_attempts: "),
        ("[worker]\nbatch_messages = 401", "worker.batch_messages: "),
        ("[rolling_pairs]\nwindow_pairs = 0", "rolling_pairs: window_pairs must be between 1 and 32"),
        ("[rolling_pairs]\nsummary_max_tokens = 47", "rolling_pairs: summary_max_tokens must be at least 48"),
        (
            "[rolling_pairs]\nsummarise_after = 0",
            "rolling_pairs: min_messages_for_summary and summarise_after must be at least 1",
        ),
        ("[sliding_window]\nwindow = 129", "sliding_window: window must be between 2 and 64"),
        ("[sliding_window]\nkeep_verbatim = 15", "sliding_window: keep_verbatim must be between 0 and window"),
        ("strategy = 'rolling_pair'", "strategy: unknown strategy 'rolling_pair': did you mean 'rolling_pairs'?"),
        ("[agents.cook]\nstrategy = 'slide'", "agents.cook.strategy: unknown strategy 'slide'"),
        ("[tasks.dream]\nmodel = 'openai:x'", "tasks.dream"),
    ],
)
def test_a_number_that_cannot_work_is_one_line_with_its_key(text: str, where: str) -> None:
    write(text)
    with pytest.raises(ConfigError) as wrong:
        load()
    assert str(wrong.value).startswith(where)
    assert len(str(wrong.value).splitlines()) == 1
    assert len(str(wrong.value).partition(": ")[2]) > 10, "a key without a reason"


def test_every_mistake_has_its_own_line() -> None:
    write("context_budget = 1\nstratgy = 'x'\n[worker]\nmax_attempts = -1\n")
    with pytest.raises(ConfigError) as wrong:
        load()
    assert sorted(line.split(":")[0] for line in str(wrong.value).splitlines()) == [
        "context_budget",
        "stratgy",
        "worker.max_attempts",
    ]


def test_a_file_that_is_no_toml_is_named() -> None:
    write("agent = \n")
    with pytest.raises(ConfigError, match=r"^anaphora\.toml: not valid TOML: .*line 1"):
        load()


def test_a_key_is_shown_nowhere() -> None:
    write("api_key = 'sk-secret'\ncontext_budget = 1\n[agents.cook]\napi_key = 'sk-other'\n")
    with pytest.raises(ConfigError) as wrong:
        load()
    assert "sk-" not in str(wrong.value)
    shown = repr(load(context_budget=100))
    assert "sk-" not in shown


def test_what_the_memory_model_does_not_say_is_taken_from_the_chat_model() -> None:
    settings = load(model="openai:big", base_url="http://here/v1", api_key="k", timeout=5.0)
    memory = settings.memory_model_for()
    assert (memory.model, memory.base_url, memory.timeout) == ("openai:big", "http://here/v1", 5.0)
    assert memory.api_key == SecretStr("k")
    assert memory.temperature == 0.3
    assert settings.chat_model().temperature == 0.7
    smaller = load(model="openai:big", base_url="http://here/v1", api_key="k", memory_model="openai:small")
    assert smaller.memory_model_for().model == "openai:small"
    assert smaller.memory_model_for().base_url == "http://here/v1"


@pytest.mark.parametrize("memory", [{"memory_model": "ollama:x"}, {"memory_base_url": "http://there/v1"}])
def test_a_key_goes_to_no_other_provider_and_to_no_other_server(memory: dict[str, Any]) -> None:
    settings = load(model="openai:big", base_url="http://here/v1", api_key="k", **memory)
    assert settings.memory_model_for().api_key is None
    assert settings.memory_model_for().base_url != "http://here/v1"


def test_the_nearest_word_decides_which_model_summarises() -> None:
    write(
        """
        model = "openai:chat"
        memory_model = "openai:memory"
        [tasks.summarise]
        model = "openai:task"
        [agents.cook]
        model = "openai:cook"
        [agents.doctor]
        temperature = 0.0
        [agents.doctor.memory]
        model = "openai:doctor-memory"
        temperature = 0.1
        """
    )
    settings = load()
    assert settings.chat_model().model == "openai:chat"
    assert settings.chat_model("cook").model == "openai:cook"
    assert settings.chat_model("doctor").model == "openai:chat"
    assert settings.chat_model("doctor").temperature == 0.0
    assert settings.memory_model_for().model == "openai:task"
    assert settings.memory_model_for("cook").model == "openai:task"
    assert settings.memory_model_for("doctor").model == "openai:doctor-memory"
    assert settings.memory_model_for("doctor").temperature == 0.1


@pytest.mark.anyio
async def test_each_agent_and_task_reaches_its_own_model(folder: Path) -> None:
    """Four servers: which one was asked for what, under which name and how."""
    async with AsyncExitStack() as stack:
        servers = {
            name: await stack.enter_async_context(ScriptedModelServer(responders={"incremental_summary": _faithful}))
            for name in ("chat", "memory", "cook", "cook_memory")
        }
        url = {name: server.base_url for name, server in servers.items()}
        settings = load(
            db=str(folder / "m.db"),
            embedder="none",
            model="openai:chat",
            base_url=url["chat"],
            memory_model="openai:memory",
            memory_base_url=url["memory"],
            agents={
                "cook": {
                    "model": "openai:cook",
                    "base_url": url["cook"],
                    "max_tokens": 77,
                    "temperature": 0.1,
                    "instructions": "You cook.",
                    "context_budget": 512,
                    "strategy": "sliding_window",
                    "memory": {"model": "openai:cook_memory", "base_url": url["cook_memory"], "temperature": 0.9},
                }
            },
        )
        async with Memory.open(settings=settings, worker=False) as memory:
            for agent in ("default", "cook"):
                session = memory.session(user="u", agent=agent, session="s")
                await say(session, 11)
                answer = await session.send("hello")
                assert (answer.context.budget, "You cook." in repr(answer.context.messages)) == (
                    (512, True) if agent == "cook" else (4000, False)
                )
                await memory.work()
                (summary,) = await session.summaries()
                assert (summary.method, summary.model) == (
                    Method.MODEL,
                    f"openai:{'cook_memory' if agent == 'cook' else 'memory'}",
                )
                assert summary.strategy == ("sliding_window" if agent == "cook" else "rolling_pairs")
        asked = {
            name: [(r.body["model"], r.body["temperature"], r.body["max_tokens"]) for r in server.requests]
            for name, server in servers.items()
        }
        assert asked["chat"] == [("chat", 0.7, 300)]
        assert asked["cook"] == [("cook", 0.1, 77)]
        assert [(model, temperature) for model, temperature, _ in asked["memory"]] == [("memory", 0.3)]
        assert [(model, temperature) for model, temperature, _ in asked["cook_memory"]] == [("cook_memory", 0.9)]


def _faithful(request: Request) -> str:
    return faithful_summary(request.last_user_text)


@pytest.mark.anyio
async def test_a_database_of_another_kind_is_one_line_that_says_what_to_use() -> None:
    with pytest.raises(ConfigError, match=r"mysql:// is no.* use a path such as memory.db, or postgresql://"):
        async with Memory.open("mysql://host/db"):
            raise AssertionError
