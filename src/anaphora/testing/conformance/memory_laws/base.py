"""How the laws of a memory get at a memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from anaphora.memory import Memory
from anaphora.ports.clock import Clock
from anaphora.ports.models import ChatModel, TokenCounter
from anaphora.testing.conformance.laws import Laws
from anaphora.testing.conformance.memory_laws.conversations import OPTIONS, QUARTER


class MemoryLaws(Laws, ABC):
    """Laws of what has the shape of `anaphora.Memory`, for subclasses that open one."""

    @abstractmethod
    def open_memory(
        self,
        folder: Path,
        *,
        chat: ChatModel | None,
        clock: Clock | None,
        counter: TokenCounter | None,
        at_work: bool,
        **options: Any,
    ) -> AbstractAsyncContextManager[Memory]:
        """A memory on the database that belongs to a folder, closed at the end.

        The same folder is the same database, whoever opens it and however often; another folder is another one. When
        a folder is opened for the first time, its database is empty. A law may open one folder several times at once,
        as several processes would.

        Args:
            folder: an empty folder of the law's own. A memory that keeps no files may take its path for a name.
            chat: the model that answers and summarises; None: there is none.
            clock: what the memory goes by; None: the real one. The law moves it while the memory is open.
            counter: counts tokens; None: the one of the settings.
            at_work: whether background work is done while the memory is open. If not, `work()` does it.
            options: single settings by name.

        """

    def opened(
        self,
        folder: Path,
        *,
        chat: ChatModel | None = None,
        clock: Clock | None = None,
        counter: TokenCounter | None = QUARTER,
        at_work: bool = False,
        **options: Any,
    ) -> AbstractAsyncContextManager[Memory]:
        """The memory of a folder as most laws want it: no embedder, no worker, four characters a token."""
        return self.open_memory(
            folder, chat=chat, clock=clock, counter=counter, at_work=at_work, **{**OPTIONS, **options}
        )
