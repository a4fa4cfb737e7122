"""Configurations of agents as settings of a memory: the one place where the two vocabularies meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from anaphora.agents import names
from anaphora.agents.config import AgentConfig
from anaphora.errors import ConfigError
from anaphora.settings import AgentSettings, Settings, load
from anaphora.settings.sections import TokenBudgetSettings

#: a threshold that no conversation reaches
NEVER: Final = 2**53


def settings_for(
    *configs: AgentConfig, base: Settings | None = None, beside: Iterable[AgentConfig] = (), models: bool = True
) -> Settings:
    """The settings of a memory that serves these agents as their configurations say.

    Args:
        configs: the agents.
        base: what they do not speak of; None: from the environment, `anaphora.toml` and the defaults.
        beside: agents whose sessions are in the same memory: how they are summarised, and by whom, if that is the same
            provider as one of the agents has (any, where there are none).
        models: False: the caller brings the models, whatever the configurations name.

    Raises:
        ConfigError: two of the agents want something that a memory has only one of.

    """
    settings = load() if base is None else base
    agents = dict(settings.agents)
    shared: dict[str, Any] = {}
    whose: dict[str, str] = {}
    for config in configs:
        agents[config.agent_id] = _agent(config, settings, models=models)
        for key, value in _shared(config, models=models).items():
            if key in shared and shared[key] != value:
                raise ConfigError(
                    f"{key}: agent {whose[key]!r} wants {shared[key]!r} and agent {config.agent_id!r} wants {value!r}, "
                    "and a memory has one: write the same, or give each agent a memory of its own"
                )
            shared[key], whose[key] = value, config.agent_id
    providers = {config.provider for config in configs}
    for config in beside:
        if config.agent_id not in {own.agent_id for own in configs}:
            # the keys of another provider need not be there
            known = models and (not configs or config.provider in providers)
            agents[config.agent_id] = _agent(config, settings, models=known)
    return settings.model_copy(update={"agents": agents, **_sections(settings, shared)})


def _agent(config: AgentConfig, settings: Settings, *, models: bool) -> AgentSettings:
    """What one agent does differently."""
    have = settings.agents.get(config.agent_id, AgentSettings())
    recalls = config.knows and config.knowledge.enable_cross_session_context
    own: dict[str, Any] = {
        "strategy": "token_budget",
        "token_budget": _compression(config, have.token_budget or TokenBudgetSettings()),
        "recall_sessions": recalls,
        "recall_conversations": recalls,
        "recall_agents": _readable(config),
        "instructions": config.instructions,
        "context_budget": config.context_budget or _roomy(config, settings, have),
        "max_tokens": config.max_tokens,
        "temperature": config.temperature,
    }
    if models and config.provider is not None and config.model is not None:
        own["model"] = names.chat_model(config.provider, config.model)
    return have.model_copy(update={key: value for key, value in own.items() if value is not None})


def _roomy(config: AgentConfig, settings: Settings, have: AgentSettings) -> int | None:
    """A budget in which nothing is left out before it is summarised; None: somebody set one, or none is needed.

    Beside the history it has room for a summary, an answer, the instructions and what is remembered otherwise.
    """
    if (
        not config.compression.enabled
        or have.context_budget is not None
        or "context_budget" in settings.model_fields_set
    ):
        return None
    instructions = config.instructions or have.instructions or settings.instructions or ""
    beside = (
        (have.token_budget or settings.token_budget).summary_max_tokens,
        config.max_tokens or have.max_tokens or settings.max_tokens,
        settings.facts.tokens,
        settings.notepad.tokens,
        settings.recall.tokens,
        # more than it has, in nearly any language
        len(instructions) // 2,
    )
    wanted = config.compression.threshold_tokens + sum(beside)
    return wanted if wanted > settings.context_budget else None


def _readable(config: AgentConfig) -> Literal["own", "all"] | tuple[str, ...]:
    """Whose sessions with the same user it may read."""
    agents = config.readable_agents
    if agents is None:
        return "all"
    return "own" if agents == (config.agent_id,) else agents


def _compression(config: AgentConfig, have: TokenBudgetSettings) -> TokenBudgetSettings:
    """The numbers of `token_budget`; without compression nothing is ever summarised."""
    own = config.compression
    return have.model_copy(
        update={
            "threshold_tokens": own.threshold_tokens if own.enabled else NEVER,
            "recent_messages_to_keep": own.recent_messages_to_keep,
            "archive_conversations": own.enabled and own.archive_conversations and config.knows,
        }
    )


def _shared(config: AgentConfig, *, models: bool) -> dict[str, Any]:
    """What a memory has once, by its key in the settings; only what the configuration says itself."""
    if not config.knows:
        return {}
    known = config.knowledge
    own: dict[str, Any] = {
        f"knowledge.{name}": getattr(known, name)
        for name in ("chunk_size", "chunk_overlap")
        if name in known.model_fields_set
    }
    if known.enable_cross_session_context:
        own |= {"recall.conversation_threshold": known.relevance_threshold, "recall.triggers": known.search_triggers}
    if models and known.embedding_provider is not None:
        own["embedder"] = names.embedder(known.embedding_provider, known.embedding_model)
    if models and known.rerank_provider is not None:
        own["rerank_provider"] = names.rerank_provider(known.rerank_provider)
        own["rerank_model"] = known.rerank_model
    return own


def _sections(settings: Settings, shared: Mapping[str, Any]) -> dict[str, Any]:
    """The values by key, those of one section together."""
    out: dict[str, Any] = {}
    for key, value in shared.items():
        section, dot, name = key.partition(".")
        if not dot:
            out[key] = value
            continue
        before = out.get(section, getattr(settings, section))
        out[section] = before.model_copy(update={name: value})
    return out


def check_shared(have: Settings, config: AgentConfig) -> None:
    """Refuse a memory that was opened for other agents than this one.

    Raises:
        ConfigError: it would summarise or search in another way than the configuration says.

    """
    if have not in (settings_for(config, base=have), settings_for(config, base=have, models=False)):
        raise ConfigError(
            f"the memory was not opened for agent {config.agent_id!r} as it is configured: "
            "open it with Memory.open(settings=settings_for(config, ...))"
        )
