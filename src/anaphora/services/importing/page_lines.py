"""Notepads of an export as they are read, and what one of their pages says of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from anaphora.domain.messages import Trust
from anaphora.domain.notepad import PageAction
from anaphora.domain.notepad_records import PageRecord
from anaphora.errors import InvalidInput
from anaphora.services.importing.pieces import Notepad
from anaphora.services.tally import Tally


class PageLines:
    """Puts the pages of one notepad together: a notepad is whole in memory."""

    def __init__(self, lengths: Mapping[tuple[str, str, str], int], tally: Tally) -> None:
        self._lengths = lengths
        self._tally = tally
        self._line = 0
        self._pages: dict[int, PageRecord] = {}
        self._last: tuple[str, str, int] | None = None
        #: whose notepads there are
        self.users: set[str] = set()

    @property
    def begun(self) -> bool:
        """A page was read: nothing else may follow."""
        return self._last is not None

    def add(self, record: PageRecord, line: int) -> Iterator[Notepad]:
        """Take a page in; a notepad that is whole by that is handed out."""
        place = (record.user, record.agent, record.version)
        if self._last is not None and place <= self._last:
            raise InvalidInput("version: pages stand in the order of user, agent and version")
        if self._last is not None and place[:2] != self._last[:2]:
            yield from self.flush()
        self._check(record)
        self._line = self._line if self._pages else line
        self._last = place
        self._pages[record.version] = record
        self.users.add(record.user)
        self._tally.pages += 1

    def flush(self) -> Iterator[Notepad]:
        """What waits, handed out."""
        pages, self._pages = tuple(self._pages.values()), {}
        if pages:
            yield Notepad(line=self._line, user=pages[0].user, agent=pages[0].agent, pages=pages)

    def _check(self, record: PageRecord) -> None:
        reflected = record.action is PageAction.REFLECTED
        parts = (record.session, record.range, record.method)
        if any((part is not None) != reflected for part in parts):
            raise InvalidInput("action: a page that was reflected names session, range and method, and no other does")
        if record.session is not None and record.range is not None:
            length = self._lengths.get((record.user, record.agent, record.session), 0)
            if not record.range or record.range.stop > length:
                raise InvalidInput("range: expected messages of a session of the user and the agent in this export")
        if (record.restores is not None) != (record.action is PageAction.REVERTED):
            raise InvalidInput("restores: expected of pages that were reverted, and only there")
        if record.restores is not None:
            restored = self._pages.get(record.restores)
            if restored is None or restored.text != record.text:
                raise InvalidInput("restores: expected an earlier version of this notepad that says the same")
        if record.action is PageAction.EDITED and record.trust is not Trust.OWNER_CONFIRMED:
            raise InvalidInput("trust: the user stands for what the user wrote")
