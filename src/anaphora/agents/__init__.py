"""Agents from configuration files: JSON, TOML or YAML."""

from __future__ import annotations

from anaphora.agents.adapting import settings_for
from anaphora.agents.agent import Agent
from anaphora.agents.answers import AgentAnswer, Told
from anaphora.agents.checking import Notice, notices_of
from anaphora.agents.config import AgentConfig
from anaphora.agents.files import examine, read, read_by_id
from anaphora.agents.mistakes import Mistake

__all__ = [
    "Agent",
    "AgentAnswer",
    "AgentConfig",
    "Mistake",
    "Notice",
    "Told",
    "examine",
    "notices_of",
    "read",
    "read_by_id",
    "settings_for",
]
