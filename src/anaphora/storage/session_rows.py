"""Sessions as rows, and rows as sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.ports.rows import SessionRow
from anaphora.storage.tables import sessions

SESSION_COLUMNS = (
    sessions.c.id,
    sessions.c.tenant_id,
    sessions.c.user_id,
    sessions.c.agent_id,
    sessions.c.session_id,
    sessions.c.strategy,
    sessions.c.subject,
    sessions.c.head,
    sessions.c.turns,
    sessions.c.turn_starts,
    sessions.c.turn_finished,
    sessions.c.tokens,
    sessions.c.epoch,
    sessions.c.created_at,
    sessions.c.updated_at,
    sessions.c.ended_at,
    sessions.c.deleted,
    sessions.c.keep_days,
    sessions.c.expired_at,
)


def session_row(row: Sequence[Any]) -> SessionRow:
    """The session in a row of `SESSION_COLUMNS`."""
    uid, tenant, user, agent, session, strategy, subject, head, turns, starts, finished, tokens, epoch, *rest = row
    created_at, updated_at, ended_at, deleted, keep_days, expired_at = rest
    return SessionRow(
        id=uid,
        key=SessionKey(tenant=tenant, user=user, agent=agent, session=session),
        strategy=strategy,
        subject=subject,
        head=head,
        turns=turns,
        turn_starts=tuple(starts),
        turn_finished=finished,
        tokens=tokens,
        epoch=epoch,
        created_at=created_at,
        updated_at=updated_at,
        ended_at=ended_at,
        deleted=tuple(SeqRange(start, stop) for start, stop in deleted),
        keep_days=keep_days,
        expired_at=expired_at,
    )
