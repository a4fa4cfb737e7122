"""A pause in the middle of the work on topics, for what may happen meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from anaphora.services.meanings import Meanings


class Slow(Meanings):
    """No vectors, but something may happen while they are made: after what is followed was read, before it is kept."""

    def __init__(self, pause: Callable[[], Awaitable[None]]) -> None:
        super().__init__(None)
        self._pause = pause

    async def of(self, messages: Any) -> Any:
        await self._pause()
        return await super().of(messages)

    async def of_topic(self, topic: Any) -> Any:
        await self._pause()
        return await super().of_topic(topic)
