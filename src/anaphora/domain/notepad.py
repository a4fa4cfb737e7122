"""The notepad: what an agent makes of its sessions with a user, page after page (seed 003)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Trust
from anaphora.domain.summaries import Method


class PageAction(StrEnum):
    """How a page came to be."""

    #: written at the end of a session, from its topics and the page before
    REFLECTED = "reflected"
    #: written by the user
    EDITED = "edited"
    #: an earlier page again
    REVERTED = "reverted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One version of a notepad, whole. The newest is what the notepad says."""

    user: str
    agent: str
    #: counts up from 1
    version: int
    action: PageAction
    #: empty: everything was taken out
    text: str
    tokens: int
    #: of a page that was reflected: the session, and the messages of it that were read
    session: SessionKey | None = None
    session_id: UUID | None = None
    range: SeqRange | None = None
    #: of a page that was reflected: how, by whom, and how it was asked
    method: Method | None = None
    model: str | None = None
    prompt_version: str | None = None
    trust: Trust
    #: the version that a page that was reverted says again
    restores: int | None = None
    created_at: datetime
