"""Documents of an export as they are read, and whether they are some that a store can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

from anaphora.domain.document_records import DocumentRecord
from anaphora.domain.documents import hash_of, owner_of
from anaphora.errors import InvalidInput
from anaphora.services.importing.pieces import Documents
from anaphora.services.tally import Tally

#: characters of the documents of one piece
_BLOCK_CHARS: Final = 1 << 20
_BLOCK: Final = 100


class DocumentLines:
    """Takes documents in, in order, and hands them out in blocks."""

    def __init__(self, lengths: Mapping[tuple[str, str, str], int], tally: Tally) -> None:
        self._lengths = lengths
        self._tally = tally
        self._waiting: list[tuple[int, DocumentRecord]] = []
        self._chars = 0
        self._last: UUID | None = None
        self._known: set[tuple[tuple[str, ...], str]] = set()
        #: whose documents there are
        self.users: set[str] = set()

    @property
    def begun(self) -> bool:
        """A document was read: nothing else may follow."""
        return self._last is not None

    def add(self, record: DocumentRecord, line: int) -> Iterator[Documents]:
        """Take a document in; a block that is full by that is handed out.

        Raises:
            InvalidInput: it is out of order, or there is another that is known by the same.

        """
        if self._last is not None and record.id <= self._last:
            raise InvalidInput("id: documents stand in the order of their ids")
        self._check(record)
        self._last = record.id
        self._tally.documents += 1
        owner = owner_of(tuple(record.namespace))
        if owner is not None:
            self.users.add(owner)
        self._waiting.append((line, record))
        self._chars += len(record.content)
        if len(self._waiting) >= _BLOCK or self._chars >= _BLOCK_CHARS:
            yield from self.flush()

    def flush(self) -> Iterator[Documents]:
        """What waits, handed out."""
        waiting, self._waiting, self._chars = tuple(self._waiting), [], 0
        if waiting:
            yield Documents(documents=waiting)

    def _check(self, record: DocumentRecord) -> None:
        if not record.content.strip():
            raise InvalidInput("content: a document says something")
        place = (tuple(record.namespace), f"key:{record.key}" if record.key is not None else hash_of(record.content))
        if place in self._known:
            raise InvalidInput("key: another document of the namespace has it, or says the same")
        self._known.add(place)
        parts = (record.user, record.agent, record.session)
        if any((part is None) != (record.range is None) for part in parts):
            raise InvalidInput("range: a document that was made of messages names their user, agent and session")
        if record.range is not None:
            length = self._lengths.get((record.user or "", record.agent or "", record.session or ""), 0)
            if not record.range or record.range.stop > length:
                raise InvalidInput("range: expected messages of a session of this export")
