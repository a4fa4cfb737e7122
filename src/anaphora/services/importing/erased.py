"""What of an export was erased here: it is not brought in again.

A session, a fact or a page is told by its user, its agent or itself, and by being older than the erasure: who comes
back begins anew, and that can be restored. A message, and a receipt, is told by its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import IMPORT_MARK
from anaphora.domain.records import MessageRecord, ReceiptRecord, SessionRecord
from anaphora.ports.exchange import Entry
from anaphora.ports.store import Unit
from anaphora.rules.erasure import (
    mark_of_agent,
    mark_of_fact,
    mark_of_import,
    mark_of_message,
    mark_of_receipt,
    mark_of_session,
    mark_of_user,
)
from anaphora.services.importing.pieces import KnownFact
from anaphora.services.importing.restoring import Run


@dataclass(frozen=True, slots=True)
class Gone:
    """What was erased of a tenant, as one transaction sees it."""

    unit: Unit
    run: Run
    #: nothing ever was: then nothing is looked up
    nothing: bool

    @classmethod
    def of(cls, unit: Unit, run: Run) -> Gone:
        """As the transaction sees it."""
        return cls(unit, run, nothing=not unit.erasures.epoch(run.tenant))

    def session(self, about: SessionRecord) -> bool:
        """Whether the session was erased, under its name there or here."""
        there = SessionKey(tenant=self.run.tenant, user=about.user, agent=about.agent, session=about.session)
        marks = [mark for key in {there, self.run.key(about)} for mark in self._names(key.user, key.agent)]
        marks += [mark_of_session(self.run.secret, key) for key in {there, self.run.key(about)}]
        return self._since(marks, about.created_at)

    def owner(self, user: str, agent: str | None, at: datetime) -> bool:
        """Whether what is a user's, and perhaps an agent's, was erased with one of them."""
        return self._since([*self._names(user, agent), *self._names(self.run.called(user), None)], at)

    def receipts(self, records: Iterable[ReceiptRecord]) -> frozenset[str]:
        """The marks of those of which the messages were erased with their session."""
        return self._kept(mark_of_receipt(self.run.secret, record.id) for record in records)

    def facts(self, known: Iterable[KnownFact]) -> frozenset[str]:
        """The marks of those that were erased."""
        return self._kept(mark_of_fact(self.run.secret, each.fact.id) for each in known)

    def blanked(self, key: SessionKey, entries: Iterable[Entry], now: datetime) -> list[Entry]:
        """The entries; of a message that was erased, only that there was one."""
        found = list(entries)
        marks = {entry.message.id: mark_of_message(self.run.secret, entry.message.id) for entry in found}
        kept = self._kept(marks.values())
        return [self._blank(key, entry.message, now) if marks[entry.message.id] in kept else entry for entry in found]

    def _blank(self, key: SessionKey, message: MessageRecord, now: datetime) -> Entry:
        mark = message.metadata.get(IMPORT_MARK)
        metadata = {}
        if isinstance(mark, Mapping) and "position" in mark:
            keyed = mark.get("keyed") or mark_of_import(self.run.secret, key, message.source, str(mark.get("digest")))
            metadata = {IMPORT_MARK: {"position": mark["position"], "keyed": keyed}}
        nothing: dict[str, object] = {"name": None, "content": "", "parts": [], "metadata": metadata, "tokens": 0}
        tombstone = {"deleted": True, "erased": True, "version": message.version + 1, "changed_at": now}
        return Entry(message=message.model_copy(update={**nothing, **tombstone}))

    def _names(self, user: str, agent: str | None) -> list[str]:
        marks = [mark_of_user(self.run.secret, user)]
        return marks if agent is None else [*marks, mark_of_agent(self.run.secret, agent)]

    def _since(self, marks: Iterable[str], at: datetime) -> bool:
        if self.nothing:
            return False
        return any(at <= erased for erased in self.unit.erasures.marked(self.run.tenant, marks).values())

    def _kept(self, marks: Iterable[str]) -> frozenset[str]:
        return frozenset() if self.nothing else frozenset(self.unit.erasures.marked(self.run.tenant, marks))
