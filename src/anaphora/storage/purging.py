"""Taking out what is to be erased, and what was made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.changes import ChangeKind
from anaphora.domain.documents import Namespace, namespace_from
from anaphora.domain.erasure import ErasureKind, Target
from anaphora.domain.facts import Fact, FactAction
from anaphora.domain.jobs import JobState
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import IMPORT_MARK
from anaphora.ports.erasures import Place, Purged, Rooted
from anaphora.ports.rows import SessionRow
from anaphora.storage.access_tables import api_keys
from anaphora.storage.change_tables import changes
from anaphora.storage.document_filters import tells_of
from anaphora.storage.document_purging import documents_of
from anaphora.storage.document_tables import documents
from anaphora.storage.effects import Effects
from anaphora.storage.erasing import SqlPurgeMessages, told_in
from anaphora.storage.fact_rows import FACT_COLUMNS, fact_from
from anaphora.storage.fact_tables import (
    chunks,
    fact_sources,
    fact_tombstones,
    fact_versions,
    facts,
    subject_members,
    subjects,
)
from anaphora.storage.pause_tables import pauses
from anaphora.storage.session_rows import SESSION_COLUMNS, session_row
from anaphora.storage.tables import (
    jobs,
    message_vectors,
    message_versions,
    messages,
    receipts,
    sessions,
    summaries,
)
from anaphora.storage.topic_tables import notepad_pages, topics
from anaphora.storage.vectors import VectorSearch

#: ids of one kind that are listed
_LISTED: Final = 1_000
_COUNTED: Final = {
    "messages": messages,
    "versions": message_versions,
    "summaries": summaries,
    "chunks": chunks,
    "topics": topics,
    "vectors": message_vectors,
    "receipts": receipts,
    "jobs": jobs,
}
_NAMED: Final = frozenset({"messages", "summaries", "chunks", "topics"})


class SqlPurging(SqlPurgeMessages):
    """`ports.erasures.Purging` over one transaction."""

    def __init__(self, connection: sa.Connection, effects: Effects, vectors: VectorSearch) -> None:
        super().__init__(connection, effects)
        self._vectors = vectors

    def count(self, tenant: str, target: Target) -> tuple[Mapping[str, int], Mapping[str, Sequence[UUID]]]:
        """How many rows of each kind would go, and the ids of those that have one, a thousand at most of each."""
        counts: dict[str, int] = {}
        ids: dict[str, Sequence[UUID]] = {}
        for name, query in self._queries(tenant, target):
            counts[name] = self._run(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one()
            if "id" in query.selected_columns and counts[name]:
                of_kind = query.with_only_columns(query.selected_columns["id"]).limit(_LISTED)
                ids[name] = self._run(of_kind).scalars().all()
        return {name: count for name, count in counts.items() if count}, ids

    def place(self, tenant: str, message_id: UUID) -> tuple[SessionKey, int] | None:
        """Where a message stands, or None."""
        query = (
            sa.select(sessions.c.user_id, sessions.c.agent_id, sessions.c.session_id, messages.c.seq)
            .join(sessions, _of_session(messages))
            .where(messages.c.tenant_id == tenant, messages.c.id == message_id)
        )
        row = self._run(query).one_or_none()
        if row is None:
            return None
        return SessionKey(tenant=tenant, user=row.user_id, agent=row.agent_id, session=row.session_id), row.seq

    def sessions(self, tenant: str, target: Target, *, before: datetime, limit: int) -> Sequence[SessionRow]:
        """Sessions that are to go as a whole, if they were made before that, or hold messages that are to go."""
        query = (
            sa.select(*SESSION_COLUMNS)
            .where(*_sessions_of(tenant, target), sessions.c.created_at <= before)
            .order_by(sessions.c.id)
            .limit(limit)
        )
        return [session_row(row) for row in self._run(query)]

    def from_source(self, row: SessionRow, source: str, *, limit: int) -> Sequence[int]:
        """Numbers of messages of the session that came from the source and are not erased."""
        query = sa.select(messages.c.seq).where(
            *_in_session(messages, row), messages.c.source == source, sa.not_(messages.c.erased)
        )
        return self._run(query.order_by(messages.c.seq).limit(limit)).scalars().all()

    def only_from(self, row: SessionRow, source: str) -> bool:
        """Whether every message of the session came from the source."""
        query = sa.select(sa.literal(1)).where(*_in_session(messages, row), messages.c.source != source).limit(1)
        return self._run(query).first() is None

    def facts(self, tenant: str, target: Target, *, before: datetime, limit: int) -> Sequence[Fact]:
        """Facts of the user, or that the agent learned, which were kept before that."""
        which = _facts_of(tenant, target)
        if target.kind is ErasureKind.FACT:
            which = _fact_of(tenant, target)
        if which is None:
            return ()
        query = sa.select(*FACT_COLUMNS).where(*which, facts.c.created_at <= before).order_by(facts.c.id).limit(limit)
        return [fact_from(row) for row in self._run(query)]

    def pages(self, tenant: str, target: Target, *, before: datetime) -> int:
        """Take out pages of notepads of the user, or with the agent; how many."""
        which = _pages_of(tenant, target)
        if which is None:
            return 0
        return self._run(sa.delete(notepad_pages).where(*which, notepad_pages.c.created_at <= before)).rowcount

    def documents(
        self, tenant: str, target: Target, *, before: datetime, limit: int
    ) -> Sequence[tuple[Namespace, UUID]]:
        """Documents in the user's namespaces, or from the source, which were kept before that."""
        which = documents_of(tenant, target)
        if which is None:
            return ()
        query = sa.select(documents.c.namespace, documents.c.id).where(which, documents.c.created_at <= before)
        return [
            (namespace_from(row.namespace), row.id) for row in self._run(query.order_by(documents.c.id).limit(limit))
        ]

    def of_user(self, tenant: str, user: str) -> Mapping[str, int]:
        """Take out what else names a user: subjects, memberships, tombstones, keys, pauses, stamps, vectors."""
        member = (subject_members.c.tenant_id == tenant, subject_members.c.user_id == user)
        left = self._run(sa.delete(subject_members).where(*member)).rowcount
        gone = 0
        owned = self._run(sa.select(subjects.c.id).where(subjects.c.tenant_id == tenant, subjects.c.owner_id == user))
        for subject in owned.scalars().all():
            gone += not self._hand_over(tenant, subject)
        tombs = sa.delete(fact_tombstones).where(
            fact_tombstones.c.tenant_id == tenant, fact_tombstones.c.user_id == user
        )
        buried = self._run(tombs).rowcount
        self._run(sa.delete(api_keys).where(api_keys.c.tenant_id == tenant, api_keys.c.user_id == user))
        for table in (pauses, changes):
            self._run(sa.delete(table).where(table.c.tenant_id == tenant, table.c.user_id == user))
        self._vectors.forget_user(tenant, user)
        return {"subjects": gone, "memberships": left, "tombstones": buried}

    def _hand_over(self, tenant: str, subject: str) -> bool:
        """Another member owns the subject from now on, the one who has been longest; it goes if there is none."""
        members = (subject_members.c.tenant_id == tenant, subject_members.c.subject_id == subject)
        oldest = sa.select(subject_members.c.user_id).where(*members)
        heir = self._run(oldest.order_by(subject_members.c.added_at, subject_members.c.user_id).limit(1)).scalar()
        this = (subjects.c.tenant_id == tenant, subjects.c.id == subject)
        if heir is None:
            self._run(sa.delete(subjects).where(*this))
            return False
        self._run(sa.update(subjects).where(*this).values(owner_id=heir))
        return True

    def interrupt(self, tenant: str, *, user: str | None, now: datetime) -> int:
        """Work under way in sessions of the user (None: of anybody) is begun anew: its results are refused."""
        running = jobs.c.state == JobState.RUNNING.value
        change = sa.update(jobs).where(jobs.c.tenant_id == tenant, running)
        if user is not None:
            theirs = sa.select(sessions.c.id).where(sessions.c.tenant_id == tenant, sessions.c.user_id == user)
            change = change.where(jobs.c.session_uid.in_(theirs))
        attempts = sa.case((jobs.c.attempt > 0, jobs.c.attempt - 1), else_=0)
        again = {"state": JobState.QUEUED.value, "lease_owner": None, "lease_until": None, "rearm": False}
        count = self._run(change.values(**again, attempt=attempts, run_at=now, reason=None, updated_at=now)).rowcount
        self._effects.planned |= count > 0
        return count

    def receipts(self, row: SessionRow) -> Sequence[UUID]:
        """The ids of all receipts of a session."""
        return self._run(sa.select(receipts.c.id).where(*_in_session(receipts, row))).scalars().all()

    def imported(self, row: SessionRow) -> Sequence[tuple[str, str]]:
        """Source and digest of all messages of a session that were imported."""
        return self.digests(row, 0)

    def digests(self, row: SessionRow, seq: int) -> Sequence[tuple[str, str]]:
        """Source and digest of the imported messages from this one on, earlier versions included."""
        query = sa.select(messages.c.source, messages.c["metadata"]).where(
            *_in_session(messages, row), messages.c.seq >= seq, messages.c.source.like("import:%")
        )
        found = ((source, extra.get(IMPORT_MARK)) for source, extra in self._run(query))
        return [(source, mark["digest"]) for source, mark in found if isinstance(mark, Mapping) and mark.get("digest")]

    def drop_session(self, row: SessionRow) -> None:
        """Take out a session that was reset: its name, its receipts, its jobs."""
        this = (sessions.c.tenant_id == row.key.tenant, sessions.c.id == row.id)
        self._effects.touch(row.key.tenant, row.key.user, ChangeKind.ERASED)
        here = (changes.c.tenant_id == row.key.tenant, changes.c.user_id == row.key.user)
        self._run(sa.update(changes).where(*here, changes.c.session_uid == row.id).values(session_uid=None))
        for table in (fact_sources, notepad_pages, receipts, jobs):
            self._run(sa.delete(table).where(*_in_session(table, row)))
        self._run(sa.delete(sessions).where(*this))

    def rooted(self, row: SessionRow, seq: int) -> Sequence[Rooted]:
        """Facts that were first learned from this message, by whoever they are believed now."""
        here = sa.select(fact_sources.c.fact_id).where(*_in_session(fact_sources, row), fact_sources.c.seq == seq)
        sources = (
            sa.select(fact_sources.c.fact_id, fact_sources.c.session_uid, fact_sources.c.seq)
            .where(fact_sources.c.tenant_id == row.key.tenant, fact_sources.c.fact_id.in_(here))
            .order_by(fact_sources.c.learned_at, fact_sources.c.session_uid, fact_sources.c.seq)
        )
        places: dict[UUID, list[Place]] = {}
        for fact_id, uid, number in self._run(sources):
            places.setdefault(fact_id, []).append((uid, number))
        first = [fact_id for fact_id, known in places.items() if known[0] == (row.id, seq)]
        if not first:
            return ()
        learned = sa.select(fact_versions.c.fact_id).where(
            fact_versions.c.tenant_id == row.key.tenant,
            fact_versions.c.fact_id.in_(first),
            fact_versions.c.version == 1,
            fact_versions.c.action == FactAction.LEARNED.value,
        )
        query = sa.select(*FACT_COLUMNS).where(facts.c.tenant_id == row.key.tenant, facts.c.id.in_(learned))
        return [
            Rooted(fact=fact_from(line), others=tuple(places[line.id][1:]))
            for line in self._run(query.order_by(facts.c.id)).all()
        ]

    def messages(self, row: SessionRow, seqs: Sequence[int], keyed: Mapping[str, str]) -> Purged:
        """Leave nothing of messages that were deleted: no version, nothing that was made of them."""
        return self.purge(row, seqs, keyed)

    def _queries(self, tenant: str, target: Target) -> Iterator[tuple[str, sa.Select[Any]]]:
        """What would go, kind by kind."""
        if target.kind is ErasureKind.FACT:
            yield "facts", sa.select(facts.c.id).where(*_fact_of(tenant, target))
            return
        if target.kind is ErasureKind.MESSAGE:
            yield from self._of_message(tenant, target)
            return
        if target.kind is ErasureKind.SOURCE and target.source_agent is None:
            yield from _of_source(tenant, target)
            return
        whole = sa.select(sessions.c.id).where(*_sessions_of(tenant, target))
        yield "sessions", whole
        for name, table in _COUNTED.items():
            columns = [table.c.id] if name in _NAMED else [sa.literal(1).label("one")]
            yield name, sa.select(*columns).where(table.c.tenant_id == tenant, table.c.session_uid.in_(whole))
        known = _facts_of(tenant, target)
        if known is None:
            said = sa.select(fact_sources.c.fact_id).where(
                fact_sources.c.tenant_id == tenant, fact_sources.c.session_uid.in_(whole)
            )
            known = (facts.c.tenant_id == tenant, facts.c.id.in_(said))
        yield "facts", sa.select(facts.c.id).where(*known)
        noted = _pages_of(tenant, target)
        if noted is None:
            noted = (notepad_pages.c.tenant_id == tenant, notepad_pages.c.session_uid.in_(whole))
        yield "pages", sa.select(notepad_pages.c.version).where(*noted)
        kept = documents_of(tenant, target)
        made = sa.and_(documents.c.tenant_id == tenant, documents.c.session_uid.in_(whole))
        yield "documents", sa.select(documents.c.id).where(made if kept is None else sa.or_(made, kept))
        if target.kind is ErasureKind.USER:
            owned = (subjects.c.tenant_id == tenant, subjects.c.owner_id == target.user)
            yield "subjects", sa.select(subjects.c.name).where(*owned)
            member = (subject_members.c.tenant_id == tenant, subject_members.c.user_id == target.user)
            yield "memberships", sa.select(subject_members.c.subject_id).where(*member)

    def _of_message(self, tenant: str, target: Target) -> Iterator[tuple[str, sa.Select[Any]]]:
        found = sa.select(messages.c.session_uid, messages.c.seq, messages.c.id).where(messages.c.tenant_id == tenant)
        if target.id is not None:
            found = found.where(messages.c.id == target.id)
            if target.user is not None:
                theirs = sa.select(sessions.c.id).where(
                    sessions.c.tenant_id == tenant, sessions.c.user_id == target.user
                )
                found = found.where(messages.c.session_uid.in_(theirs))
        else:
            whole = sa.select(sessions.c.id).where(*_sessions_of(tenant, target))
            found = found.where(messages.c.session_uid.in_(whole), messages.c.seq == target.seq)
        place = self._run(found.where(sa.not_(messages.c.erased))).one_or_none()
        if place is None:
            return
        uid, seq, message_id = place

        def here(table: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
            return table.c.tenant_id == tenant, table.c.session_uid == uid

        yield "messages", sa.select(messages.c.id).where(messages.c.tenant_id == tenant, messages.c.id == message_id)
        yield (
            "versions",
            sa.select(message_versions.c.seq).where(*here(message_versions), message_versions.c.seq == seq),
        )
        yield "vectors", sa.select(message_vectors.c.seq).where(*here(message_vectors), message_vectors.c.seq == seq)
        yield "summaries", sa.select(summaries.c.id).where(*here(summaries), summaries.c.stop > seq)
        yield "chunks", sa.select(chunks.c.id).where(*here(chunks), told_in(seq))
        yield "topics", sa.select(topics.c.id).where(*here(topics), topics.c.start <= seq, topics.c.stop > seq)
        said = sa.select(fact_sources.c.fact_id).where(*here(fact_sources), fact_sources.c.seq == seq)
        yield "facts", sa.select(facts.c.id).where(facts.c.tenant_id == tenant, facts.c.id.in_(said))
        yield "documents", sa.select(documents.c.id).where(*here(documents), tells_of(seq))
        read = (notepad_pages.c.start <= seq, notepad_pages.c.stop > seq)
        yield "pages", sa.select(notepad_pages.c.version).where(*here(notepad_pages), *read)


def _of_source(tenant: str, target: Target) -> Iterator[tuple[str, sa.Select[Any]]]:
    """What would go of messages that came from a source: themselves; what was made of them is found on the way."""
    query = (
        sa.select(messages.c.id)
        .join(sessions, _of_session(messages))
        .where(messages.c.tenant_id == tenant, messages.c.source == target.source, sa.not_(messages.c.erased))
    )
    touched = sa.select(sessions.c.id).where(*_sessions_of(tenant, target))
    if target.user is not None:
        query = query.where(sessions.c.user_id == target.user)
    yield "sessions", touched
    yield "messages", query
    kept = documents_of(tenant, target)
    if kept is not None:
        yield "documents", sa.select(documents.c.id).where(kept)


def _fact_of(tenant: str, target: Target) -> tuple[sa.ColumnElement[bool], ...]:
    """The fact that a target names, if it is of the user who is named with it."""
    this = (facts.c.tenant_id == tenant, facts.c.id == target.id)
    return this if target.user is None else (*this, facts.c.user_id == target.user)


def _sessions_of(tenant: str, target: Target) -> tuple[sa.ColumnElement[bool], ...]:
    """The sessions that a target names, or in which it names messages."""
    which = [sessions.c.tenant_id == tenant]
    agent = target.source_agent or target.agent
    named = ((sessions.c.user_id, target.user), (sessions.c.agent_id, agent), (sessions.c.session_id, target.session))
    which += [column == name for column, name in named if name is not None]
    if target.source is not None and target.source_agent is None:
        came = sa.select(messages.c.session_uid).where(
            messages.c.tenant_id == tenant, messages.c.source == target.source, sa.not_(messages.c.erased)
        )
        which.append(sessions.c.id.in_(came))
    return tuple(which)


def _facts_of(tenant: str, target: Target) -> tuple[sa.ColumnElement[bool], ...] | None:
    """All facts of a user, or those that an agent learned; None if none are named as such."""
    if target.kind is ErasureKind.USER:
        return facts.c.tenant_id == tenant, facts.c.user_id == target.user
    if target.source_agent is None:
        return None
    learned = (facts.c.tenant_id == tenant, facts.c.agent_id == target.source_agent)
    return learned if target.user is None else (*learned, facts.c.user_id == target.user)


def _pages_of(tenant: str, target: Target) -> tuple[sa.ColumnElement[bool], ...] | None:
    """All pages of a user's notepads, or of those with an agent; None if none are named as such."""
    if target.kind is ErasureKind.USER:
        return notepad_pages.c.tenant_id == tenant, notepad_pages.c.user_id == target.user
    if target.source_agent is None:
        return None
    noted = (notepad_pages.c.tenant_id == tenant, notepad_pages.c.agent_id == target.source_agent)
    return noted if target.user is None else (*noted, notepad_pages.c.user_id == target.user)


def _in_session(table: sa.Table, row: SessionRow) -> tuple[sa.ColumnElement[bool], ...]:
    return table.c.tenant_id == row.key.tenant, table.c.session_uid == row.id


def _of_session(table: sa.Table) -> sa.ColumnElement[bool]:
    return (table.c.tenant_id == sessions.c.tenant_id) & (table.c.session_uid == sessions.c.id)
