"""The settings of a process, from their sources."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, Literal, TypeAlias

import platformdirs
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from anaphora.domain.vectors import MAX_DIMENSIONS
from anaphora.errors import ConfigError, InvalidInput, UnknownName
from anaphora.models.settings import ChatModelSettings, ModelSettings, over, reranking_model
from anaphora.ports.strategies import Compaction
from anaphora.rules.batching import BatchLimits
from anaphora.rules.documents import Chunking
from anaphora.rules.phrases import Phrases
from anaphora.rules.retention import Retention
from anaphora.rules.retry import RetryPolicy
from anaphora.services.chat import ChatOptions
from anaphora.services.retrieve import MAX_LIMIT
from anaphora.services.settings import Notes, Strategies, Work, of_agent
from anaphora.settings.sections import (
    AgentSettings,
    BatchExtractionSettings,
    EmbedderProfileSettings,
    FactsSettings,
    KnowledgeSettings,
    NotepadSettings,
    PostgresSettings,
    RecallSettings,
    RetentionSettings,
    RollingPairsSettings,
    ServerSettings,
    SlidingWindowSettings,
    TokenBudgetSettings,
    TopicsSettings,
    WorkerSettings,
)
from anaphora.strategies.batch_extraction import BatchExtraction
from anaphora.strategies.rolling_pairs import RollingPairs
from anaphora.strategies.sliding_window import SlidingWindow
from anaphora.strategies.token_budget import TokenBudget
from anaphora.strategies.topics import Topics

DEFAULT_DB = "./anaphora.db"
DEFAULT_FILE = "anaphora.toml"
#: what a model may do in the background
Task: TypeAlias = Literal["summarise", "extract", "topics", "reflect"]


class Settings(BaseSettings):
    """Everything that can be configured. Environment names are `ANAPHORA_` and the key, `__` between levels."""

    model_config = SettingsConfigDict(
        env_prefix="ANAPHORA_", env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    #: a path, `:memory:`, `postgresql://user@host/database`, or `:servers:` for those of `postgres.servers`; it may
    #: hold a password, so it is not shown
    db: str = Field(default=DEFAULT_DB, repr=False)
    tenant: str = "default"
    agent: str = "default"
    durability: Literal["full", "normal"] = "full"
    busy_timeout: float = Field(default=5.0, ge=0)

    #: answers in chat; None = no model, everything else works
    model: str | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    max_tokens: int = Field(default=300, ge=1)
    temperature: float = Field(default=0.7, ge=0, le=2)
    timeout: float = Field(default=60.0, gt=0)
    #: makes summaries and all derived work; what is not set is taken from the chat model
    memory_model: str | None = None
    memory_base_url: str | None = None
    memory_api_key: SecretStr | None = None
    memory_temperature: float = Field(default=0.3, ge=0, le=2)
    memory_timeout: float | None = Field(default=None, gt=0)
    #: per task, such as `tasks.summarise`
    tasks: dict[Task, ModelSettings] = Field(default_factory=dict)
    agents: dict[str, AgentSettings] = Field(default_factory=dict)
    #: where configurations of agents are found by their ids
    agents_folder: str = "./agents"

    #: `local`, `none`, or `provider:model`, to which alone the other five belong
    embedder: str = "local"
    embedder_base_url: str | None = None
    embedder_api_key: SecretStr | None = None
    embedder_dimensions: int | None = Field(default=None, ge=1, le=MAX_DIMENSIONS)
    embedder_timeout: float = Field(default=30.0, gt=0)
    embedder_profile: EmbedderProfileSettings = EmbedderProfileSettings()
    #: who puts what was found first into a better order: nobody, `local` (MaxSim), `onnx` (a cross-encoder, whose path
    #: is the model), or a provider of language models, which alone take URL and key: inherited from what summarises
    rerank_provider: str = ""
    rerank_model: str | None = None
    rerank_base_url: str | None = None
    rerank_api_key: SecretStr | None = None
    #: how many hits it looks at, and how many seconds a search waits for it
    rerank_candidates: int = Field(default=30, ge=2, le=MAX_LIMIT)
    rerank_timeout: float = Field(default=10.0, gt=0)
    models: str | None = None
    encoding: str = "o200k_base"
    instructions: str | None = None
    strategy: str = "rolling_pairs"
    #: how sessions are read for facts: in batches, after each turn, or not at all
    extraction: Literal["batch", "turn", "none"] = "batch"
    context_budget: int = Field(default=4000, ge=64)
    max_message_bytes: int = Field(default=1 << 20, ge=1024)
    #: seconds without a word after which `chat` ends the session
    idle_seconds: float = Field(default=1800.0, gt=0)

    rolling_pairs: RollingPairsSettings = RollingPairsSettings()
    sliding_window: SlidingWindowSettings = SlidingWindowSettings()
    token_budget: TokenBudgetSettings = TokenBudgetSettings()
    topics: TopicsSettings = TopicsSettings()
    batch_extraction: BatchExtractionSettings = BatchExtractionSettings()
    recall: RecallSettings = RecallSettings()
    facts: FactsSettings = FactsSettings()
    notepad: NotepadSettings = NotepadSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    retention: RetentionSettings = RetentionSettings()
    worker: WorkerSettings = WorkerSettings()
    postgres: PostgresSettings = PostgresSettings()
    server: ServerSettings = ServerSettings()

    #: for tests: `NAME` or `NAME:COUNT` kills the process where that failpoint is reached
    failpoint: str | None = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic-settings passes it by name
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - likewise
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then environment; the file is merged below them by `load`."""
        return init_settings, env_settings, _FileSource(settings_cls)

    def strategies(self) -> Strategies:
        """The configured strategies.

        Raises:
            ConfigError: a number out of range, or an unknown default.

        """
        section = "rolling_pairs"
        try:
            rolling = RollingPairs(**self.rolling_pairs.model_dump())
            section = "sliding_window"
            sliding = SlidingWindow(**self.sliding_window.model_dump())
            section = "token_budget"
            budget = TokenBudget(**self.token_budget.model_dump())
            section = "topics"
            topics = self._topics()
            section = "batch_extraction"
            batches = self.batches()
        except InvalidInput as error:
            raise ConfigError(f"{section}: {error}") from None
        made: tuple[Compaction, ...] = (rolling, sliding, budget, topics, batches)
        by_name = {each.name: each for each in made} | self._of_agents(budget.name)
        strategies = Strategies(by_name=by_name, default=self.strategy)
        of_agents = {f"agents.{name}.strategy": agent.strategy for name, agent in self.agents.items()}
        wanted = {"strategy": self.strategy} | of_agents
        for where, name in wanted.items():
            try:
                strategies.get(name)
            except UnknownName as error:
                raise ConfigError(f"{where}: {error}") from None
        return strategies

    def _of_agents(self, name: str) -> dict[str, Compaction]:
        """The strategies of agents that have numbers of their own."""
        made: dict[str, Compaction] = {}
        for agent, own in self.agents.items():
            if own.token_budget is not None:
                try:
                    made[of_agent(name, agent)] = TokenBudget(**own.token_budget.model_dump())
                except InvalidInput as error:
                    raise ConfigError(f"agents.{agent}.{name}: {error}") from None
        return made

    def _topics(self) -> Topics:
        """Who reads every turn by itself does not wait for a batch of them; what waits has room in any prompt."""
        budgets = (agent.context_budget for agent in self.agents.values() if agent.context_budget is not None)
        defaults = {"batch_tokens": min((self.context_budget, *budgets)) // 2}
        if self.extraction == "turn":
            defaults["batch"] = 1
        return Topics(**{**defaults, **self.topics.model_dump(exclude_none=True)})

    def batches(self) -> BatchExtraction:
        """How sessions are read for facts.

        Raises:
            InvalidInput: a number out of range.

        """
        own = self.batch_extraction
        return BatchExtraction(
            threshold=0 if self.extraction == "turn" else own.threshold,
            batch=own.batch,
            keep_verbatim=own.keep_verbatim,
            chunks=own.chunks,
        )

    def triggers(self) -> Phrases:
        """The phrases by which a question asks for earlier conversations.

        Raises:
            ConfigError: one of them cannot be looked for.

        """
        try:
            return Phrases(self.recall.triggers)
        except InvalidInput as error:
            raise ConfigError(f"recall.triggers: {error}") from None

    def work(self) -> Work:
        """How background work is sized and retried."""
        worker = self.worker
        return Work(
            batch=BatchLimits(messages=worker.batch_messages, tokens=worker.input_tokens),
            retry=RetryPolicy(
                max_attempts=worker.max_attempts,
                base_seconds=worker.backoff_seconds,
                max_seconds=worker.max_backoff_seconds,
            ),
            lease_seconds=worker.lease_seconds,
            input_tokens=worker.input_tokens,
            redo_seconds=worker.redo_seconds,
        )

    def chunking(self) -> Chunking:
        """How documents are cut.

        Raises:
            ConfigError: an overlap that leaves no room for anything new.

        """
        try:
            return Chunking(size=self.knowledge.chunk_size, overlap=self.knowledge.chunk_overlap)
        except InvalidInput as error:
            raise ConfigError(f"knowledge: {error}") from None

    def notes(self) -> Notes:
        """Which sessions are reflected upon, and how long a page may be."""
        return Notes(sessions=self.notepad.enabled, tokens=self.notepad.tokens)

    def retain(self) -> Retention:
        """How long sessions are kept."""
        return Retention(
            days=self.retention.days,
            by_agent={name: agent.keep_days for name, agent in self.agents.items() if agent.keep_days is not None},
            grace_days=self.retention.grace_days,
            unsummarised=self.retention.unsummarised,
        )

    def chat_model(self, agent: str | None = None) -> ChatModelSettings:
        """The model that answers for an agent (None: for those without one of their own)."""
        own = self.agents.get(agent or "", AgentSettings())
        base = ChatModelSettings(
            model=self.model,
            base_url=self.base_url,
            api_key=self.api_key,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            timeout=self.timeout,
        )
        return over(base, own, ChatModelSettings)

    def memory_model_for(self, agent: str | None = None, *, task: Task = "summarise") -> ModelSettings:
        """The model that does a task for an agent: its own, the task's, the memory model, or the chat model."""
        own = self.agents.get(agent or "", AgentSettings())
        found: ModelSettings = self.chat_model(agent)
        memory = ModelSettings(
            model=self.memory_model,
            base_url=self.memory_base_url,
            api_key=self.memory_api_key,
            temperature=self.memory_temperature,
            timeout=self.memory_timeout,
        )
        for nearer in (memory, self.tasks.get(task, ModelSettings()), own.memory):
            found = over(found, nearer, ModelSettings)
        return found

    def reranker(self) -> ModelSettings | None:
        """The language model that reranks; None: none does.

        Raises:
            ConfigError: provider and model do not go together.

        """
        try:
            name = reranking_model(self.rerank_provider, self.rerank_model)
        except InvalidInput as error:
            raise ConfigError(str(error)) from None
        if name is None:
            return None
        own = ModelSettings(
            model=name, base_url=self.rerank_base_url, api_key=self.rerank_api_key, timeout=self.rerank_timeout
        )
        return over(self.memory_model_for(), own, ModelSettings)

    def one_model_for_all(self) -> bool:
        """Whether each agent's summaries and facts come from one model, so that one call can make both."""
        return all(
            self.memory_model_for(agent) == self.memory_model_for(agent, task="extract")
            for agent in (None, *self.agents)
        )

    def chat_options(self, model: ChatModelSettings) -> ChatOptions:
        """How a model is asked for an answer."""
        return ChatOptions(
            max_tokens=model.max_tokens or self.max_tokens,
            temperature=self.temperature if model.temperature is None else model.temperature,
        )

    def models_folder(self) -> Path:
        """Where model files are kept."""
        return Path(self.models) if self.models else Path(platformdirs.user_cache_dir("anaphora")) / "models"


class _FileSource(PydanticBaseSettingsSource):
    """`anaphora.toml` of the working directory, or the file that `ANAPHORA_CONFIG` names."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:  # noqa: ANN401, ARG002
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        named = os.environ.get("ANAPHORA_CONFIG")
        path = Path(named or DEFAULT_FILE)
        if not path.is_file():
            if named:
                raise ConfigError(f"{named}: there is no such file (ANAPHORA_CONFIG names it)")
            return {}
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not valid TOML: {error}") from None
