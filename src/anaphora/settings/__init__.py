"""Settings: flags over environment over `anaphora.toml` over defaults."""

from __future__ import annotations

from anaphora.settings.loading import load
from anaphora.settings.sections import (
    AgentSettings,
    BatchExtractionSettings,
    NotepadSettings,
    PostgresSettings,
    RecallSettings,
    RollingPairsSettings,
    TokenBudgetSettings,
    TopicsSettings,
    WorkerSettings,
)
from anaphora.settings.settings import DEFAULT_DB, DEFAULT_FILE, Settings, Task

__all__ = [
    "DEFAULT_DB",
    "DEFAULT_FILE",
    "AgentSettings",
    "BatchExtractionSettings",
    "NotepadSettings",
    "PostgresSettings",
    "RecallSettings",
    "RollingPairsSettings",
    "Settings",
    "Task",
    "TokenBudgetSettings",
    "TopicsSettings",
    "WorkerSettings",
    "load",
]
