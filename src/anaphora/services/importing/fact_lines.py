"""Subjects and facts of an export as they are read, and what one of their records says of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from anaphora.domain.fact_records import FactRecord, FactSourceRecord, FactVersionRecord, SubjectRecord
from anaphora.domain.facts import FactState, Visibility
from anaphora.domain.messages import Trust
from anaphora.errors import InvalidInput
from anaphora.rules.text import one_line
from anaphora.services.importing.pieces import BLOCK, KnownFact, KnownFacts, Subjects
from anaphora.services.tally import Tally

_Place = tuple[str, str, int]


@dataclass(slots=True)
class _Fact:
    """The fact that is being read."""

    fact: FactRecord
    line: int
    versions: list[FactVersionRecord] = field(default_factory=list)
    sources: list[FactSourceRecord] = field(default_factory=list)

    def check_versions(self) -> None:
        if len(self.versions) != self.fact.version - 1:
            raise InvalidInput(f"earlier versions of fact {self.fact.id} are missing")


class FactLines:
    """Puts the records behind the receipts together. One fact is whole in memory, and a block of them."""

    def __init__(self, lengths: Mapping[tuple[str, str, str], int], tally: Tally) -> None:
        self._lengths = lengths
        self._tally = tally
        self._subjects: list[tuple[int, SubjectRecord]] = []
        self._last_subject = ""
        self._last_fact: UUID | None = None
        self._fact: _Fact | None = None
        self._facts: list[KnownFact] = []
        self._weight = 0
        #: whose facts there are
        self.owners: set[str] = set()

    @property
    def begun(self) -> bool:
        """A subject or a fact was read: nothing of sessions may follow."""
        return bool(self._last_subject) or self._last_fact is not None

    def add_subject(self, record: SubjectRecord, line: int) -> Iterator[Subjects]:
        """Take a subject in."""
        if record.id <= self._last_subject or self._last_fact is not None:
            raise InvalidInput("id: subjects stand in the order of their ids, before all facts")
        if record.members != sorted(set(record.members)) or record.owner not in record.members:
            raise InvalidInput("members: expected in order, each once, and the owner among them")
        if one_line(record.name) != record.name:
            raise InvalidInput("name: expected one line, without blanks at its ends")
        self._last_subject = record.id
        self._subjects.append((line, record))
        self._tally.subjects += 1
        if len(self._subjects) >= BLOCK:
            yield from self._flush_subjects()

    def add_fact(self, record: FactRecord, line: int) -> Iterator[Subjects | KnownFacts]:
        """Take a fact in; what is complete by that is handed out."""
        yield from self._flush_subjects()
        yield from self._close()
        if self._last_fact is not None and record.id <= self._last_fact:
            raise InvalidInput("id: facts stand in the order of their ids")
        if record.superseded_by is not None and record.state is not FactState.CLOSED:
            raise InvalidInput("superseded_by: expected of closed facts only")
        if record.state is FactState.ASIDE:
            _check_aside(record)
        if record.visibility is Visibility.SHARED and record.subject is None:
            raise InvalidInput("visibility: only facts about a subject are shared")
        if record.restores is not None and record.restores >= record.version:
            raise InvalidInput("restores: expected an earlier version")
        self._last_fact = record.id
        self._fact = _Fact(record, line)
        self.owners.add(record.owner)
        self._tally.facts += 1

    def add_version(self, record: FactVersionRecord) -> None:
        """Take an earlier version of the fact in."""
        known = self._current(record.fact)
        number = len(known.versions) + 1
        if known.sources or record.version != number or number >= known.fact.version:
            raise InvalidInput(f"version: fact {record.fact} has others")
        if record.restores is not None and record.restores >= record.version:
            raise InvalidInput("restores: expected an earlier version")
        known.versions.append(record)
        self._tally.fact_versions += 1

    def add_source(self, record: FactSourceRecord) -> None:
        """Take a source of the fact in."""
        known = self._current(record.fact)
        known.check_versions()
        if known.sources and _place(record) <= _place(known.sources[-1]):
            raise InvalidInput("seq: sources stand in the order of agent, session and number")
        length = self._lengths.get((known.fact.owner, record.agent, record.session), 0)
        if record.seq >= length:
            raise InvalidInput("seq: expected a message of the owner in a session of this export")
        if record.seq not in record.range or record.range.stop > length:
            raise InvalidInput("range: expected messages of the session, and the source among them")
        known.sources.append(record)
        self._tally.fact_sources += 1

    def flush(self) -> Iterator[Subjects | KnownFacts]:
        """All that waits, handed out."""
        yield from self._flush_subjects()
        yield from self._close()
        if self._facts:
            yield KnownFacts(facts=tuple(self._facts))
            self._facts, self._weight = [], 0

    def _current(self, fact_id: UUID) -> _Fact:
        if self._fact is None or self._fact.fact.id != fact_id:
            raise InvalidInput("fact: it belongs to the fact before")
        return self._fact

    def _flush_subjects(self) -> Iterator[Subjects]:
        if self._subjects:
            yield Subjects(subjects=tuple(self._subjects))
            self._subjects = []

    def _close(self) -> Iterator[KnownFacts]:
        """The fact is whole."""
        known, self._fact = self._fact, None
        if known is None:
            return
        known.check_versions()
        whole = KnownFact(
            line=known.line, fact=known.fact, versions=tuple(known.versions), sources=tuple(known.sources)
        )
        if self._facts and self._weight + whole.weight > BLOCK:
            yield KnownFacts(facts=tuple(self._facts))
            self._facts, self._weight = [], 0
        self._facts.append(whole)
        self._weight += whole.weight


def _check_aside(record: FactRecord) -> None:
    if record.doubt is None:
        raise InvalidInput("doubt: facts that are set aside say why")
    if record.pinned or record.trust is Trust.OWNER_CONFIRMED:
        raise InvalidInput("state: what its owner pinned or stands for is not set aside")


def _place(record: FactSourceRecord) -> _Place:
    return record.agent, record.session, record.seq
