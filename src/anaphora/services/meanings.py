"""What messages and short texts mean, computed aside; those of the newest messages are kept for the next time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import anyio.to_thread

from anaphora.domain.messages import Message
from anaphora.domain.topics import Topic, TopicVector, View
from anaphora.domain.vectors import Scale, Space
from anaphora.errors import ModelError
from anaphora.ports.models import Embedder
from anaphora.rules.passages import passages
from anaphora.services.retrieve import space_of

#: vectors that are kept, of all sessions together: those that the next message is compared with
_KEPT: Final = 512

_Vector = Sequence[float]


class Meanings:
    """The vectors of messages, as far as there is an embedder that answers."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[tuple[UUID, int], _Vector] = OrderedDict()

    @property
    def scale(self) -> Scale | None:
        """How the cosines are to be read; None: there are no vectors."""
        return None if self._embedder is None else self._embedder.profile.scale

    async def space(self) -> Space | None:
        """Where the vectors are; None: there are none. How long they are may have to be asked for."""
        if self._embedder is None:
            return None
        try:
            return await anyio.to_thread.run_sync(space_of, self._embedder, abandon_on_cancel=True)
        except ModelError:
            return None

    async def of(self, messages: Sequence[Message]) -> Mapping[UUID, _Vector]:
        """The vectors of the beginnings of messages, by their ids; without an embedder that answers, of none."""
        known = {m.id: self._kept[m.id, m.version] for m in messages if (m.id, m.version) in self._kept}
        missing = [message for message in messages if message.id not in known]
        for message, vector in zip(missing, await self.of_texts([passages(m)[0] for m in missing]), strict=False):
            known[message.id] = self._kept[message.id, message.version] = vector
        for message in messages:
            if (message.id, message.version) in self._kept:
                self._kept.move_to_end((message.id, message.version))
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return known

    async def of_texts(self, texts: Sequence[str]) -> Sequence[_Vector]:
        """The vectors of texts; none at all without an embedder that answers."""
        if self._embedder is None or not texts:
            return ()
        try:
            return await anyio.to_thread.run_sync(self._embedder.embed, texts, abandon_on_cancel=True)
        except ModelError:
            return ()  # words decide alone

    async def of_topic(self, topic: Topic) -> tuple[Space | None, tuple[TopicVector, ...]]:
        """What name and summary mean: each for itself, so that neither drowns the other."""
        space = await self.space()
        texts = _views(topic)
        found = await self.of_texts([text for _, text in texts])
        vectors = (
            TopicVector(topic_id=topic.id, view=view, vector=vector)
            for (view, _), vector in zip(texts, found, strict=False)
        )
        return space, tuple(vectors) if space is not None else ()


async def vectors_of(embedder: Embedder, texts: Sequence[str]) -> list[_Vector]:
    """The vectors of many passages; whoever waits can be stopped between a few of them.

    Raises:
        ModelError: the embedder failed.

    """
    made: list[_Vector] = []
    at_once = embedder.profile.at_once
    for start in range(0, len(texts), at_once):
        some = texts[start : start + at_once]
        made += await anyio.to_thread.run_sync(embedder.embed, some, abandon_on_cancel=True)
    return made


def _views(topic: Topic) -> tuple[tuple[View, str], ...]:
    """The texts by whose meaning a topic is found."""
    named = ((View.NAME, topic.name),) if topic.name else ()
    told = ((View.SUMMARY, topic.summary),) if topic.summary else ()
    return (*named, *told)
