"""The topics of the session that is being read, and whether they are some that a session can have."""

from __future__ import annotations

from bisect import bisect_right
from uuid import UUID

from anaphora.domain.keys import SeqRange
from anaphora.domain.topic_records import TopicRecord
from anaphora.domain.topics import OPENED_AFTER, Closed, Opened
from anaphora.errors import InvalidInput


class TopicLines:
    """Takes the topics of one session in, in order."""

    def __init__(self, messages: int) -> None:
        #: how many the session has
        self._messages = messages
        #: in order, neighbours together
        self._deleted: list[SeqRange] = []
        self._topics: list[TopicRecord] = []
        self._ids: set[UUID] = set()
        #: a topic of which nothing was left is gone: others may still name it
        self._has_gap = False

    @property
    def topics(self) -> tuple[TopicRecord, ...]:
        """Those that were taken in."""
        return tuple(self._topics)

    @property
    def stop(self) -> int:
        """Where the last of them ends."""
        return self._topics[-1].range.stop if self._topics else 0

    def note_deleted(self, seq: int) -> None:
        """A message of the session says nothing any more; they come in order, before all topics."""
        start = self._deleted.pop().start if self._deleted and self._deleted[-1].stop == seq else seq
        self._deleted.append(SeqRange(start, seq + 1))

    def add(self, record: TopicRecord) -> None:
        """Take a topic in.

        Raises:
            InvalidInput: it overlaps the one before, leaves out a message, or does not go on where that one ended.

        """
        span = record.range
        if not span or span.start < self.stop or span.stop > self._messages:
            raise InvalidInput("range: expected messages of this session behind those of the topic before")
        gap = SeqRange(self.stop, span.start)
        if gap and not self._is_deleted(gap):
            raise InvalidInput("range: messages between two topics are in none")
        self._has_gap |= bool(gap)
        if record.id in self._ids:
            raise InvalidInput("id: another topic has it")
        if not span.stop <= record.closed_head <= self._messages:
            raise InvalidInput("closed_head: expected a length that the session had")
        self._check_links(record, follows=not gap)
        _check_described(record, self._messages)
        self._topics.append(record)
        self._ids.add(record.id)

    def _is_deleted(self, span: SeqRange) -> bool:
        at = bisect_right(self._deleted, span.start, key=lambda deleted: deleted.start) - 1
        return at >= 0 and span.stop <= self._deleted[at].stop

    def _check_links(self, record: TopicRecord, *, follows: bool) -> None:
        before = self._topics[-1] if self._topics else None
        if (record.opened is Opened.FIRST) != (record.range.start == 0):
            raise InvalidInput("opened: expected `first` of the session's first topic, and of no other")
        if (record.opened is Opened.RETURN) != (record.continues is not None):
            raise InvalidInput("continues: expected of a topic that goes back to another, and only there")
        if (record.closed is Closed.RETURN) != (record.leads_to is not None):
            raise InvalidInput("leads_to: expected of a topic that ended with a return, and only there")
        if follows and before is not None:
            goes_on = (OPENED_AFTER[before.closed], before.leads_to)
            if (record.opened, record.continues) != goes_on:
                raise InvalidInput("opened: expected what the end of the topic before says")
        for name in ("continues", "leads_to"):
            named = getattr(record, name)
            if named is not None and (named == record.id or (named not in self._ids and not self._has_gap)):
                raise InvalidInput(f"{name}: expected an earlier topic of this session")


def _check_described(record: TopicRecord, messages: int) -> None:
    said = record.summary is not None
    parts = (record.described_at, record.described_head, record.method)
    if any((part is not None) != said for part in parts):
        raise InvalidInput("summary: expected with its method and when it was made, or none of these")
    if not said and (record.tokens or any((record.name, record.model, record.prompt_version))):
        raise InvalidInput("name: expected of a topic that is described, and of no other")
    if (record.described_head or 0) > messages:
        raise InvalidInput("described_head: expected a length that the session had")
