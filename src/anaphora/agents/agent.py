"""An agent from its configuration: it talks, remembers, and looks things up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from os import PathLike
from types import TracebackType
from typing import Any, Self

import anyio

from anaphora.agents import turns
from anaphora.agents.adapting import check_shared, settings_for
from anaphora.agents.answers import STORE, AgentAnswer, Told
from anaphora.agents.checking import Notice, notices_of
from anaphora.agents.config import LIST_TOOL, SEARCH_TOOL, AgentConfig
from anaphora.agents.files import Source, read, read_by_id
from anaphora.agents.history import as_messages
from anaphora.agents.library import Library
from anaphora.agents.opening import Means, Rooms, configs_in
from anaphora.agents.tools import Method, Tools
from anaphora.bootstrap import Overrides
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Role
from anaphora.errors import InvalidInput, StoreError
from anaphora.memory import Memory, Session
from anaphora.ports.models import ChatModel
from anaphora.services.chat import Turn
from anaphora.settings import Settings


class Agent:
    """One agent in one conversation with one user.

    Use it as an async context manager, or call `initialize` and, at the end, `cleanup`.

    Args:
        agent_id: which of the agents in the folder of configurations; see the setting `agents_folder`.
        user: whom it talks to.
        session: in which of the user's conversations.
        folder: where the configurations are; None: what the setting says.
        db: the database; None: the configured one.
        memory: an open memory to share, in place of one of its own. It must have been opened with
            `settings_for(config, ...)`, and is not closed by the agent.
        settings: what the configuration does not speak of; None: from the environment, `anaphora.toml` and defaults.
        chat_model: answers, and summarises, in place of `provider` and `model`.
        overrides: more adapters of your own.
        worker: work on due jobs in the background while the agent is there.

    """

    def __init__(
        self,
        agent_id: str,
        user: str,
        session: str,
        *,
        folder: str | PathLike[str] | None = None,
        db: str | PathLike[str] | None = None,
        memory: Memory | None = None,
        settings: Settings | None = None,
        chat_model: ChatModel | None = None,
        overrides: Overrides | None = None,
        worker: bool = True,
    ) -> None:
        self._means = Means(
            folder=folder,
            db=db,
            memory=memory,
            settings=settings,
            chat_model=chat_model,
            overrides=overrides or Overrides(),
            worker=worker,
        )
        self._agent_id, self._user, self._name = agent_id, user, session
        self._config: AgentConfig | None = None
        self._notices: tuple[Notice, ...] = ()
        self._rooms: Rooms | None = None
        #: what the last turn stored, which somebody may store once more
        self._echoes: list[tuple[str, str]] = []
        # no lock, which only its own task may open: a stream that is walked away from is closed by another
        self._talking = anyio.Semaphore(1, max_value=1)

    @classmethod
    def from_config(
        cls,
        config: Source | AgentConfig,
        *,
        user: str,
        session: str,
        db: str | PathLike[str] | None = None,
        memory: Memory | None = None,
        settings: Settings | None = None,
        chat_model: ChatModel | None = None,
        overrides: Overrides | None = None,
        worker: bool = True,
    ) -> Self:
        """An agent from the path of a JSON, TOML or YAML file, or from a mapping with the same keys.

        Args:
            config: the configuration.
            user: whom it talks to.
            session: in which of the user's conversations.
            db: the database; None: the configured one.
            memory: an open memory to share, see `Agent`.
            settings: what the configuration does not speak of.
            chat_model: answers in place of `provider` and `model`.
            overrides: more adapters of your own.
            worker: work on due jobs in the background while the agent is there.

        Raises:
            ConfigError: one line a mistake: the file, the key, what is wrong and what to write.

        """
        found = config if isinstance(config, AgentConfig) else read(config)
        made = cls(
            found.agent_id,
            user,
            session,
            db=db,
            memory=memory,
            settings=settings,
            chat_model=chat_model,
            overrides=overrides,
            worker=worker,
        )
        made._config = found
        return made

    @property
    def agent_id(self) -> str:
        """Which agent it is."""
        return self._agent_id

    @property
    def config(self) -> AgentConfig:
        """Its configuration.

        Raises:
            InvalidInput: it is read by `initialize`, which was not called yet.

        """
        if self._config is None:
            raise InvalidInput("the agent is not there yet: call initialize() first")
        return self._config

    @property
    def memory(self) -> Memory | None:
        """The memory that it uses; None: it has none, or the database cannot be opened."""
        return self._rooms.memory if self._rooms else None

    @property
    def session(self) -> Session | None:
        """The conversation in that memory; None: it stores none, or nothing was asked of it yet."""
        return self._rooms.session if self._rooms else None

    @property
    def toolbox(self) -> Tools | None:
        """The tools that its model may call, as its configuration allows them; None: there are none."""
        if not self.config.tools:
            return None
        does: dict[str, Method] = {SEARCH_TOOL: self.search_knowledge_base, LIST_TOOL: self.list_documents}
        return Tools({name: does[name] for name in self.config.tools})

    @property
    def notices(self) -> Sequence[Notice]:
        """What its configuration says that may not be meant so; `initialize` finds it."""
        return self._notices

    async def initialize(self) -> None:
        """Read the configuration and open the memory; twice is harmless.

        A database that cannot be opened now is tried again by each `chat`, which answers without it meanwhile.

        Raises:
            ConfigError: a configuration or setting that cannot work.
            NotFound: the folder has no such agent.
            InvalidInput: an id that cannot be one.

        """
        if self._rooms is not None:
            return
        base = self._means.base()
        folder = self._means.folder or base.agents_folder
        config = self._config or read_by_id(folder, self._agent_id)
        key = SessionKey(tenant=base.tenant, user=self._user, agent=config.agent_id, session=self._name)
        if self._means.memory is not None:
            check_shared(self._means.memory.settings, config)
        settings = settings_for(
            config, base=base, beside=configs_in(folder, but=config.agent_id), models=not self._means.brings_models
        )
        self._config, self._notices = config, tuple(notices_of(config, settings))
        self._rooms = rooms = Rooms(self._means, settings, key)
        try:
            if config.remembers or config.knows:
                await rooms.open()
        except StoreError as error:
            rooms.failed(error)
        except BaseException:
            await self.cleanup()
            raise

    async def chat(self, message: str, *, key: str | None = None) -> AgentAnswer:
        """Answer a message; the turn is on disk when this returns, unless the answer says otherwise.

        A message that was stored by `save_memory` just before, or that a failed model left unanswered, is not stored
        once more. If the store fails, the answer comes from the model alone: `degraded` names "store", and
        `remembered` is False.

        Args:
            message: what the user says.
            key: makes a retry harmless: the turn is stored once.

        Raises:
            ModelError: the model failed; the message is stored, and `chat` with the same message tries again.
            ConfigError: no model is configured.
            InvalidInput: the message cannot be stored.

        """
        told = Told()
        async with aclosing(self.chat_stream(message, key=key, told=told)) as pieces:
            async for _ in pieces:
                pass
        if told.answer is None:
            raise InvalidInput("the turn is not finished")
        return told.answer

    async def chat_stream(
        self, message: str, *, key: str | None = None, told: Told | None = None
    ) -> AsyncGenerator[str]:
        """As `chat`, in pieces; `told.answer` is the whole answer at the end.

        What a model says before it calls a tool is yielded, too. An answer that is interrupted is stored as far as it
        came, marked as such.
        """
        told = told or Told()
        async with self._talking:
            rooms = self._ready()
            self._echoes = []
            if not self.config.remembers:
                async with aclosing(turns.forgetful(rooms, message, told, self.toolbox)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            turn = Turn()
            try:
                remembering = turns.remembering(rooms, message, key, turn, told, self.toolbox)
                async with aclosing(remembering) as pieces:
                    async for piece in pieces:
                        yield piece
            except StoreError as error:
                rooms.failed(error)
            else:
                self._echoes = [(Role.USER, message), (Role.ASSISTANT, turn.text)]
                return
            if turn.text and not turn.calls:  # the answer is there, and is not on disk
                degraded = turn.context.degraded if turn.context else ()
                told.answer = AgentAnswer(turn.text, degraded=(*degraded, STORE), context=turn.context)
                return
            async with aclosing(turns.without_store(rooms, message, told)) as pieces:
                async for piece in pieces:
                    yield piece

    async def load_memory(self) -> list[dict[str, str]]:
        """What the agent knows of the conversation: messages with `role` and `content`, in order.

        What was summarised stands first, as a block of data in the role `user`; nothing has the role `system`. What a
        tool said is a message of the role `user`, too. Empty if nothing was said yet, or if the agent has no memory.

        Raises:
            StoreError: the database cannot be read; an empty history is never given instead.

        """
        rooms = self._ready()
        return as_messages(await (await rooms.here()).context()) if self.config.remembers else []

    async def save_memory(self, role: str, text: str, *, metadata: Mapping[str, Any] | None = None) -> bool:
        """Store a message without asking the model, as one that was said elsewhere.

        Around `chat`, which stores the turn itself, this is not needed and does no harm: the same message just before
        it, and the same message and answer just after it, are the turn's own.

        Args:
            role: user or assistant.
            text: what was said.
            metadata: JSON of your own.

        Returns:
            False if the turn holds the message already, or if the agent has no memory.

        Raises:
            InvalidInput: it cannot be stored so.
            StoreError: nothing was written.

        """
        rooms = self._ready()
        if not self.config.remembers:
            return False
        said = (role, str(text))
        if said in self._echoes:
            self._echoes = self._echoes[self._echoes.index(said) + 1 :]
            return False
        self._echoes = []
        await (await rooms.here()).add(role, str(text), metadata=metadata)
        return True

    async def clear_conversation(self) -> int:
        """Delete the conversation and everything made of it; how many messages went.

        Raises:
            StoreError: nothing was deleted.

        """
        rooms = self._ready()
        self._echoes = []
        return await (await rooms.here()).reset() if self.config.remembers else 0

    async def search_knowledge_base(
        self, query: str, search_type: str = "conversations", limit: int = 5
    ) -> list[dict[str, Any]]:
        """What answers the query, best first: as the tool of this name, with the scope of this agent and user.

        Args:
            query: what to look for, in words.
            search_type: conversations, documents or all.
            limit: how many at most; 1 to 50.

        Raises:
            InvalidInput: the agent has no knowledge base, or an argument that cannot be.
            StoreError: the database cannot be read.

        """
        return await self._library().search(query, search_type, limit)

    async def list_documents(self, doc_type: str = "all", limit: int = 10) -> list[dict[str, Any]]:
        """The documents that the agent may read for this user, newest first: as the tool of this name.

        Args:
            doc_type: conversations, documents, all, or the type of a document.
            limit: how many at most; 1 to 50.

        Raises:
            InvalidInput: the agent has no knowledge base, or an argument that cannot be.
            StoreError: the database cannot be read.

        """
        return await self._library().documents(doc_type, limit)

    async def cleanup(self, *, end: bool | None = None) -> None:
        """Close what the agent opened; twice is harmless, and `initialize` opens it again.

        Args:
            end: whether the conversation ends, too, so that what is due at its end is done: it is archived, and facts
                are read from it. Saying something opens it again. None: if conversations are archived.

        """
        rooms, self._rooms = self._rooms, None
        if rooms is not None:
            archives = self.config.knows and self.config.compression.archive_conversations
            await rooms.aclose(end=archives if end is None else end)

    async def __aenter__(self) -> Self:
        await self.initialize()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.cleanup()

    def _ready(self) -> Rooms:
        if self._rooms is None:
            raise InvalidInput("the agent is not there: call initialize() first, or use it as a context manager")
        return self._rooms

    def _library(self) -> Library:
        """What the agent may look up."""
        rooms = self._ready()
        if not self.config.knows:
            raise InvalidInput(f'agent {self._agent_id!r} has no knowledge base: add "knowledge_base" to its resources')
        known = self.config.knowledge
        return Library(
            memory=rooms.open,
            key=rooms.key,
            namespaces=known.namespaces,
            agents=self.config.readable_agents,
            prompt=rooms.turn.context if rooms.turn else None,
        )
