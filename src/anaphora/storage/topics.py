"""Closed topics of sessions, and what their names and summaries mean."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Trust
from anaphora.domain.summaries import Method
from anaphora.domain.topics import Closed, Opened, Topic, TopicMatch, TopicVector, View
from anaphora.domain.vectors import Space
from anaphora.ports.rows import SessionRow
from anaphora.storage.effects import Effects
from anaphora.storage.session_rows import SESSION_COLUMNS, session_row
from anaphora.storage.tables import sessions
from anaphora.storage.topic_tables import topic_vectors, topics
from anaphora.storage.types import AnyRow

TOPIC_COLUMNS = tuple(column for column in topics.c if column.name != "tenant_id")
_SELECT = sa.select(*TOPIC_COLUMNS)
_OF_SESSION = (topics.c.tenant_id == sa.bindparam("b_tenant"), topics.c.session_uid == sa.bindparam("b_uid"))
_THIS = (*_OF_SESSION, topics.c.id == sa.bindparam("b_id"))
_GET = _SELECT.where(topics.c.tenant_id == sa.bindparam("b_tenant"), topics.c.id == sa.bindparam("b_id"))
_NEWEST = (
    _SELECT.where(*_OF_SESSION, topics.c.start < sa.bindparam("before"))
    .order_by(topics.c.start.desc())
    .limit(sa.bindparam("most"))
)
_BETWEEN = _NEWEST.where(topics.c.stop > sa.bindparam("after"))
_AT = (
    _SELECT.where(*_OF_SESSION, topics.c.start <= sa.bindparam("b_seq"), topics.c.stop > sa.bindparam("b_seq"))
    .order_by(topics.c.start.desc())
    .limit(1)
)
_KEY_COLUMNS = (
    sessions.c.user_id.label("of_user"),
    sessions.c.agent_id.label("of_agent"),
    sessions.c.session_id.label("of_session"),
)
_THEIR_SESSIONS = (sessions.c.tenant_id == topics.c.tenant_id) & (sessions.c.id == topics.c.session_uid)
_STALE = (
    sa.update(topics)
    .where(*_OF_SESSION, topics.c.start <= sa.bindparam("b_seq"), topics.c.stop > sa.bindparam("b_seq"))
    .values(stale=True)
)
_UNSAID = topics.c.summary.is_(None) | topics.c.stale
_FIRST = _SELECT.where(*_OF_SESSION).order_by(topics.c.start).limit(1)
_TO_DESCRIBE = {
    False: _FIRST.where(_UNSAID),
    True: _FIRST.where(_UNSAID | (topics.c.method != Method.MODEL.value)),
}
#: what a description may change
_CHANGEABLE: Final = (
    "name",
    "summary",
    "tokens",
    "words",
    "method",
    "model",
    "prompt_version",
    "trust",
    "stale",
    "first_at",
    "last_at",
    "described_at",
    "described_head",
)
#: as it was when it was read: whoever described it or changed a message of it meanwhile has made it another
_AS_IT_WAS = (
    *_THIS,
    topics.c.stale == sa.bindparam("b_stale"),
    topics.c.described_at.is_not_distinct_from(sa.bindparam("b_described", type_=topics.c.described_at.type)),
)
_DELETE = sa.delete(topics).where(*_AS_IT_WAS)
_CHANGE = (
    sa.update(topics)
    .where(*_AS_IT_WAS)
    .values({name: sa.bindparam(name, type_=topics.c[name].type) for name in _CHANGEABLE})
)
_FORGET = sa.delete(topic_vectors).where(
    topic_vectors.c.tenant_id == sa.bindparam("b_tenant"), topic_vectors.c.topic_id == sa.bindparam("b_id")
)
_HAS_VECTORS = sa.select(sa.literal(1)).where(
    topic_vectors.c.tenant_id == topics.c.tenant_id,
    topic_vectors.c.topic_id == topics.c.id,
    topic_vectors.c.space == sa.bindparam("b_space"),
)
_WITHOUT = (
    _SELECT.where(*_OF_SESSION, topics.c.summary.is_not(None), ~_HAS_VECTORS.exists())
    .order_by(topics.c.start)
    .limit(sa.bindparam("most"))
)
#: of the session of the statement around it
_CLOSED = sa.select(sa.literal(1)).where(
    topics.c.tenant_id == sessions.c.tenant_id, topics.c.session_uid == sessions.c.id
)
#: vectors of names and summaries that one question is compared with: those of a user's newest topics
_COMPARED: Final = 4_000
#: beyond every number of a message
_ALL: Final = 2**31 - 1


class SqlTopics:
    """`ports.topics.Topics` over one transaction."""

    def __init__(self, connection: sa.Connection, effects: Effects) -> None:
        self._run = connection.execute
        self._effects = effects

    def insert(self, row: SessionRow, topic: Topic) -> None:
        """Keep a topic that was closed."""
        self._touch(row)
        self._run(sa.insert(topics), topic_values(row.key.tenant, topic))

    def get(self, tenant: str, topic_id: UUID) -> Topic | None:
        """The topic, or None."""
        row = self._run(_GET, {"b_tenant": tenant, "b_id": topic_id}).one_or_none()
        return topic_from(row) if row is not None else None

    def list(self, tenant: str, session_id: UUID, *, limit: int, before: int | None = None) -> Sequence[Topic]:
        """Topics of a session, newest first; with `before`, those that start before that message."""
        where = {"b_tenant": tenant, "b_uid": session_id, "before": _ALL if before is None else before, "most": limit}
        return [topic_from(row) for row in self._run(_NEWEST, where)]

    def sessions(
        self,
        tenant: str,
        strategies: Collection[str | None],
        *,
        user: str | None = None,
        agent: str | None = None,
        limit: int,
    ) -> Sequence[SessionRow]:
        """Sessions that have topics, the last used first: closed ones, or messages in one of these strategies."""
        query = sa.select(*SESSION_COLUMNS).where(
            sessions.c.tenant_id == tenant, sessions.c.expired_at.is_(None), _has_topics(strategies)
        )
        if user is not None:
            query = query.where(sessions.c.user_id == user)
        if agent is not None:
            query = query.where(sessions.c.agent_id == agent)
        query = query.order_by(sessions.c.updated_at.desc(), sessions.c.id.desc()).limit(limit)
        return [session_row(row) for row in self._run(query)]

    def between(self, tenant: str, session_id: UUID, span: SeqRange, *, limit: int) -> Sequence[Topic]:
        """Topics of a session that hold messages of the span, newest first."""
        where = {"b_tenant": tenant, "b_uid": session_id, "before": span.stop, "after": span.start, "most": limit}
        return [topic_from(row) for row in self._run(_BETWEEN, where)]

    def at(self, tenant: str, session_id: UUID, seqs: Iterable[int]) -> Sequence[Topic]:
        """The topics of a session that hold any of the messages, in order, each once."""
        found: dict[int, Topic] = {}
        for seq in sorted(set(seqs)):
            if any(seq in topic.range for topic in found.values()):
                continue
            row = self._run(_AT, {"b_tenant": tenant, "b_uid": session_id, "b_seq": seq}).one_or_none()
            if row is not None:
                found[row.start] = topic_from(row)
        return [found[start] for start in sorted(found)]

    def nearest(
        self,
        tenant: str,
        user: str,
        *,
        agents: Collection[str] | None,
        besides: UUID | None,
        space: Space,
        vector: Sequence[float],
        limit: int,
    ) -> Sequence[TopicMatch]:
        """Of a user's newest topics those whose name or summary is closest to a vector, closest first."""
        asked = space.unit(vector)
        best: dict[UUID, float] = {}
        for topic_id, embedding in self._run(_compared(tenant, user, agents, besides, space)):
            near = sum(map(operator.mul, asked, array("f", embedding)))
            best[topic_id] = max(best.get(topic_id, -1.0), near)
        closest = sorted(best, key=lambda topic_id: (-best[topic_id], topic_id))[:limit]
        query = (
            sa.select(*TOPIC_COLUMNS, *_KEY_COLUMNS)
            .join(sessions, _THEIR_SESSIONS)
            .where(topics.c.tenant_id == tenant, topics.c.id.in_(closest))
        )
        found = {row.id: _match(tenant, row) for row in self._run(query)} if closest else {}
        return [found[topic_id] for topic_id in closest if topic_id in found]

    def mark_stale(self, row: SessionRow, seq: int) -> bool:
        """The topic that holds the message is to be described again; False if none does."""
        return self._run(_STALE, {"b_tenant": row.key.tenant, "b_uid": row.id, "b_seq": seq}).rowcount > 0

    def to_describe(self, tenant: str, session_id: UUID, *, without_model: bool) -> Topic | None:
        """The oldest topic that is to be described: not yet, stale, or (with `without_model`) not by a model."""
        row = self._run(_TO_DESCRIBE[without_model], {"b_tenant": tenant, "b_uid": session_id}).one_or_none()
        return topic_from(row) if row is not None else None

    def replace(self, row: SessionRow, old: Topic, new: Topic | None) -> bool:
        """Another description of the same topic, or none of it at all; False if it is not there as it was."""
        tenant = row.key.tenant
        self._touch(row)
        this = {
            "b_tenant": tenant,
            "b_uid": row.id,
            "b_id": old.id,
            "b_stale": old.stale,
            "b_described": old.described_at,
        }
        if new is None:
            return self._run(_DELETE, this).rowcount > 0
        values = topic_values(tenant, new)
        if not self._run(_CHANGE, {**this, **{name: values[name] for name in _CHANGEABLE}}).rowcount:
            return False
        self._run(_FORGET, {"b_tenant": tenant, "b_id": old.id})
        return True

    def _touch(self, row: SessionRow) -> None:
        self._effects.touch(row.key.tenant, row.key.user, ChangeKind.TOPICS, row.id)

    def put_vectors(self, tenant: str, space: Space, vectors: Sequence[TopicVector]) -> None:
        """Keep what views of topics mean, instead of what is there; those of topics that are gone are not kept."""
        packed = [(one.topic_id, one.view.value, array("f", space.unit(one.vector)).tobytes()) for one in vectors]
        if not packed:
            return
        wanted = {topic_id for topic_id, _, _ in packed}
        there = set(
            self._run(sa.select(topics.c.id).where(topics.c.tenant_id == tenant, topics.c.id.in_(wanted))).scalars()
        )
        self._run(
            sa.delete(topic_vectors).where(
                topic_vectors.c.tenant_id == tenant,
                topic_vectors.c.topic_id.in_(there),
                topic_vectors.c.space == space.name,
            )
        )
        rows = [
            {"tenant_id": tenant, "topic_id": topic_id, "view": view, "space": space.name, "embedding": embedding}
            for topic_id, view, embedding in packed
            if topic_id in there
        ]
        if rows:
            self._run(sa.insert(topic_vectors), rows)

    def vectors(
        self, tenant: str, space: Space, wanted: Iterable[UUID]
    ) -> Mapping[UUID, Mapping[View, Sequence[float]]]:
        """What the views of the topics mean; topics without vectors in the space are left out."""
        query = sa.select(topic_vectors.c.topic_id, topic_vectors.c.view, topic_vectors.c.embedding).where(
            topic_vectors.c.tenant_id == tenant,
            topic_vectors.c.topic_id.in_(set(wanted)),
            topic_vectors.c.space == space.name,
        )
        found: dict[UUID, dict[View, Sequence[float]]] = {}
        for topic_id, view, embedding in self._run(query):
            found.setdefault(topic_id, {})[View(view)] = array("f", embedding)
        return found

    def without_vectors(self, row: SessionRow, space: Space, *, limit: int) -> Sequence[Topic]:
        """Described topics of the session that have no vectors in the space yet, oldest first."""
        where = {"b_tenant": row.key.tenant, "b_uid": row.id, "b_space": space.name, "most": limit}
        return [topic_from(found) for found in self._run(_WITHOUT, where)]


def _has_topics(strategies: Collection[str | None]) -> sa.ColumnElement[bool]:
    named = sessions.c.strategy.in_({name for name in strategies if name is not None})
    followed = (named | sessions.c.strategy.is_(None)) if None in strategies else named
    return (followed & (sessions.c.head > 0)) | _CLOSED.exists()


def _compared(
    tenant: str, user: str, agents: Collection[str] | None, besides: UUID | None, space: Space
) -> sa.Select[Any]:
    """What the user's newest topics mean, as far as they may be shown."""
    query = (
        sa.select(topic_vectors.c.topic_id, topic_vectors.c.embedding)
        .select_from(sessions)
        .join(topics, _THEIR_SESSIONS)
        .join(
            topic_vectors,
            (topic_vectors.c.tenant_id == topics.c.tenant_id) & (topic_vectors.c.topic_id == topics.c.id),
        )
        .where(
            topic_vectors.c.tenant_id == tenant,
            topic_vectors.c.space == space.name,
            sessions.c.tenant_id == tenant,
            sessions.c.user_id == user,
            sessions.c.expired_at.is_(None),
            sa.not_(topics.c.stale),
        )
        .order_by(topics.c.last_at.desc(), topics.c.id.desc())
        .limit(_COMPARED)
    )
    if agents is not None:
        query = query.where(sessions.c.agent_id.in_(sorted(agents)))
    return query if besides is None else query.where(topics.c.session_uid != besides)


def _match(tenant: str, row: AnyRow) -> TopicMatch:
    key = SessionKey(tenant=tenant, user=row.of_user, agent=row.of_agent, session=row.of_session)
    return TopicMatch(topic=topic_from(row), key=key)


def topic_values(tenant: str, topic: Topic) -> dict[str, Any]:
    """The topic as a row to insert."""
    return {
        "tenant_id": tenant,
        "id": topic.id,
        "session_uid": topic.session_id,
        "start": topic.range.start,
        "stop": topic.range.stop,
        "opened": topic.opened.value,
        "closed": topic.closed.value,
        "continues": topic.continues,
        "leads_to": topic.leads_to,
        "name": topic.name,
        "summary": topic.summary,
        "tokens": topic.tokens,
        "words": list(topic.words),
        "method": topic.method.value if topic.method else None,
        "model": topic.model,
        "prompt_version": topic.prompt_version,
        "trust": topic.trust.value,
        "stale": topic.stale,
        "first_at": topic.first_at,
        "last_at": topic.last_at,
        "closed_at": topic.closed_at,
        "closed_head": topic.closed_head,
        "described_at": topic.described_at,
        "described_head": topic.described_head,
    }


def topic_from(row: AnyRow) -> Topic:
    """The topic in a row of `TOPIC_COLUMNS`."""
    return Topic(
        id=row.id,
        session_id=row.session_uid,
        range=SeqRange(row.start, row.stop),
        opened=Opened(row.opened),
        closed=Closed(row.closed),
        continues=row.continues,
        leads_to=row.leads_to,
        name=row.name,
        summary=row.summary,
        tokens=row.tokens,
        words=tuple(row.words),
        method=Method(row.method) if row.method else None,
        model=row.model,
        prompt_version=row.prompt_version,
        trust=Trust(row.trust),
        stale=row.stale,
        first_at=row.first_at,
        last_at=row.last_at,
        closed_at=row.closed_at,
        closed_head=row.closed_head,
        described_at=row.described_at,
        described_head=row.described_head,
    )
