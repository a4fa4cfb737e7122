"""What must hold of notepads, as questions to the database."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from anaphora.domain.messages import Trust
from anaphora.domain.notepad import PageAction
from anaphora.services.settings import NOTEPAD_READER
from anaphora.storage.laws import Breach, Law, of_session, same_session
from anaphora.storage.tables import heads, sessions
from anaphora.storage.topic_tables import notepad_pages as pages


def notepad_laws() -> tuple[Law, ...]:
    """The laws of notepads."""
    return (
        Law(
            id="notepads",
            name="every page of a notepad has what it was made of",
            table=pages,
            breaches=(*_reflected(), *_by_hand()),
        ),
    )


def _reflected() -> Iterator[Breach]:
    which = sa.select(_name())
    yield (
        "pages that were made of somebody else's session",
        which.join(sessions, of_session(pages)).where(
            sa.or_(sessions.c.user_id != pages.c.user_id, sessions.c.agent_id != pages.c.agent_id)
        ),
    )
    reader = same_session(heads, pages) & (heads.c.reader == NOTEPAD_READER)
    yield (
        "pages that were made of what was not read yet",
        which.outerjoin(heads, reader).where(
            pages.c.session_uid.is_not(None), sa.func.coalesce(heads.c.position, 0) < pages.c.stop
        ),
    )
    yield (
        "pages that do not say which messages they were made of",
        which.where(
            pages.c.action == PageAction.REFLECTED.value,
            sa.or_(
                pages.c.start.is_(None), pages.c.stop.is_(None), pages.c.start >= pages.c.stop, pages.c.method.is_(None)
            ),
        ),
    )


def _by_hand() -> Iterator[Breach]:
    which = sa.select(_name())
    other = pages.alias("other")
    same = sa.select(sa.literal(1)).where(
        other.c.tenant_id == pages.c.tenant_id,
        other.c.user_id == pages.c.user_id,
        other.c.agent_id == pages.c.agent_id,
        other.c.version == pages.c.restores,
        other.c.version < pages.c.version,
        other.c.text == pages.c.text,
    )
    yield (
        "pages that bring back what never was",
        which.where(pages.c.action == PageAction.REVERTED.value, ~same.exists()),
    )
    yield (
        "pages that bring something back and do not say so",
        which.where(pages.c.action != PageAction.REVERTED.value, pages.c.restores.is_not(None)),
    )
    yield (
        "pages of a user that the user does not stand for",
        which.where(pages.c.action == PageAction.EDITED.value, pages.c.trust != Trust.OWNER_CONFIRMED.value),
    )


def _name() -> sa.ColumnElement[str]:
    """A page, for people."""
    version = sa.cast(pages.c.version, sa.Text)
    return pages.c.user_id + sa.literal(" with ") + pages.c.agent_id + sa.literal(", version ") + version
