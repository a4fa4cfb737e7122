"""The past of a session, as a store keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.domain.moments import AsOf, Moment
from anaphora.domain.summaries import Summary
from anaphora.ports.rows import Head, SessionRow


class History(Protocol):
    """The past of one session: what changed, when, and how long the log was then. Nothing here is a hot path."""

    def moment(self, row: SessionRow, as_of: AsOf) -> Moment | None:
        """The moment that is meant; None if that is now.

        Raises:
            InvalidInput: a number beyond the log, or a time without a zone.

        """
        ...

    def session(self, row: SessionRow, moment: Moment) -> SessionRow:
        """The session as it was: its head, turns, tokens, and what was deleted of it."""
        ...

    def newest(self, row: SessionRow, span: SeqRange, *, moment: Moment, limit: int) -> Sequence[Message]:
        """The last `limit` live messages of the range as they were, newest first."""
        ...

    def versions(self, tenant: str, session_id: UUID, span: SeqRange) -> Sequence[Message]:
        """The earlier versions of the messages of the range, by message, oldest first."""
        ...

    def head(self, tenant: str, session_id: UUID, reader: str, *, moment: Moment) -> Head:
        """Where the reader was."""
        ...

    def chain(
        self, tenant: str, session_id: UUID, *, strategy: str, moment: Moment, limit: int, before: int | None = None
    ) -> Sequence[Summary]:
        """The versions that there were, with the status that they had, newest first."""
        ...

    def summary(self, tenant: str, summary_id: UUID, *, moment: Moment) -> Summary | None:
        """A version with the status that it had; None if it was not there yet."""
        ...
