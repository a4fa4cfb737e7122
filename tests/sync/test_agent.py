"""The blocking agent: its namesake's methods, one thread while it is there, none before and after."""

from __future__ import annotations

import inspect
import threading
from pathlib import Path

import pytest

from anaphora.agents import Agent as AsyncAgent
from anaphora.agents import Told, read, settings_for
from anaphora.errors import ConfigError, InvalidInput
from anaphora.settings import Settings
from anaphora.sync import Agent, Memory
from anaphora.testing.scripted import ScriptedChat

CONFIG = {"agent_id": "research", "resources": ["memory"]}
FORWARDED = [
    name for name, value in vars(Agent).items() if inspect.isfunction(inspect.unwrap(value)) and name[0] != "_"
]


def agent_in(folder: Path) -> Agent:
    settings = Settings(db=str(folder / "memory.db"))
    return Agent.from_config(
        CONFIG, user="ann", session="s", settings=settings, chat_model=ScriptedChat(), worker=False
    )


def test_it_has_the_members_of_its_namesake() -> None:
    def public(cls: type) -> set[str]:
        return {name for name in dir(cls) if not name.startswith("_")}

    assert public(Agent) == public(AsyncAgent)


@pytest.mark.parametrize("name", [*FORWARDED, "__init__", "from_config"])
def test_a_method_takes_what_its_namesake_takes(name: str) -> None:
    there, here = getattr(AsyncAgent, name), getattr(Agent, name)
    assert list(inspect.signature(here).parameters) == list(inspect.signature(there).parameters)
    assert not inspect.iscoroutinefunction(here)
    if not name.startswith("_"):
        assert inspect.getdoc(here)


def test_it_talks_and_remembers_and_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    agent = agent_in(tmp_path)
    with pytest.raises(InvalidInput, match=r"call initialize\(\) first"):
        agent.chat("Hello")
    agent.initialize()
    assert agent.chat("My name is Alice").remembered
    told = Told()
    assert "".join(agent.chat_stream("What's my name?", told=told)) == told.answer
    assert len(agent.load_memory()) == 4
    assert agent.session is not None
    assert agent.memory is not None
    assert len(agent.session.messages()) == 4
    assert len(agent.memory.sessions()) == 1
    assert agent.clear_conversation() == 4
    agent.cleanup()
    agent.cleanup()
    assert threading.active_count() == before
    with agent, pytest.raises(InvalidInput, match="has no knowledge base"):
        agent.search_knowledge_base("cello")
    assert threading.active_count() == before


def test_it_may_share_an_open_memory(tmp_path: Path) -> None:
    settings = settings_for(read(CONFIG), base=Settings(db=str(tmp_path / "memory.db")))
    with Memory.open(settings=settings, chat_model=ScriptedChat(), worker=False) as memory:
        with Agent.from_config(CONFIG, user="ann", session="s", memory=memory) as agent:
            assert agent.chat("Hello").remembered
            assert agent.memory is memory
        assert [row.key.agent for row in memory.sessions()] == ["research"]


def test_what_cannot_be_initialized_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match="not valid JSON"):
        Agent("broken", "ann", "s", folder=tmp_path).initialize()
    assert threading.active_count() == before
