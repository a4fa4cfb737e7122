"""What must hold of topics, as questions to the database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from anaphora.domain.topics import OPENED_AFTER, Opened
from anaphora.services.settings import live_reader
from anaphora.storage.laws import Breach, Law, of_session, same_session
from anaphora.storage.tables import heads, messages, sessions
from anaphora.storage.topic_tables import topic_vectors, topics
from anaphora.strategies.topics import Topics

#: the reader whose head says how far the topics of a session were followed
TOPIC_READER = live_reader(Topics().name)


def topic_laws() -> tuple[Law, ...]:
    """The laws of topics."""
    return (
        Law(
            id="topics",
            name="topics follow one another without a hole, each from where the one before it ended",
            table=topics,
            breaches=(*_tiling(), *_links(), *_meanings()),
        ),
    )


def _steps() -> sa.Subquery:
    """Every topic with what lies before it: where the one before ends and how, and how many messages all hold."""
    session, order = (topics.c.tenant_id, topics.c.session_uid), (topics.c.start, topics.c.id)
    held = sa.func.sum(topics.c.stop - topics.c.start)

    def before(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
        return sa.func.lag(column).over(partition_by=session, order_by=order)

    return sa.select(
        topics.c.tenant_id,
        topics.c.id,
        topics.c.session_uid,
        topics.c.start,
        topics.c.opened,
        topics.c.continues,
        topics.c.leads_to,
        sa.func.coalesce(before(topics.c.stop), 0).label("before"),
        before(topics.c.closed).label("ended"),
        before(topics.c.leads_to).label("led_to"),
        sa.func.coalesce(held.over(partition_by=session, order_by=order, rows=(None, -1)), 0).label("held"),
    ).subquery("steps")


def _tiling() -> Iterator[Breach]:
    steps = _steps()
    yield "topics that overlap", sa.select(steps.c.id).where(steps.c.start < steps.c.before)
    left_out = sa.exists().where(
        same_session(messages, steps),
        messages.c.seq >= steps.c.before,
        messages.c.seq < steps.c.start,
        sa.not_(messages.c.deleted),
    )
    yield (
        "topics before which messages are in none",
        sa.select(steps.c.id).where(steps.c.before < steps.c.start, left_out),
    )
    yield (
        "topics beyond the log",
        sa.select(topics.c.id).join(sessions, of_session(topics)).where(topics.c.stop > sessions.c.head),
    )
    reader = same_session(heads, topics) & (heads.c.reader == TOPIC_READER)
    yield (
        "topics of what was not followed yet",
        sa.select(topics.c.id).outerjoin(heads, reader).where(sa.func.coalesce(heads.c.position, 0) < topics.c.stop),
    )


def _links() -> Iterator[Breach]:
    steps = _steps()
    first = Opened.FIRST.value
    yield (
        "topics that do not begin as a topic there does",
        sa.select(steps.c.id).where(
            sa.or_(
                sa.and_(steps.c.start == 0, steps.c.opened != first),
                sa.and_(steps.c.start > 0, steps.c.opened == first),
                sa.and_(steps.c.opened == Opened.RETURN.value, steps.c.continues.is_(None)),
                sa.and_(steps.c.opened != Opened.RETURN.value, steps.c.continues.is_not(None)),
            )
        ),
    )
    as_ended = sa.case({closed.value: opened.value for closed, opened in OPENED_AFTER.items()}, value=steps.c.ended)
    yield (
        "topics that do not begin as the one before ended",
        sa.select(steps.c.id).where(
            steps.c.start > 0,
            steps.c.start == steps.c.before,
            sa.or_(steps.c.opened != as_ended, steps.c.continues.is_distinct_from(steps.c.led_to)),
        ),
    )
    for name, what in (("continues", "go back to"), ("leads_to", "lead to")):
        named = steps.c[name]
        other = topics.alias()
        # of a topic of which nothing was left there is no row any more: it has left a hole
        yield (
            f"topics that {what} none before them in their session",
            sa.select(steps.c.id)
            .outerjoin(other, (other.c.tenant_id == steps.c.tenant_id) & (other.c.id == named))
            .where(
                named.is_not(None),
                sa.or_(
                    sa.and_(other.c.id.is_(None), steps.c.held == steps.c.start),
                    other.c.session_uid != steps.c.session_uid,
                    other.c.stop > steps.c.start,
                ),
            ),
        )


def _meanings() -> Iterator[Breach]:
    there = sa.exists().where(
        topics.c.tenant_id == topic_vectors.c.tenant_id,
        topics.c.id == topic_vectors.c.topic_id,
        topics.c.summary.is_not(None),
    )
    yield "topics that are not described and mean something", sa.select(topic_vectors.c.topic_id).where(~there)
