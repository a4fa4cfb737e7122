"""The memory of an agent, opened as its configuration says."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from os import PathLike

import anyio

from anaphora.agents.adapting import settings_for
from anaphora.agents.checking import PROVIDER, keys_missing
from anaphora.agents.config import AgentConfig
from anaphora.agents.files import ids_in, read_by_id
from anaphora.bootstrap import Overrides
from anaphora.domain.keys import SessionKey
from anaphora.errors import AnaphoraError, StoreError
from anaphora.memory import GRACE, Memory, Session
from anaphora.ports.models import ChatModel
from anaphora.services.chat import Turn
from anaphora.settings import Settings, load

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What whoever makes an agent brings."""

    folder: str | PathLike[str] | None
    db: str | PathLike[str] | None
    memory: Memory | None
    settings: Settings | None
    chat_model: ChatModel | None
    overrides: Overrides
    worker: bool

    @property
    def brings_models(self) -> bool:
        """Whether the configured models are not asked."""
        return (self.chat_model or self.overrides.chat_model) is not None

    def base(self) -> Settings:
        """What the configuration does not speak of.

        Raises:
            ConfigError: a setting that cannot work.

        """
        db = None if self.db is None else str(self.db)
        if self.memory is not None:
            return self.memory.settings
        if self.settings is None:
            return load(db=db)
        return self.settings if db is None else self.settings.model_copy(update={"db": db})


@asynccontextmanager
async def open_memory(settings: Settings, means: Means, *, on_disk: bool = True) -> AsyncIterator[Memory]:
    """The memory that the settings name, or one that is nowhere on disk and does no work of its own.

    Raises:
        ConfigError: a setting that cannot work.
        StoreError: the database cannot be opened.

    """
    given = replace(means.overrides, chat_model=means.chat_model or means.overrides.chat_model)
    if not on_disk:
        # nothing is summarised, learned or looked up in what is forgotten at once
        bare = {"db": ":memory:", "embedder": "none", "extraction": "none", "rerank_provider": "", "rerank_model": None}
        settings = settings.model_copy(update=bare)
        given = replace(given, embedder=None, reranker=None, failpoint=None)
    async with Memory.open(settings=settings, overrides=given, worker=on_disk and means.worker) as memory:
        yield memory


def log_store(error: StoreError) -> None:
    """Say that an agent answers without its memory, and why."""
    extra = {"event": "forgetful", "error": type(error).__name__}
    _log.warning("An agent answers without its memory: %s", error, extra=extra)


def log_left_out(agent_id: str, error: AnaphoraError) -> None:
    """Say that a configuration beside an agent's own cannot be used."""
    extra = {"event": "left_out", "agent": agent_id, "error": type(error).__name__}
    _log.info("The configuration of an agent cannot be used", extra=extra)


class Rooms:
    """Where an agent talks: in its memory, and, where that is out of reach, in one that is nowhere on disk.

    Args:
        means: what whoever made the agent brings.
        settings: how the memory is opened.
        key: whose conversation, with whom, and which.

    """

    def __init__(self, means: Means, settings: Settings, key: SessionKey) -> None:
        self._means, self._settings, self.key = means, settings, key
        self._closing = AsyncExitStack()
        self._opening = anyio.Lock()
        #: the memory, once it is open
        self.memory: Memory | None = None
        #: the conversation in it, once something was asked of it
        self.session: Session | None = None
        #: the turn that is going on in it
        self.turn: Turn | None = None
        self._scratch: Memory | None = None
        #: why the memory failed last, until it works again
        self._failure: str | None = None

    async def open(self) -> Memory:
        """The memory, opened if it is not yet.

        Raises:
            ConfigError: a setting that cannot work.
            StoreError: the database cannot be opened.

        """
        async with self._opening:
            if self.memory is None:
                given, opening = self._means.memory, open_memory(self._settings, self._means)
                self.memory = await self._closing.enter_async_context(opening) if given is None else given
            return self.memory

    async def here(self) -> Session:
        """The conversation in the memory.

        Raises:
            StoreError: the database cannot be opened.

        """
        if self.session is None:
            self.session = self._in(await self.open())
        return self.session

    async def aside(self) -> Session:
        """The conversation in a memory that is nowhere on disk."""
        if self._scratch is None:
            opening = open_memory(self._settings, self._means, on_disk=False)
            self._scratch = await self._closing.enter_async_context(opening)
        return self._in(self._scratch)

    def failed(self, error: StoreError) -> None:
        """Say that the memory fails, once for each cause."""
        if self._failure != str(error):
            self._failure = str(error)
            log_store(error)

    async def forget_aside(self) -> None:
        """The memory works: nothing is left of what was said aside."""
        self._failure = None
        if self._scratch is not None:
            await self._in(self._scratch).reset()

    async def aclose(self, *, end: bool) -> None:
        """Close what was opened here; with `end`, after what is due then, if that is quick."""
        with anyio.CancelScope(shield=True):
            try:
                if end and self.session is not None and await self.session.end():
                    await self._finish()
            except StoreError as error:
                log_store(error)
            finally:
                await self._closing.aclose()

    async def _finish(self) -> None:
        """Give the worker of the agent's own memory the time that closing would give it, for what is due now."""
        if self.memory is not None and self._means.memory is None and self._means.worker:
            await self.memory.idle(GRACE)

    def _in(self, memory: Memory) -> Session:
        return memory.session(user=self.key.user, session=self.key.session, agent=self.key.agent)


def configs_in(folder: str | PathLike[str], *, but: str | None = None) -> list[AgentConfig]:
    """The agents of a folder, but for one; what is wrong with a file is for those who want that agent."""
    found = []
    for agent_id in ids_in(folder):
        if agent_id == but:
            continue
        try:
            found.append(read_by_id(folder, agent_id))
        except AnaphoraError as error:
            log_left_out(agent_id, error)
    return found


def with_folder(settings: Settings) -> Settings:
    """The settings with the numbers of all agents of the configured folder; who answers and summarises stays."""
    for config in configs_in(settings.agents_folder):
        settings = settings_for(base=settings, beside=(config,), models=False)
    return settings


async def with_folder_and_models(settings: Settings) -> Settings:
    """The settings for all agents of the configured folder, so that each one's sessions are summarised as it says.

    Agents whose models lack something here are left without them.
    """
    out = settings
    for config in configs_in(settings.agents_folder):
        missing = await keys_missing(config, settings_for(config, base=settings))
        usable = not any(notice.key == PROVIDER for notice in missing)
        out = settings_for(base=out, beside=(config,), models=usable)
    return out
