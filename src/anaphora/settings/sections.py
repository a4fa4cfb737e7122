"""The sections of the settings: numbers and names that belong together."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from anaphora.domain.facts import CATEGORIES, LEAST_IMPORTANT, MOST_IMPORTANT, checked_categories
from anaphora.errors import InvalidInput
from anaphora.models.embedders.profiles import GENERIC
from anaphora.models.settings import ChatModelSettings, ModelSettings
from anaphora.rules.facts.keeping import CAPACITY, PER_MESSAGE, PER_SESSION
from anaphora.rules.phrases import SEARCH_TRIGGERS


class Section(BaseModel):
    """A part of the settings: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RollingPairsSettings(Section):
    """Numbers of `rolling_pairs` (seed 004)."""

    window_pairs: int = 4
    min_messages_for_summary: int = 10
    summarise_after: int = 8
    summary_max_tokens: int = 150


class SlidingWindowSettings(Section):
    """Numbers of `sliding_window` (seed 000)."""

    window: int = 14
    summarise_after_seq: int = 5
    min_new_messages: int = 1
    keep_verbatim: int = 4
    summary_max_tokens: int = 300


class TokenBudgetSettings(Section):
    """Numbers of `token_budget` (seed 001)."""

    threshold_tokens: int = 10_000
    recent_messages_to_keep: int = 10
    summary_max_tokens: int = 800
    archive_conversations: bool = False


class TopicsSettings(Section):
    """Numbers of `topics` (seed 003)."""

    least_messages: int = 3
    most_characters: int = 25_000
    doubt: float = 0.45
    alone: float = 0.12
    #: None: 48, and 1 where `extraction = "turn"`
    batch: int | None = None
    #: None: half of the smallest `context_budget`
    batch_tokens: int | None = None
    summary_tokens: int = 120
    thread_threshold: float = 0.75
    threads: int = 2
    past_threshold: float = 0.5
    past: int = 3


class WorkerSettings(Section):
    """Background work."""

    lease_seconds: float = Field(default=30.0, ge=0.2)
    max_attempts: int = Field(default=5, ge=1)
    backoff_seconds: float = Field(default=2.0, ge=0)
    max_backoff_seconds: float = Field(default=300.0, ge=0)
    batch_messages: int = Field(default=40, ge=1, le=400)
    input_tokens: int = Field(default=6000, ge=256)
    redo_seconds: float = Field(default=60.0, ge=0)


class RecallSettings(Section):
    """What of the past is brought back for a question: messages that were found, word by word."""

    #: tokens that they may take of a prompt, at most; 0 for none
    tokens: int = Field(default=2000, ge=0)
    #: how relevant a message of another session must be, and one of this session; 0 to 1, whatever the embedder
    threshold: float = Field(default=0.1, ge=0, le=1)
    threshold_here: float = Field(default=0.5, ge=0, le=1)
    #: whether messages of other sessions come back, and archived conversations (see `token_budget`)
    sessions: bool = True
    conversations: bool = False
    #: how relevant an archived conversation must be, and how many entries there may be
    conversation_threshold: float = Field(default=0.7, ge=0, le=1)
    conversation_limit: int = Field(default=3, ge=0, le=50)
    #: phrases by which a question asks for earlier conversations: thresholds are halved, and the limit is doubled
    triggers: tuple[str, ...] = SEARCH_TRIGGERS
    #: whose sessions an agent may read: its own, those of all agents with the same user, or those of these agents
    agents: Literal["own", "all"] | tuple[str, ...] = "own"


class BatchExtractionSettings(Section):
    """Numbers of `batch_extraction` (seed 002): how sessions are read for facts."""

    #: messages that may be unread before a batch is read, and messages of a batch
    threshold: int = 30
    batch: int = 20
    #: seconds without a word after which what is left is read
    idle_seconds: float = Field(default=300.0, ge=0)
    #: tokens of a chunk
    chunk_tokens: int = Field(default=120, ge=32)
    #: of a session that is served by this strategy: messages that stand verbatim, and chunks beside them
    keep_verbatim: int = 20
    chunks: int = 3


def _categories(names: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return checked_categories(names)
    except InvalidInput as error:
        raise ValueError(str(error)) from None


class FactsSettings(Section):
    """What is known of people, and how much of it stands in a prompt."""

    #: kinds of facts
    categories: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_categories)] = CATEGORIES
    #: tokens that facts may take of a prompt, at most; 0 for none
    tokens: int = Field(default=400, ge=0)
    #: which facts an agent may use: those that it learned itself, or all of the user's
    agents: Literal["own", "all"] = "all"
    #: what is less important is set aside; None: what the strategy of the session asks for
    min_importance: int | None = Field(default=None, ge=LEAST_IMPORTANT, le=MOST_IMPORTANT)
    #: active facts that are kept of a user and subject, and learned ones of a message, and of a session in a day
    capacity: int = Field(default=CAPACITY, ge=1, le=100_000)
    per_message: int = Field(default=PER_MESSAGE, ge=1)
    per_session: int = Field(default=PER_SESSION, ge=1)


class NotepadSettings(Section):
    """What agents note of their sessions with users, and how much of it stands in a prompt."""

    #: which sessions are reflected upon, and see their notepad: those served by `topics`, all, or none
    enabled: Literal["topics", "all", "none"] = "topics"
    #: tokens that a page may have; also the most that it takes of a prompt
    tokens: int = Field(default=200, ge=32)


class KnowledgeSettings(Section):
    """Documents of the knowledge base: how they are cut, and what is refused."""

    #: tokens of a chunk, and of its end that the next one begins with
    chunk_size: int = Field(default=800, ge=20, le=8000)
    chunk_overlap: int = Field(default=100, ge=0)
    #: bytes of a file, and of the text of a document
    max_bytes: int = Field(default=20 << 20, ge=1024)
    max_text_bytes: int = Field(default=5 << 20, ge=1024)
    #: pages of a PDF, and seconds that reading a file may take
    max_pages: int = Field(default=2000, ge=1)
    max_seconds: float = Field(default=60.0, gt=0)


class RetentionSettings(Section):
    """How long sessions are kept that nobody uses."""

    #: silent days after which a session is put out of sight; None: never
    days: float | None = Field(default=None, ge=0, le=36_525)
    #: days after which what is out of sight is erased
    grace_days: float = Field(default=7.0, ge=0, le=36_525)
    #: whether sessions expire of which something is still to be read or summarised
    unsummarised: bool = False


class OidcSettings(Section):
    """JWTs of an issuer that let people in, beside keys."""

    #: None: no JWT lets anybody in
    issuer: str | None = None
    audience: str = "anaphora"
    #: where the issuer's public keys are; None: `/.well-known/jwks.json` below the issuer
    jwks_url: str | None = None
    #: the claims that name the user, the tenant (None: the configured one) and the scopes
    user_claim: str = "sub"
    tenant_claim: str | None = None
    scope_claim: str = "scope"
    #: what a JWT may do that names no scope of ours
    scopes: tuple[str, ...] = ("read",)


class ServerSettings(Section):
    """The service."""

    host: str = "127.0.0.1"
    #: 0 for any that is free
    port: int = Field(default=8765, ge=0, le=65_535)
    #: names under which it is reached, beside those of the machine itself; `*` for any, behind a proxy that checks them
    hosts: tuple[str, ...] = ()
    #: bytes of a request, and of an export or a file that is sent
    body_bytes: int = Field(default=2 << 20, ge=1024)
    upload_bytes: int = Field(default=64 << 20, ge=1024)
    #: requests that are answered at a time, and those that one key may make in a minute; 0 for as many as come
    at_once: int = Field(default=256, ge=1)
    requests_per_minute: int = Field(default=60_000, ge=0)
    #: requests without a valid key that are answered to one address in a minute
    failures_per_minute: int = Field(default=60, ge=1)
    #: a line on stderr for each request, without what was said: for people, as JSON, or none
    log: Literal["text", "json", "none"] = "text"
    #: who does the background work: a process beside the service, the service itself, or somebody else
    worker: Literal["beside", "inside", "none"] = "beside"
    oidc: OidcSettings = OidcSettings()


class EmbedderProfileSettings(Section):
    """How the cosines of a remote embedder are to be read (`ports.models.EmbedderProfile`): guesses."""

    query_prefix: str = GENERIC.query_prefix
    unrelated_cosine: float = Field(default=GENERIC.unrelated_cosine, ge=-1, le=1)
    cosine_spread: float = Field(default=GENERIC.cosine_spread, gt=0)
    even_cosine: float = Field(default=GENERIC.even_cosine, ge=-1, le=1)
    even_width: float = Field(default=GENERIC.even_width, gt=0)
    same_topic_threshold: float = Field(default=GENERIC.same_topic_threshold, ge=-1, le=1)


class PostgresSettings(Section):
    """How a PostgreSQL server is used."""

    #: connections that are kept at most; one more carries the calls between processes
    connections: int = Field(default=5, ge=1, le=1000)
    #: for `db = ":servers:"`: the URLs of several servers by their names; each keeps its share of the tenants
    servers: dict[str, SecretStr] = Field(default_factory=dict)
    #: tenants that live on the server that is named here, whatever their share
    pinned: dict[str, str] = Field(default_factory=dict)


class AgentSettings(ChatModelSettings):
    """What one agent does differently."""

    memory: ModelSettings = ModelSettings()
    strategy: str | None = None
    instructions: str | None = None
    context_budget: int | None = Field(default=None, ge=64)
    #: silent days after which its sessions are put out of sight; None: those of `retention.days`
    keep_days: float | None = Field(default=None, ge=0, le=36_525)
    min_importance: int | None = Field(default=None, ge=LEAST_IMPORTANT, le=MOST_IMPORTANT)
    #: numbers of its own for sessions of `token_budget`; None: those of `[token_budget]`
    token_budget: TokenBudgetSettings | None = None
    #: what of `recall` is otherwise for it
    recall_sessions: bool | None = None
    recall_conversations: bool | None = None
    recall_agents: Literal["own", "all"] | tuple[str, ...] | None = None
