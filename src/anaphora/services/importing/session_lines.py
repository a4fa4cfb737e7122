"""The session of an export that is being read, and what one of its records says of another."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final
from uuid import UUID

from anaphora.domain.fact_records import ChunkRecord
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Role
from anaphora.domain.records import MessageRecord, MoveRecord, SessionRecord, SummaryRecord, VersionRecord
from anaphora.domain.summaries import Point, SummaryStatus, check_tiling
from anaphora.domain.topic_records import TopicRecord
from anaphora.errors import InvalidInput
from anaphora.ports.exchange import Entry
from anaphora.rules.admission import check_size, new_message
from anaphora.services.importing.pieces import BLOCK, Piece
from anaphora.services.importing.topic_lines import TopicLines
from anaphora.services.settings import NOTEPAD_READER, live_reader
from anaphora.services.tally import Tally
from anaphora.strategies.batch_extraction import BatchExtraction
from anaphora.strategies.topics import Topics

#: characters after which a piece ends
_BLOCK_CHARS: Final = 4 << 20
_SERVED = frozenset({SummaryStatus.COMPLETED, SummaryStatus.STALE})
#: who reads for facts keeps chunks, who follows topics keeps those, who reflects writes pages: none makes versions
_DOES: Final = {
    live_reader(BatchExtraction().name): "reads for facts",
    live_reader(Topics().name): "follows topics",
    NOTEPAD_READER: "reflects",
}
_READS_FOR_FACTS: Final = live_reader(BatchExtraction().name)
_FOLLOWS: Final = live_reader(Topics().name)


class SessionLines:
    """Puts the records of one session together: a block of messages, and all that was derived, in memory."""

    def __init__(self, about: SessionRecord, line: int, tally: Tally, max_message_bytes: int) -> None:
        self._about = about
        self._line = line
        self._tally = tally
        self._max_message_bytes = max_message_bytes
        #: messages of pieces that were handed out
        self._start = 0
        self._entries: list[Entry] = []
        self._chars = 0
        #: of the last message
        self._turn = 0
        self._chain: list[SummaryRecord] = []
        self._by_id: dict[UUID, SummaryRecord] = {}
        self._served: set[tuple[str, SeqRange]] = set()
        self._chunks: list[ChunkRecord] = []
        self._chunk_ids: set[UUID] = set()
        self._topics = TopicLines(about.messages)
        self._moves: list[MoveRecord] = []
        #: how far the session was read by those who only go on
        self._read_to = dict.fromkeys(_DOES, 0)

    @property
    def _count(self) -> int:
        """Messages that were read."""
        return self._start + len(self._entries)

    @property
    def _derived(self) -> bool:
        """The messages are over."""
        return bool(self._chain or self._chunks or self._topics.stop or self._moves)

    def add_message(self, record: MessageRecord, chars: int) -> Iterator[Piece]:
        """Take a message in; a block that is full by then is handed out."""
        self._check_versions()
        if record.seq != self._count or record.seq >= self._about.messages or self._derived:
            raise InvalidInput(f"seq: expected message {self._count} of {self._about.messages}")
        if record.turn != record.seq and (record.seq == 0 or record.turn != self._turn):
            raise InvalidInput("turn: expected the turn of the message before, or a new one that begins here")
        if (record.version > 1) != (record.changed_at is not None):
            raise InvalidInput("changed_at: expected for versions after the first, and only there")
        if record.erased and not record.deleted:
            raise InvalidInput("erased: what is erased is deleted")
        if record.deleted:
            if record.version == 1 or record.content or record.parts or record.name is not None or record.tokens:
                raise InvalidInput("deleted: what is deleted was said before, and says nothing any more")
            new_message(record.role, "-", metadata=record.metadata, created_at=record.created_at)
        else:
            self._check_said(record, record.role, record.created_at)
        if len(self._entries) >= BLOCK or self._chars >= _BLOCK_CHARS:
            yield self._piece(last=False)
        if record.deleted:
            self._topics.note_deleted(record.seq)
        self._turn = record.turn
        self._entries.append(Entry(message=record))
        self._chars += chars
        self._tally.messages += 1

    def add_version(self, record: VersionRecord, chars: int) -> None:
        """Take an earlier version of the last message in."""
        if not self._entries or self._derived:
            raise InvalidInput("it belongs to no message")
        entry = self._entries[-1]
        number = len(entry.versions) + 1
        if (record.seq, record.version) != (entry.message.seq, number) or number >= entry.message.version:
            raise InvalidInput(f"version: message {entry.message.seq} has others")
        if not record.seq < record.replaced_head <= self._about.messages:
            raise InvalidInput("replaced_head: expected a length that the session had")
        self._check_said(record, entry.message.role, entry.message.created_at)
        self._entries[-1] = Entry(message=entry.message, versions=(*entry.versions, record))
        self._chars += chars
        self._tally.versions += 1

    def add_summary(self, record: SummaryRecord) -> None:
        """Take a version of a summary in."""
        self._check_complete()
        if self._chunks or self._topics.stop or self._moves:
            raise InvalidInput("summaries stand before chunks, topics and the moves of readers")
        self._check_summary(record)
        self._chain.append(record)
        self._by_id[record.id] = record
        self._tally.summaries += 1

    def add_chunk(self, record: ChunkRecord) -> None:
        """Take a chunk in."""
        self._check_complete()
        if self._topics.stop or self._moves:
            raise InvalidInput("chunks stand before topics and the moves of readers")
        before = self._chunks[-1].range.stop if self._chunks else 0
        if not record.range or not before <= record.range.start or record.range.stop > self._about.messages:
            raise InvalidInput("range: expected messages of this session behind those of the chunk before")
        if record.id in self._chunk_ids:
            raise InvalidInput("id: another chunk has it")
        self._chunks.append(record)
        self._chunk_ids.add(record.id)
        self._tally.chunks += 1

    def add_topic(self, record: TopicRecord) -> None:
        """Take a topic in."""
        self._check_complete()
        if self._moves:
            raise InvalidInput("topics stand before the moves of readers")
        self._topics.add(record)
        self._tally.topics += 1

    def add_move(self, record: MoveRecord) -> None:
        """Take a move of a reader in."""
        self._check_complete()
        if self._moves and record.reader < self._moves[-1].reader:
            raise InvalidInput("reader: moves stand in the order of their readers")
        if record.reader in self._read_to:
            self._check_reading(record)
            self._read_to[record.reader] = record.position
        else:
            summary = self._by_id.get(record.summary_id) if record.summary_id is not None else None
            unknown = (summary is None) != (record.summary_id is None)
            if unknown or record.position != (summary.range.stop if summary else 0):
                raise InvalidInput("position: expected the end of a version of this session")
        if not record.position <= record.log_head <= self._about.messages:
            raise InvalidInput("log_head: expected a length that the session had")
        self._moves.append(record)
        self._tally.moves += 1

    def close(self) -> Iterator[Piece]:
        """The session is over: all that waits, handed out."""
        self._check_complete()
        last = {move.reader: self._by_id[move.summary_id] for move in self._moves if move.summary_id is not None}
        for reader, summary in last.items():
            if reader == live_reader(summary.strategy) and summary.status not in _SERVED:
                raise InvalidInput("the session before serves a version that is not completed")
        if self._chunks and self._chunks[-1].range.stop > self._read_to[_READS_FOR_FACTS]:
            raise InvalidInput("the session before has a chunk of messages that nobody has read for facts")
        if self._topics.stop > self._read_to[_FOLLOWS]:
            raise InvalidInput("the session before has a topic of messages that nobody has followed")
        yield self._piece(last=True)

    def _piece(self, *, last: bool) -> Piece:
        made = Piece(
            about=self._about,
            line=self._line,
            start=self._start,
            entries=tuple(self._entries),
            last=last,
            chain=tuple(self._chain),
            chunks=tuple(self._chunks),
            topics=self._topics.topics,
            moves=tuple(self._moves),
        )
        self._start, self._entries, self._chars = self._count, [], 0
        return made

    def _check_said(self, record: MessageRecord | VersionRecord, role: Role, created_at: datetime) -> None:
        said = new_message(
            role,
            record.content,
            name=record.name,
            parts=record.parts,
            metadata=record.metadata,
            created_at=created_at,
        )
        check_size(said, self._max_message_bytes)

    def _check_versions(self) -> None:
        last = self._entries[-1] if self._entries else None
        if last is not None and len(last.versions) != (0 if last.message.erased else last.message.version - 1):
            raise InvalidInput(f"earlier versions of message {self._count - 1} are missing")

    def _check_complete(self) -> None:
        self._check_versions()
        if self._count != self._about.messages:
            raise InvalidInput(
                f"messages of the session are missing: {self._count} of {self._about.messages} are there"
            )

    def _check_summary(self, record: SummaryRecord) -> None:
        before = self._chain[-1] if self._chain else None
        if before is not None and (record.strategy, record.version) <= (before.strategy, before.version):
            raise InvalidInput("version: summaries stand in the order of strategy and version")
        base = self._by_id.get(record.base_id) if record.base_id is not None else None
        if record.base_id is not None and (base is None or base.strategy != record.strategy):
            raise InvalidInput("base_id: expected an earlier version of this session and strategy")
        if record.range.stop > self._about.messages:
            raise InvalidInput("range: expected messages of this session")
        check_tiling(
            tuple(Point(text=point.text, range=point.range, elided=tuple(point.elided)) for point in record.points),
            record.range,
        )
        reached = [state.status for state in record.states]
        if record.status not in reached or len(set(reached)) != len(reached):
            raise InvalidInput("states: expected each status once, and that of the version among them")
        if any(state.log_head > self._about.messages for state in record.states):
            raise InvalidInput("states: expected lengths that the session had")
        if record.status is SummaryStatus.COMPLETED:
            if (record.strategy, record.range) in self._served:
                raise InvalidInput("range: another completed version has it")
            self._served.add((record.strategy, record.range))

    def _check_reading(self, record: MoveRecord) -> None:
        does = _DOES[record.reader]
        if record.summary_id is not None:
            raise InvalidInput(f"summary_id: who {does} makes no versions")
        if record.position <= self._read_to[record.reader]:
            raise InvalidInput(f"position: who {does} only goes on")
