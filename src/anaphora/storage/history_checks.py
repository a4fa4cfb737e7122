"""What must hold of edits, tombstones and the notes of the past, as questions to the rows."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from anaphora.domain.jobs import JobKind, JobState
from anaphora.domain.keys import SeqRange, union
from anaphora.domain.summaries import SummaryStatus
from anaphora.ports.rows import SessionRow
from anaphora.services.settings import live_reader
from anaphora.storage.laws import Breach, same_session
from anaphora.storage.tables import (
    head_moves,
    heads,
    jobs,
    message_versions,
    messages,
    summaries,
    summary_states,
)


def version_breaches() -> Iterator[Breach]:
    """I2: every version but the last is kept, and a tombstone says nothing."""
    of_message = same_session(message_versions, messages) & (message_versions.c.seq == messages.c.seq)
    yield (
        "messages whose earlier versions are not all there",
        sa.select(messages.c.id)
        .outerjoin(message_versions, of_message)
        .where(sa.or_(messages.c.version > 1, message_versions.c.seq.is_not(None)), sa.not_(messages.c.erased))
        .group_by(messages.c.tenant_id, messages.c.id, messages.c.version)
        .having(
            sa.or_(
                sa.func.count(message_versions.c.version) != messages.c.version - 1,
                sa.func.max(message_versions.c.version) != messages.c.version - 1,
            )
        ),
    )
    yield (
        "tombstones that say something",
        sa.select(messages.c.id).where(messages.c.deleted, sa.or_(messages.c.content != "", messages.c.tokens != 0)),
    )


def move_breaches() -> Iterator[Breach]:
    """I6: the last note of a head says where it stands, and the last of a version which status it has."""
    newest = (
        sa.select(
            head_moves.c.tenant_id,
            head_moves.c.session_uid,
            head_moves.c.reader,
            sa.func.max(head_moves.c.number).label("number"),
        )
        .group_by(head_moves.c.tenant_id, head_moves.c.session_uid, head_moves.c.reader)
        .subquery()
    )
    yield (
        "sessions whose head is not where its last move went",
        sa.select(heads.c.session_uid)
        .outerjoin(newest, same_session(newest, heads) & (newest.c.reader == heads.c.reader))
        .outerjoin(
            head_moves,
            same_session(head_moves, heads)
            & (head_moves.c.reader == heads.c.reader)
            & (head_moves.c.number == newest.c.number),
        )
        .where(
            sa.or_(
                head_moves.c.position.is_distinct_from(heads.c.position),
                head_moves.c.summary_id.is_distinct_from(heads.c.summary_id),
            )
        ),
    )
    noted = (
        (summary_states.c.tenant_id == summaries.c.tenant_id)
        & (summary_states.c.summary_id == summaries.c.id)
        & (summary_states.c.status == summaries.c.status)
    )
    yield (
        "versions whose status was never noted",
        sa.select(summaries.c.id).outerjoin(summary_states, noted).where(summary_states.c.status.is_(None)),
    )


def stale_breaches() -> Iterator[Breach]:
    """I9: a stale version that is served is being made again, or somebody can see that this failed."""
    remade = sa.exists().where(
        same_session(jobs, heads),
        jobs.c.kind == JobKind.REBUILD.value,
        jobs.c.state.in_([JobState.QUEUED.value, JobState.RUNNING.value, JobState.FAILED.value]),
    )
    yield (
        "sessions that serve a stale version which nobody makes again",
        sa.select(heads.c.session_uid)
        .join(summaries, (summaries.c.tenant_id == heads.c.tenant_id) & (summaries.c.id == heads.c.summary_id))
        .where(
            summaries.c.status == SummaryStatus.STALE.value,
            heads.c.reader == sa.literal(live_reader("")) + summaries.c.strategy,
            ~remade,
        ),
    )


def wrong_deleted(connection: sa.Connection, row: SessionRow) -> str | None:
    """The session's own account of what is deleted, against its messages; None if they agree."""
    seqs = connection.execute(
        sa.select(messages.c.seq).where(
            messages.c.tenant_id == row.key.tenant, messages.c.session_uid == row.id, messages.c.deleted
        )
    ).scalars()
    found = union(SeqRange(seq, seq + 1) for seq in seqs)
    if found == row.deleted:
        return None
    said, true = (", ".join(map(str, spans)) or "nothing" for spans in (row.deleted, found))
    return f"it remembers that {said} is deleted, of its messages {true} is"
