"""Read the settings from all sources, and say in people's words what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from anaphora.errors import ConfigError, UnknownName
from anaphora.models.settings import ModelSettings
from anaphora.settings.sections import (
    AgentSettings,
    BatchExtractionSettings,
    EmbedderProfileSettings,
    FactsSettings,
    NotepadSettings,
    RecallSettings,
    RollingPairsSettings,
    SlidingWindowSettings,
    TokenBudgetSettings,
    TopicsSettings,
    WorkerSettings,
)
from anaphora.settings.settings import Settings


def load(**flags: Any) -> Settings:  # noqa: ANN401 - the settings' own types are checked by pydantic
    """Settings from all sources; flags that are None do not count.

    Raises:
        ConfigError: one line a mistake: the key, what is wrong, the nearest valid key.

    """
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        settings = Settings(**given)
    except ValidationError as error:
        raise ConfigError("\n".join(_mistake(item) for item in error.errors(include_url=False))) from None
    settings.strategies()
    settings.reranker()
    settings.triggers()
    return settings


def _mistake(item: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"{where}: {UnknownName('setting', str(item['loc'][-1]), _known(item['loc']))}"
    return f"{where}: {item['msg'].removeprefix('Value error, ')}"


def _known(loc: tuple[Any, ...]) -> list[str]:
    sections: dict[str, type[BaseModel]] = {
        "rolling_pairs": RollingPairsSettings,
        "sliding_window": SlidingWindowSettings,
        "token_budget": TokenBudgetSettings,
        "topics": TopicsSettings,
        "worker": WorkerSettings,
        "batch_extraction": BatchExtractionSettings,
        "recall": RecallSettings,
        "facts": FactsSettings,
        "notepad": NotepadSettings,
        "embedder_profile": EmbedderProfileSettings,
        "agents": AgentSettings,
        "tasks": ModelSettings,
    }
    model: type[BaseModel] = sections.get(str(loc[0]), Settings) if len(loc) > 1 else Settings
    return list(model.model_fields)
