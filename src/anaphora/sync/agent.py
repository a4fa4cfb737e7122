"""The blocking twin of `anaphora.agents.Agent`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from os import PathLike
from types import TracebackType
from typing import Any, Self, TypeVar

from anaphora.agents import Agent as AsyncAgent
from anaphora.agents import AgentConfig, Notice
from anaphora.agents.files import Source, read
from anaphora.agents.tools import Tools
from anaphora.bootstrap import Overrides
from anaphora.errors import InvalidInput
from anaphora.ports.models import ChatModel
from anaphora.settings import Settings
from anaphora.sync.forward import Facade, blocking, streaming
from anaphora.sync.host import Host, hosted
from anaphora.sync.memory import Memory, Session

T = TypeVar("T")


class _Nowhere(Host):
    """Stands for the event loop of an agent that is not there."""

    def __init__(self) -> None:
        """No loop."""

    def call(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:  # noqa: ARG002 - as in `Host`
        """Refuse."""
        raise _not_there()

    def iterate(self, pieces: AsyncGenerator[T]) -> Generator[T, None, None]:  # noqa: ARG002 - likewise
        """Refuse."""
        raise _not_there()


class Agent(Facade[AsyncAgent]):
    """One agent in one conversation with one user. May be used from several threads at once.

    Use it as a context manager, or call `initialize` and, at the end, `cleanup`. In between it has a thread of its own,
    unless it shares a memory. The arguments are those of `anaphora.agents.Agent`.
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
        inner = AsyncAgent(
            agent_id,
            user,
            session,
            folder=folder,
            db=db,
            memory=None if memory is None else memory._inner,  # noqa: SLF001 - a facade of this package
            settings=settings,
            chat_model=chat_model,
            overrides=overrides,
            worker=worker,
        )
        super().__init__(_Nowhere(), inner)
        self._shared = memory
        self._closing = ExitStack()

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

        Raises:
            ConfigError: one line a mistake: the file, the key, what is wrong and what to write.

        """
        found = config if isinstance(config, AgentConfig) else read(config)
        how: dict[str, Any] = {"db": db, "settings": settings, "chat_model": chat_model, "overrides": overrides}
        made = cls(found.agent_id, user, session, memory=memory, worker=worker, **how)
        shared = None if memory is None else memory._inner  # noqa: SLF001 - a facade of this package
        made._inner = AsyncAgent.from_config(found, user=user, session=session, memory=shared, worker=worker, **how)
        return made

    @property
    def agent_id(self) -> str:
        """Which agent it is."""
        return self._inner.agent_id

    @property
    def config(self) -> AgentConfig:
        """Its configuration; `initialize` reads it."""
        return self._inner.config

    @property
    def toolbox(self) -> Tools | None:
        """The tools that its model may call, for `Session.send` of its memory; None: there are none."""
        return self._inner.toolbox

    @property
    def notices(self) -> Sequence[Notice]:
        """What its configuration says that may not be meant so; `initialize` finds it."""
        return self._inner.notices

    @property
    def memory(self) -> Memory | None:
        """The memory that it uses; None: it has none, or the database cannot be opened."""
        if self._shared is not None:
            return self._shared
        return None if self._inner.memory is None else Memory(self._host, self._inner.memory)

    @property
    def session(self) -> Session | None:
        """The conversation in that memory; None: it stores none."""
        return None if self._inner.session is None else Session(self._host, self._inner.session)

    def initialize(self) -> None:
        """Read the configuration and open the memory, as `anaphora.agents.Agent.initialize` does; twice is harmless."""
        if isinstance(self._host, _Nowhere):
            if self._shared is not None:
                self._host = self._shared._host  # noqa: SLF001 - a facade of this package
            else:
                self._host, _ = self._closing.enter_context(hosted(_living(self._inner)))
        try:
            self._host.call(self._inner.initialize)
        except BaseException:
            self.cleanup()
            raise

    def cleanup(self, *, end: bool | None = None) -> None:
        """Close what the agent opened, as `anaphora.agents.Agent.cleanup` does; twice is harmless.

        Args:
            end: whether the conversation ends, too. None: if conversations are archived.

        """
        if isinstance(self._host, _Nowhere):
            return
        try:
            self._host.call(partial(self._inner.cleanup, end=end))
        finally:
            self._host = _Nowhere()
            self._closing.close()

    def __enter__(self) -> Self:
        self.initialize()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cleanup()

    chat = blocking(AsyncAgent.chat)
    chat_stream = streaming(str, AsyncAgent.chat_stream)
    load_memory = blocking(AsyncAgent.load_memory)
    save_memory = blocking(AsyncAgent.save_memory)
    clear_conversation = blocking(AsyncAgent.clear_conversation)
    search_knowledge_base = blocking(AsyncAgent.search_knowledge_base)
    list_documents = blocking(AsyncAgent.list_documents)


@asynccontextmanager
async def _living(agent: AsyncAgent) -> AsyncIterator[AsyncAgent]:
    try:
        yield agent
    finally:
        await agent.cleanup()


def _not_there() -> InvalidInput:
    return InvalidInput("the agent is not there: call initialize() first, or use it as a context manager")
