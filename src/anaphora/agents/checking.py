"""What a configuration says that may not be meant so: it works, and somebody may wonder why nothing happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from anaphora.agents.config import AgentConfig
from anaphora.bootstrap.providers import ChatModels, cross_encoder_from, embedder_from
from anaphora.bootstrap.stores import is_postgres
from anaphora.errors import ConfigError, MissingExtra
from anaphora.models.settings import ONNX_RERANKER
from anaphora.rules.phrases import SEARCH_TRIGGERS
from anaphora.settings import Settings

#: the key of who answers
PROVIDER = "provider"
_KB = "resource_config.knowledge_base"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something that works, but may not be meant so."""

    key: str
    #: what is so, and what to do if it should not be
    text: str

    def __str__(self) -> str:
        return f"{self.key}: {self.text}"


def notices_of(config: AgentConfig, settings: Settings | None = None) -> Iterator[Notice]:
    """What may not be meant as it is written.

    Args:
        config: what is written.
        settings: where it is to work; None: that is not known.

    """
    yield from _of_memory(config, settings)
    yield from _of_knowledge(config)
    if config.knows and config.knowledge.vector_provider is not None and settings is not None:
        wanted = config.knowledge.vector_provider
        if wanted != "pgvector":
            text = f"{wanted!r} is not used: vectors are in the store itself; leave it out"
            yield Notice(key=f"{_KB}.vector_provider", text=text)
        elif not is_postgres(settings.db):
            text = "the database is a SQLite file, where vectors are in the file itself: nothing is missing"
            yield Notice(key=f"{_KB}.vector_provider", text=text)
    if config.provider is None and settings is not None and settings.chat_model(config.agent_id).model is None:
        yield Notice(key=PROVIDER, text="no model answers: set provider and model, or the setting `model`")


def _of_memory(config: AgentConfig, settings: Settings | None) -> Iterator[Notice]:
    compression = config.compression
    if not config.remembers:
        yield Notice(key="resources", text='nothing that is said is stored: add "memory" if it should be')
        if "memory" in config.resource_config.model_fields_set:
            yield Notice(key="resource_config.memory", text='does nothing: "memory" is not in resources')
        return
    key = "resource_config.memory.compression"
    if not compression.enabled:
        text = "nothing is summarised: what has no room in a prompt is left out of it, and said to be; set it to true"
        yield Notice(key=f"{key}.enabled", text=text)
        if compression.archive_conversations:
            yield Notice(key=f"{key}.archive_conversations", text="nothing is archived: compression.enabled is false")
    if compression.archive_conversations and not config.knows:
        text = 'nothing is archived: add "knowledge_base" to resources'
        yield Notice(key=f"{key}.archive_conversations", text=text)
    budget = config.context_budget
    if settings is not None:
        own = settings.agents.get(config.agent_id)
        budget = (own.context_budget if own else None) or settings.context_budget
    if compression.enabled and budget is not None and budget <= compression.threshold_tokens:
        text = (
            f"{budget:,} tokens are full before anything is summarised, and older messages are left out: leave it out, "
            f"or set it to more than {compression.threshold_tokens:,} (threshold_tokens)"
        )
        yield Notice(key="context_budget", text=text)


def _of_knowledge(config: AgentConfig) -> Iterator[Notice]:
    known = config.knowledge
    if not config.knows:
        if "knowledge_base" in config.resource_config.model_fields_set:
            yield Notice(key=_KB, text='does nothing: add "knowledge_base" to resources')
        if config.allowed_regular_tools:
            yield Notice(key="allowed_regular_tools", text='not offered: add "knowledge_base" to resources')
        return
    if known.enable_cross_session_context:
        yield from _of_recall(config)
    elif known.search_triggers != SEARCH_TRIGGERS:
        yield Notice(key=f"{_KB}.search_triggers", text="do nothing: enable_cross_session_context is false")


def _of_recall(config: AgentConfig) -> Iterator[Notice]:
    known = config.knowledge
    if not config.remembers:
        text = 'does nothing: "memory" is not in resources'
        yield Notice(key=f"{_KB}.enable_cross_session_context", text=text)
    elif not config.compression.archive_conversations:
        text = "what other sessions said is found message by message; set archive_conversations for their summaries"
        yield Notice(key=f"{_KB}.enable_cross_session_context", text=text)
    if known.relevance_threshold >= 1:
        text = "almost nothing is so relevant: 0.7 is the default"
        yield Notice(key=f"{_KB}.relevance_threshold", text=text)


async def keys_missing(config: AgentConfig, settings: Settings) -> list[Notice]:
    """What the environment lacks for the models that the configuration names. Nobody is called.

    Args:
        config: what is written.
        settings: as `settings_for` makes them of it.

    """
    known = config.knowledge
    missing: list[Notice] = []
    models = ChatModels()
    try:
        if config.provider is not None:
            _try(PROVIDER, missing, lambda: models.get(settings.chat_model(config.agent_id)))
        if config.knows and known.embedding_provider is not None:
            _try(f"{_KB}.embedding_provider", missing, lambda: embedder_from(settings, models))
        if config.knows and known.rerank_provider is not None:
            wanted = settings.reranker()
            if wanted is not None:
                _try(f"{_KB}.rerank_provider", missing, lambda: models.get(wanted))
            elif settings.rerank_provider == ONNX_RERANKER:
                _try(f"{_KB}.rerank_model", missing, lambda: cross_encoder_from(settings))
    finally:
        await models.aclose()
    return missing


def _try(key: str, missing: list[Notice], make: Callable[[], object]) -> None:
    try:
        make()
    except (ConfigError, MissingExtra) as error:
        missing.append(Notice(key=key, text=str(error)))
