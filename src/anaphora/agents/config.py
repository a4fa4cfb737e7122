"""What a configuration file of an agent says: the keys and the defaults of seed 001, and a few of our own."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from anaphora.domain.documents import checked_namespace
from anaphora.domain.keys import checked_text
from anaphora.domain.plans import TAIL_TURNS
from anaphora.rules.phrases import SEARCH_TRIGGERS

#: the resources that an agent can have
MEMORY: Final = "memory"
KNOWLEDGE_BASE: Final = "knowledge_base"
RESOURCES: Final = (MEMORY, KNOWLEDGE_BASE)
#: the tools that an agent with a knowledge base can be given
SEARCH_TOOL: Final = "search_knowledge_base"
LIST_TOOL: Final = "list_documents"
TOOLS: Final = (SEARCH_TOOL, LIST_TOOL)

THRESHOLD_TOKENS: Final = 10_000
#: less has no room for a summary (`strategies.token_budget`)
LEAST_THRESHOLD: Final = 192
#: more than any model reads
MOST_TOKENS: Final = 2**53
RECENT_MESSAGES: Final = 10
RELEVANCE_THRESHOLD: Final = 0.7
CHUNK_SIZE: Final = 800
CHUNK_OVERLAP: Final = 100
#: the widest `agent_id`, in characters
MAX_AGENT_ID: Final = 100

#: stands for the ids of all agents
ALL_AGENTS: Final = "*"

_AGENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")


def checked_agent_id(value: str) -> str:
    """The id as given, if it can name a file and nothing else: no folder, no parent, no hidden file.

    Raises:
        ValueError: it is no such name; the text says what one looks like.

    """
    if not _AGENT_ID.fullmatch(value) or len(value) > MAX_AGENT_ID:
        raise ValueError(
            f"an agent_id has 1 to {MAX_AGENT_ID} letters (a-z), digits, `_`, `-` and single dots inside: "
            f"not {value[:MAX_AGENT_ID]!r}"
        )
    return value


Text = Annotated[str, AfterValidator(lambda value: checked_text(value, "the text"))]
AgentId = Annotated[str, AfterValidator(checked_agent_id)]
AgentIdOrAll = Annotated[str, AfterValidator(lambda value: value if value == ALL_AGENTS else checked_agent_id(value))]
Resource = Literal["memory", "knowledge_base"]
ToolName = Literal["search_knowledge_base", "list_documents"]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[!-~]+$")]


def checked_shared(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The namespace as given, if it is one, and not that of a user.

    Raises:
        ValueError: it is none, or belongs to somebody.

    """
    namespace = checked_namespace(parts)
    if namespace[0] in {"user", "conversations"}:
        raise ValueError(f"{namespace[0]!r} begins the namespaces of users, which only they read: use another name")
    return namespace


SharedNamespace = Annotated[tuple[str, ...], Field(strict=False), AfterValidator(checked_shared)]


class Part(BaseModel):
    """A part of a configuration: unknown keys and wrong types are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Compression(Part):
    """When older messages are summarised."""

    enabled: bool = True
    #: tokens of history above which the older messages are summarised
    threshold_tokens: int = Field(default=THRESHOLD_TOKENS, ge=LEAST_THRESHOLD, le=MOST_TOKENS)
    #: messages that stay word by word
    recent_messages_to_keep: int = Field(default=RECENT_MESSAGES, ge=1, le=TAIL_TURNS)
    #: keep what was summarised as a document, too
    archive_conversations: bool = False


class MemoryConfig(Part):
    """The resource `memory`."""

    compression: Compression = Compression()


class KnowledgeBaseConfig(Part):
    """The resource `knowledge_base`."""

    #: where vectors are; they are always in the store, so this is only read
    vector_provider: Name | None = None
    #: tokens of a chunk of a document, and how many of them its neighbour repeats
    chunk_size: int = Field(default=CHUNK_SIZE, ge=20, le=8000)
    chunk_overlap: int = Field(default=CHUNK_OVERLAP, ge=0)
    embedding_provider: Name | None = None
    embedding_model: Name | None = None
    #: whether prompts show what other sessions said
    enable_cross_session_context: bool = False
    #: how relevant archived conversations must be: 0 to 1, whatever the embedder
    relevance_threshold: float = Field(default=RELEVANCE_THRESHOLD, ge=0, le=1)
    #: phrases that ask for it
    search_triggers: Annotated[tuple[str, ...], Field(strict=False)] = SEARCH_TRIGGERS
    #: other agents whose conversations with the same user it may read, too; "*" stands for all
    cross_session_agents: Annotated[tuple[AgentIdOrAll, ...], Field(strict=False)] = ()
    rerank_provider: Name | None = None
    #: the model, or the path of a cross-encoder
    rerank_model: Annotated[Text, Field(min_length=1, max_length=4096)] | None = None
    #: documents that every user of the agent may read, besides their own: lists of names
    namespaces: Annotated[tuple[SharedNamespace, ...], Field(strict=False)] = ()


class ResourceConfig(Part):
    """How the resources work."""

    memory: MemoryConfig = MemoryConfig()
    knowledge_base: KnowledgeBaseConfig = KnowledgeBaseConfig()


class AgentConfig(Part):
    """One agent. `read` in `anaphora.agents.files` makes it of a file or a mapping, and says what is wrong with it."""

    agent_id: AgentId
    #: what it has: without `memory` nothing that is said is stored
    resources: Annotated[tuple[Resource, ...], Field(strict=False)] = ()
    #: who answers; None: the model of the settings
    provider: Name | None = None
    model: Name | None = None
    #: which tools the model may call
    allowed_regular_tools: Annotated[tuple[ToolName, ...], Field(strict=False)] = ()
    resource_config: ResourceConfig = ResourceConfig()

    #: for people; never shown to a model
    description: Text | None = None
    #: fixed system text
    instructions: Text | None = None
    #: tokens of a prompt, and of an answer
    context_budget: int | None = Field(default=None, ge=64, le=MOST_TOKENS)
    max_tokens: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    temperature: float | None = Field(default=None, ge=0, le=2)

    @property
    def remembers(self) -> bool:
        """Whether what is said is stored."""
        return MEMORY in self.resources

    @property
    def knows(self) -> bool:
        """Whether it has a knowledge base."""
        return KNOWLEDGE_BASE in self.resources

    @property
    def compression(self) -> Compression:
        """When older messages are summarised."""
        return self.resource_config.memory.compression

    @property
    def knowledge(self) -> KnowledgeBaseConfig:
        """How the knowledge base works."""
        return self.resource_config.knowledge_base

    @property
    def readable_agents(self) -> tuple[str, ...] | None:
        """With which agents the user's conversations were that it may read; None: with any."""
        others = self.knowledge.cross_session_agents
        return None if ALL_AGENTS in others else tuple(dict.fromkeys((self.agent_id, *others)))

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that its model is offered, in the order of `TOOLS`."""
        return tuple(name for name in TOOLS if name in self.allowed_regular_tools) if self.knows else ()
