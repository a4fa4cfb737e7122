"""Subjects and facts of an export into a store. By an import nobody gains access to anything.

A subject that is here stays as it is: who was removed from it is no member again. Facts about another subject of the
same name stay out; and a fact stays shared only with the subject that it was shared with.

A fact that is here stays as it is, and one that its owner has deleted here stays deleted. Where the owner has another
fact that says the same, that one gets the sources. A source comes only where its message says what it said: what was
edited or deleted here since is not quoted again, and a fact that nothing speaks for any more stays out.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from uuid import UUID

from anaphora.domain.fact_records import FactSourceRecord
from anaphora.domain.facts import Fact, FactState, FactVersion, Source, Subject, Visibility
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Trust
from anaphora.ports.exchange import FactEntry, Said
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.rules.erasure import mark_of_fact
from anaphora.rules.facts.tombstones import is_buried
from anaphora.rules.language.words import terms
from anaphora.services.importing.erased import Gone
from anaphora.services.importing.pieces import KnownFact, KnownFacts, Subjects
from anaphora.services.importing.restoring import Outcome, Run
from anaphora.services.importing.values import BadFile
from anaphora.services.upkeep import key_of

_TOMBS: Final = 2_000
#: facts that are put right at once
_LOOSE: Final = 500
_BELIEVED = (FactState.ACTIVE, FactState.REVIEW)
#: owner, subject (`""`: the owner) and content key
_Saying: TypeAlias = tuple[str, str, str]


def settle_subjects(unit: Unit, gone: Gone, item: Subjects, *, write: bool) -> Outcome:
    """Make those that are not there; one of the same name that somebody else owns is another one.

    With a user given, only the user's own are made: nobody else has agreed to anything.
    """
    run = gone.run
    complaint: BadFile | None = None
    needed = False
    erased = 0
    for line, record in item.subjects:
        owner = run.called(record.owner)
        if gone.owner(record.owner, None, record.created_at):
            erased += 1
            continue
        here = unit.subjects.get(run.tenant, record.id)
        if here is None and run.user in {None, owner}:
            needed = True
            if write:
                there = (member for member in record.members if not gone.owner(member, None, record.created_at))
                members = dict.fromkeys(map(run.called, there))
                made = Subject(
                    id=record.id, name=record.name, owner=owner, created_at=record.created_at, members=tuple(members)
                )
                unit.subjects.create(run.tenant, made)
                here = unit.subjects.get(run.tenant, record.id)
        if here is not None and here.owner != owner:
            complaint = complaint or _another(run, record.id, line)
    return Outcome(complaint=complaint, needed=needed, erased=erased)


def settle_facts(unit: Unit, gone: Gone, item: KnownFacts, *, write: bool) -> Outcome:
    """Write those that are missing, and sources that are missing of what says the same; or see whether any are."""
    run, marks = gone.run, gone.facts(item.facts)
    sound = [known for known in item.facts if not _is_erased(gone, marks, known)]
    if write:
        for owner in sorted({run.called(known.fact.owner) for known in item.facts}):
            unit.facts.alone(run.tenant, owner)
    there = unit.exchange.fact_owners(run.tenant, [known.fact.id for known in item.facts])
    complaint = next(
        (
            _of_another(run, known)
            for known in sound
            if there.get(known.fact.id, run.called(known.fact.owner)) != run.called(known.fact.owner)
        ),
        None,
    )
    batch = _Batch(unit, run, [known for known in sound if known.fact.id not in there])
    for known in batch.facts:
        batch.take(known)
    sources = batch.missing_sources()
    if write:
        unit.exchange.add_facts(run.tenant, batch.entries)
        unit.exchange.add_sources(run.tenant, sources)
    erased = len(item.facts) - len(sound)
    return Outcome(complaint=complaint, needed=bool(batch.entries or sources), erased=erased)


def _is_erased(gone: Gone, marks: Container[str], known: KnownFact) -> bool:
    fact = known.fact
    return mark_of_fact(gone.run.secret, fact.id) in marks or gone.owner(fact.owner, fact.agent, fact.created_at)


def settle_successors(unit: Unit, run: Run, *, write: bool) -> bool:
    """Whether facts name others that stayed out; with `write`, they do so no longer."""
    found = unit.exchange.without_successor(run.tenant, run.user, limit=_LOOSE)
    while write and found:
        unit.exchange.forget_successors(run.tenant, found)
        found = unit.exchange.without_successor(run.tenant, run.user, limit=_LOOSE)
    return bool(found)


@dataclass(slots=True)
class _Batch:
    """Facts that are not here, and what is here of what they speak of."""

    unit: Unit
    run: Run
    facts: Sequence[KnownFact]
    entries: list[FactEntry] = field(default_factory=list)
    #: of facts that say the same
    sources: list[tuple[UUID, Source]] = field(default_factory=list)
    _rows: dict[SessionKey, SessionRow | None] = field(default_factory=dict)
    _said: Mapping[tuple[UUID, int], Said] = field(default_factory=dict)
    _saying: dict[_Saying, UUID] = field(default_factory=dict)
    _subjects: dict[str, Subject | None] = field(default_factory=dict)
    _tombs: dict[tuple[str, str], list[Sequence[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tenant = self.run.tenant
        named = sorted({self._key(known, source) for known in self.facts for source in known.sources}, key=_names)
        self._rows = {key: self.unit.sessions.find(key) for key in named}
        places = {
            (row.id, source.seq)
            for known in self.facts
            for source in known.sources
            if (row := self._rows[self._key(known, source)]) is not None
        }
        self._said = self.unit.exchange.said(tenant, sorted(places))
        wanted = {self._content(known) for known in self.facts if known.fact.state in _BELIEVED}
        self._saying = dict(self.unit.exchange.facts_saying(tenant, sorted(wanted)))

    def take(self, known: KnownFact) -> None:
        """Decide what becomes of one fact."""
        record = known.fact
        owner, subject = self.run.called(record.owner), record.subject or ""
        sources = tuple(self._sources(known))
        if known.sources and not sources and record.trust is not Trust.OWNER_CONFIRMED:
            return
        if self._is_of_another_subject(subject) or self._is_buried(owner, subject, record.content):
            return
        content = self._content(known)
        if record.state in _BELIEVED:
            same = self._saying.setdefault(content, record.id)
            if same != record.id:
                self.sources.extend((same, source) for source in sources)
                return
        self.entries.append(self._entry(known, owner, content[2], sources))

    def missing_sources(self) -> Sequence[tuple[UUID, Source]]:
        """Those of facts that say the same which they do not have yet."""
        own = {entry.fact.id for entry in self.entries}
        known = self.unit.exchange.known_sources(
            self.run.tenant, [(uid, source.session_id, source.seq) for uid, source in self.sources if uid not in own]
        )
        known |= {(entry.fact.id, s.session_id, s.seq) for entry in self.entries for s in entry.fact.sources}
        missing: dict[tuple[UUID, UUID, int], Source] = {}
        for uid, source in self.sources:
            if (uid, source.session_id, source.seq) not in known:
                missing.setdefault((uid, source.session_id, source.seq), source)
        return [(uid, source) for (uid, _, _), source in missing.items()]

    def _key(self, known: KnownFact, source: FactSourceRecord) -> SessionKey:
        user = self.run.called(known.fact.owner)
        return SessionKey(tenant=self.run.tenant, user=user, agent=source.agent, session=source.session)

    def _content(self, known: KnownFact) -> _Saying:
        record = known.fact
        return self.run.called(record.owner), record.subject or "", key_of(record.content)

    def _sources(self, known: KnownFact) -> Iterable[Source]:
        """Those whose messages say here what they said there."""
        for record in known.sources:
            row = self._rows[self._key(known, record)]
            said = self._said.get((row.id, record.seq)) if row is not None else None
            if row is None or said is None or said.deleted:
                continue
            if (said.id, said.version) == (record.message_id, record.version):
                yield _source(record, row)

    def _is_of_another_subject(self, subject: str) -> bool:
        here = self._subject(subject) if subject in self.run.subjects else None
        return here is not None and here.owner != self.run.subjects[subject]

    def _is_buried(self, owner: str, subject: str, content: str) -> bool:
        if (owner, subject) not in self._tombs:
            found = self.unit.facts.tombstones(self.run.tenant, owner, subject, limit=_TOMBS)
            self._tombs[owner, subject] = [marks for _, marks in found]
        tombs = self._tombs[owner, subject]
        return bool(tombs) and is_buried(self.run.secret, content, tombs)

    def _is_shared(self, owner: str, subject: str) -> bool:
        """The subject here is the one that the export speaks of; with a user given, the user may share with it."""
        here = self._subject(subject)
        if here is None or here.owner != self.run.subjects.get(subject):
            return False
        return self.run.user is None or owner in here.members

    def _subject(self, subject: str) -> Subject | None:
        if subject not in self._subjects:
            self._subjects[subject] = self.unit.subjects.get(self.run.tenant, subject)
        return self._subjects[subject]

    def _entry(self, known: KnownFact, owner: str, key: str, sources: tuple[Source, ...]) -> FactEntry:
        record = known.fact
        visibilities = {record.visibility, *(version.visibility for version in known.versions)}
        shared = Visibility.SHARED in visibilities and self._is_shared(owner, record.subject or "")

        def visible(visibility: Visibility) -> Visibility:
            return visibility if shared else Visibility.PRIVATE

        fact = Fact(
            id=record.id,
            owner=owner,
            agent=record.agent,
            subject=record.subject,
            category=record.category,
            content=record.content,
            importance=record.importance,
            visibility=visible(record.visibility),
            state=record.state,
            pinned=record.pinned,
            trust=record.trust,
            doubt=record.doubt,
            valid_from=record.valid_from,
            valid_to=record.valid_to,
            superseded_by=record.superseded_by,
            version=record.version,
            created_at=record.created_at,
            updated_at=record.updated_at,
            sources=sources,
        )
        versions = tuple(
            FactVersion(
                version=each.version,
                action=each.action,
                at=each.at,
                category=each.category,
                content=each.content,
                importance=each.importance,
                visibility=visible(each.visibility),
                state=each.state,
                pinned=each.pinned,
                trust=each.trust,
                doubt=each.doubt,
                valid_to=each.valid_to,
                superseded_by=each.superseded_by,
                restores=each.restores,
            )
            for each in known.versions
        )
        return FactEntry(
            fact=fact,
            action=record.action,
            restores=record.restores,
            versions=versions,
            key=key,
            terms=terms(record.content),
        )


def _source(record: FactSourceRecord, row: SessionRow) -> Source:
    return Source(
        session_id=row.id,
        key=row.key,
        seq=record.seq,
        message_id=record.message_id,
        quote=record.quote,
        range=record.range,
        trust=record.trust,
        model=record.model,
        prompt_version=record.prompt_version,
        learned_at=record.learned_at,
    )


def _names(key: SessionKey) -> tuple[str, str, str]:
    return key.user, key.agent, key.session


def _another(run: Run, subject: str, line: int) -> BadFile:
    return run.source.bad(
        f"there is another subject {subject!r} here: facts about it were left out; import them into another database "
        "or tenant",
        line=line,
    )


def _of_another(run: Run, known: KnownFact) -> BadFile:
    return run.source.bad(
        f"fact {known.fact.id} is here already, of another user: import a copy into another database or tenant",
        line=known.line,
    )
