"""What every service is built on: the settings, the adapters, time and chance."""

from __future__ import annotations

from dataclasses import dataclass

from anaphora.bootstrap.providers import ChatModels
from anaphora.ports.clock import Clock, Failpoint, Randomness
from anaphora.ports.models import ChatModel, Embedder, Reranker, TokenCounter
from anaphora.ports.store import Store
from anaphora.services.learning import Learning
from anaphora.services.planning import Planning
from anaphora.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Adapters that the caller brings instead of those that the settings name."""

    chat_model: ChatModel | None = None
    memory_model: ChatModel | None = None
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    counter: TokenCounter | None = None
    clock: Clock | None = None
    randomness: Randomness | None = None
    failpoint: Failpoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Time, chance, and where tests may stop the process."""

    clock: Clock
    randomness: Randomness
    failpoint: Failpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What every service is built on."""

    settings: Settings
    world: World
    store: Store
    planning: Planning
    learning: Learning
    models: ChatModels
    #: models that the caller brings
    chat_model: ChatModel | None
    memory_model: ChatModel | None
    embedder: Embedder | None
    reranker: Reranker | None
    counter: TokenCounter
    #: the store's own
    secret: bytes
