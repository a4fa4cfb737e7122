"""The laws of summaries, as questions to the rows: versions, their points, and the heads that serve them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from anaphora.domain.messages import Trust
from anaphora.domain.summaries import Method, SummaryStatus
from anaphora.services.settings import NOTEPAD_READER, live_reader
from anaphora.storage.fact_checks import EXTRACTION_READER
from anaphora.storage.history_checks import move_breaches
from anaphora.storage.laws import Law, of_session, same_session
from anaphora.storage.tables import heads, messages, points, sessions, summaries
from anaphora.storage.topic_checks import TOPIC_READER

_SERVED = summaries.c.status.in_([SummaryStatus.COMPLETED.value, SummaryStatus.STALE.value])
_LIVE_READER = sa.literal(live_reader("")) + summaries.c.strategy
#: readers that make no versions of a summary
_KEEPS_NO_VERSIONS = (EXTRACTION_READER, TOPIC_READER, NOTEPAD_READER)
_BASE = summaries.alias("base")


def summary_laws() -> tuple[Law, ...]:
    """I3, I6, I8, I15, I17, I20."""
    return (_tiling(), _monotonic(), _atomic(), _provenance(), _honesty(), _validity())


def _is_summary(table: sa.FromClause, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    return (table.c.tenant_id == summaries.c.tenant_id) & (summaries.c.id == column)


def _tiling() -> Law:
    before = sa.func.lag(points.c.stop).over(
        partition_by=(points.c.tenant_id, points.c.summary_id), order_by=points.c.ordinal
    )
    steps = sa.select(points.c.summary_id, points.c.start, before.label("before")).subquery()
    spans = (
        sa.select(
            points.c.tenant_id,
            points.c.summary_id,
            sa.func.min(points.c.start).label("start"),
            sa.func.max(points.c.stop).label("stop"),
        )
        .group_by(points.c.tenant_id, points.c.summary_id)
        .subquery()
    )
    return Law(
        id="I3",
        name="the points of every version tile its range, and its base is an earlier version",
        table=summaries,
        breaches=(
            (
                "versions with a gap or an overlap",
                sa.select(steps.c.summary_id).where(steps.c.before != steps.c.start).distinct(),
            ),
            (
                "versions whose points do not fill their range",
                sa.select(summaries.c.id)
                .join(spans, _is_summary(spans, spans.c.summary_id))
                .where(sa.or_(spans.c.start != summaries.c.start, spans.c.stop != summaries.c.stop)),
            ),
            (
                "versions with empty points",
                sa.select(points.c.summary_id).where(points.c.stop <= points.c.start).distinct(),
            ),
            (
                "versions whose base is no earlier version of their session",
                sa.select(summaries.c.id)
                .outerjoin(_BASE, (_BASE.c.tenant_id == summaries.c.tenant_id) & (_BASE.c.id == summaries.c.base_id))
                .where(
                    summaries.c.base_id.is_not(None),
                    sa.or_(
                        _BASE.c.id.is_(None),
                        _BASE.c.session_uid != summaries.c.session_uid,
                        _BASE.c.version >= summaries.c.version,
                    ),
                ),
            ),
        ),
    )


def _monotonic() -> Law:
    chain = same_session(heads, summaries) & (heads.c.reader == _LIVE_READER)
    return Law(
        id="I6",
        name="every head stands where its version ends, within the log, and nothing completed lies behind it",
        table=heads,
        breaches=(
            (
                "sessions whose head is not where its version ends",
                sa.select(heads.c.session_uid)
                .join(summaries, _is_summary(heads, heads.c.summary_id))
                .where(heads.c.position != summaries.c.stop),
            ),
            (
                "sessions whose head is beyond the log",
                sa.select(heads.c.session_uid)
                .join(sessions, of_session(heads))
                .where(heads.c.position > sessions.c.head),
            ),
            (
                "completed versions that no head has reached",
                sa.select(summaries.c.id)
                .outerjoin(heads, chain)
                .where(_SERVED, sa.or_(heads.c.position.is_(None), summaries.c.stop > heads.c.position)),
            ),
            ("sessions whose head has counted wrong", _miscounted()),
            *move_breaches(),
        ),
    )


def _miscounted() -> sa.Select[Any]:
    """Heads that count the tokens before them, and do not know how many those are."""
    before = same_session(messages, heads) & (messages.c.seq < heads.c.position)
    true = sa.select(sa.func.coalesce(sa.func.sum(messages.c.tokens), 0)).where(before).scalar_subquery()
    return (
        sa.select(heads.c.session_uid)
        .join(summaries, _is_summary(heads, heads.c.summary_id))
        .where(heads.c.reader == _LIVE_READER, heads.c.seen > 0, heads.c.tokens != true)
    )


def _atomic() -> Law:
    return Law(
        id="I8",
        name="no version without points, no head without its version",
        table=heads,
        breaches=(
            (
                "versions without points",
                sa.select(summaries.c.id).where(
                    ~sa.exists().where(
                        points.c.tenant_id == summaries.c.tenant_id, points.c.summary_id == summaries.c.id
                    )
                ),
            ),
            (
                "sessions whose head has no version",
                sa.select(heads.c.session_uid)
                .outerjoin(summaries, _is_summary(heads, heads.c.summary_id))
                .where(summaries.c.id.is_(None), heads.c.position > 0, heads.c.reader.not_in(_KEEPS_NO_VERSIONS)),
            ),
            (
                "sessions that serve a version which is not completed",
                sa.select(heads.c.session_uid)
                .join(summaries, _is_summary(heads, heads.c.summary_id))
                .where(heads.c.reader == _LIVE_READER, sa.not_(_SERVED)),
            ),
        ),
    )


def _provenance() -> Law:
    ranks = {trust.value: rank for rank, trust in enumerate(Trust)}
    served = (
        sa.select(summaries.c.id, sa.func.max(sa.case(ranks, value=messages.c.trust)).label("worst"))
        .join(heads, (heads.c.tenant_id == summaries.c.tenant_id) & (heads.c.summary_id == summaries.c.id))
        .join(messages, same_session(messages, summaries))
        .where(
            messages.c.seq >= summaries.c.start,
            messages.c.seq < summaries.c.stop,
            sa.not_(messages.c.deleted),  # what was deleted before a version was made is nothing that it was made of
        )
        .group_by(summaries.c.tenant_id, summaries.c.id)
        .subquery()
    )
    return Law(
        id="I15",
        name="every version says who made it, and is no more trusted than what it was made of",
        table=summaries,
        breaches=(
            (
                "versions by a model that is not named",
                sa.select(summaries.c.id).where(
                    summaries.c.method == Method.MODEL.value,
                    sa.or_(summaries.c.model.is_(None), summaries.c.prompt_version.is_(None)),
                ),
            ),
            (
                "versions without a known method or trust",
                sa.select(summaries.c.id).where(
                    sa.or_(
                        summaries.c.method.not_in([method.value for method in Method]),
                        summaries.c.trust.not_in([trust.value for trust in Trust]),
                    )
                ),
            ),
            (
                "versions more trusted than their messages",
                sa.select(summaries.c.id)
                .join(served, served.c.id == summaries.c.id)
                .where(sa.case(ranks, value=summaries.c.trust) < served.c.worst),
            ),
        ),
    )


def _honesty() -> Law:
    return Law(
        id="I17",
        name="what no model wrote is not labelled as a model's",
        table=points,
        breaches=(
            (
                "versions that claim a model for a digest",
                sa.select(summaries.c.id)
                .join(points, _is_summary(points, points.c.summary_id))
                .outerjoin(_BASE, (_BASE.c.tenant_id == summaries.c.tenant_id) & (_BASE.c.id == summaries.c.base_id))
                .where(
                    summaries.c.method == Method.MODEL.value,
                    points.c.method != Method.MODEL.value,
                    points.c.start >= sa.func.coalesce(_BASE.c.stop, summaries.c.start),
                )
                .distinct(),
            ),
        ),
    )


def _validity() -> Law:
    return Law(
        id="I20",
        name="every point says something",
        table=points,
        breaches=(
            ("versions with a blank point", sa.select(points.c.summary_id).where(sa.func.trim(points.c.text) == "")),
            ("versions with a point of no tokens", sa.select(points.c.summary_id).where(points.c.tokens < 1)),
        ),
    )
