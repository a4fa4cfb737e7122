"""What the laws of topics share: topics to keep, and how they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Trust
from anaphora.domain.summaries import Method
from anaphora.domain.topics import Closed, Opened, Topic, TopicVector, View
from anaphora.domain.vectors import Space
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.fact_tools import id_of
from anaphora.testing.conformance.store_laws.tools import KEY, after, append, row_of, session

SPACE = Space(profile="plain", dimensions=2)


def described(topic: Topic, **how: Any) -> Topic:
    """The topic with a description by a model."""
    said = {
        "name": f"Talk {topic.range.start}",
        "summary": f"They spoke of {topic.range.start}.",
        "tokens": 7,
        "method": Method.MODEL,
        "model": "scripted",
        "prompt_version": "1",
        "stale": False,
        "described_at": after(200 + topic.range.start),
        "described_head": 10,
    }
    return replace(topic, **{**said, **how})


async def talked(
    store: Store, *spans: tuple[int, int], key: SessionKey = KEY, told: bool = True, **how: Any
) -> list[Topic]:
    """A session of ten messages with topics of these ranges, in their order: described by a model, or not yet."""
    if await store.read(key.tenant, lambda unit: unit.sessions.find(key)) is None:
        await store.append(append(*"abcdefghij", key=key))
    row = await session(store, key)
    new = []
    for start, stop in spans:
        bare = Topic(
            id=id_of(start),
            session_id=row.id,
            range=SeqRange(start, stop),
            opened=Opened.SHIFT if start else Opened.FIRST,
            closed=Closed.SHIFT,
            continues=None,
            leads_to=None,
            name=None,
            summary=None,
            tokens=0,
            words=("cake", "tea"),
            method=None,
            model=None,
            prompt_version=None,
            trust=Trust.OWNER_SAID,
            first_at=after(start),
            last_at=after(stop - 1),
            closed_at=after(100 + start),
            closed_head=stop + 1,
            described_at=None,
            described_head=None,
        )
        new.append(replace(described(bare) if told else bare, **how))

    def keep(unit: Unit) -> None:
        for item in new:
            unit.topics.insert(row_of(unit, key), item)

    await store.write(key.tenant, keep)
    return new


async def topics_of(store: Store, *, key: SessionKey = KEY, limit: int = 99, before: int | None = None) -> list[Topic]:
    """The topics of a session, newest first."""
    row = await session(store, key)
    return list(
        await store.read(key.tenant, lambda unit: unit.topics.list(key.tenant, row.id, limit=limit, before=before))
    )


async def got(store: Store, topic_id: UUID, *, key: SessionKey = KEY) -> Topic | None:
    """The topic, as the tenant of the session sees it."""
    return await store.read(key.tenant, lambda unit: unit.topics.get(key.tenant, topic_id))


async def between(store: Store, start: int, stop: int, *, key: SessionKey = KEY, limit: int = 99) -> list[int]:
    """Where the topics start that hold messages of the span, newest first."""
    row = await session(store, key)
    found = await store.read(
        key.tenant, lambda unit: unit.topics.between(key.tenant, row.id, SeqRange(start, stop), limit=limit)
    )
    return [topic.range.start for topic in found]


async def spoilt(store: Store, seq: int, *, key: SessionKey = KEY) -> bool:
    """A message was changed: its topic is to be described again."""
    return await store.write(key.tenant, lambda unit: unit.topics.mark_stale(row_of(unit, key), seq))


async def stale(store: Store, *, key: SessionKey = KEY) -> list[int]:
    """Where the topics start that are to be described again."""
    return [topic.range.start for topic in reversed(await topics_of(store, key=key)) if topic.stale]


async def wanted(store: Store, *, key: SessionKey = KEY, without_model: bool = False) -> int | None:
    """Where the topic starts that is to be described next."""
    row = await session(store, key)
    topic = await store.read(
        key.tenant, lambda unit: unit.topics.to_describe(key.tenant, row.id, without_model=without_model)
    )
    return topic.range.start if topic is not None else None


async def replaced(store: Store, old: Topic, new: Topic | None, *, key: SessionKey = KEY) -> bool:
    """Put another description in the place of one; what the store says."""
    return await store.write(key.tenant, lambda unit: unit.topics.replace(row_of(unit, key), old, new))


async def put(
    store: Store, *vectors: tuple[Topic, View, Sequence[float]], tenant: str = KEY.tenant, space: Space = SPACE
) -> None:
    """Keep what views of topics mean."""
    made = [TopicVector(topic_id=topic.id, view=view, vector=vector) for topic, view, vector in vectors]
    await store.write(tenant, lambda unit: unit.topics.put_vectors(tenant, space, made))


async def vectors_of(
    store: Store, topics: Iterable[Topic], *, tenant: str = KEY.tenant, space: Space = SPACE
) -> dict[int, dict[View, tuple[float, ...]]]:
    """What the views of topics mean, by where the topics start."""
    at = {topic.id: topic.range.start for topic in topics}

    def read(unit: Unit) -> Mapping[UUID, Mapping[View, Sequence[float]]]:
        return unit.topics.vectors(tenant, space, iter(at))

    found = await store.read(tenant, read)
    return {
        at[topic_id]: {view: tuple(round(value, 6) for value in vector) for view, vector in views.items()}
        for topic_id, views in found.items()
    }


async def nearest(
    store: Store,
    vector: Sequence[float],
    *,
    tenant: str = KEY.tenant,
    agents: Collection[str] | None = None,
    besides: UUID | None = None,
    space: Space = SPACE,
    limit: int = 99,
) -> list[UUID]:
    """The user's topics that mean nearly that, in the store's order; each with the session that it is of."""
    found = await store.read(
        tenant,
        lambda unit: unit.topics.nearest(
            tenant, KEY.user, agents=agents, besides=besides, space=space, vector=vector, limit=limit
        ),
    )
    for match in found:
        assert (await session(store, match.key)).id == match.topic.session_id
    return [match.topic.id for match in found]


async def bare(store: Store, *, key: SessionKey = KEY, space: Space = SPACE, limit: int = 99) -> list[int]:
    """Where the described topics start that have no vectors in the space, in the store's order."""
    row = await session(store, key)
    found = await store.read(key.tenant, lambda unit: unit.topics.without_vectors(row, space, limit=limit))
    return [topic.range.start for topic in found]
