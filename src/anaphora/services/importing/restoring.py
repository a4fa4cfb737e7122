"""One import of an export: what is known of it so far, and what came of its pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from anaphora.domain.documents import owner_of
from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.records import ReceiptRecord, SessionRecord
from anaphora.services.importing.exported import Source
from anaphora.services.importing.pieces import Documents, Item, KnownFacts, Notepad, Piece, Subjects
from anaphora.services.importing.run import ImportReport, Progress
from anaphora.services.importing.values import BadFile

Group = Sequence[Item]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one piece, or would come of it."""

    key: SessionKey | None = None
    #: nothing of the session may be written, or not all of the facts
    complaint: BadFile | None = None
    #: messages that were changed or erased here since the export: without any the log is exactly the exported one
    changed: tuple[SeqRange, ...] = ()
    new: int = 0
    held: int = 0
    #: erased here, and not brought in again
    erased: int = 0
    #: there is something to write
    needed: bool = False


@dataclass(slots=True)
class Run:
    """One import."""

    source: Source
    tenant: str
    #: whose all of it is to be; None = as exported
    user: str | None
    #: the store's own: what was deleted is known by it
    secret: bytes
    progress: Progress | None
    #: the only user of the export, if it is to be another one here
    only: str | None = None
    #: who owns the subjects of the export, as they are called here
    subjects: dict[str, str] = field(default_factory=dict)
    #: there are facts that say which other facts took their places
    succeeded: bool = False
    #: what came of the sessions that are refused, or changed here since, or not over yet
    fates: dict[SessionKey, Outcome] = field(default_factory=dict)
    complaint: BadFile | None = None
    report: ImportReport = field(default_factory=ImportReport)

    def key(self, named: SessionRecord | ReceiptRecord) -> SessionKey:
        """The session here."""
        return SessionKey(tenant=self.tenant, user=self.user or named.user, agent=named.agent, session=named.session)

    def called(self, user: str) -> str:
        """What a user of the export is called here."""
        return self.user if self.user is not None and user == self.only else user

    def note(self, group: Group) -> None:
        """Remember what pieces say of those behind them: once of all, before anything is written."""
        for item in group:
            match item:
                case Piece():
                    self.only = item.about.user
                case KnownFacts():
                    self.only = item.facts[0].fact.owner
                    self.succeeded |= any(known.fact.superseded_by is not None for known in item.facts)
                case Notepad():
                    self.only = item.user
                case Documents():
                    owners = (owner_of(tuple(record.namespace)) for _, record in item.documents)
                    self.only = next((owner for owner in owners if owner is not None), self.only)
                case Subjects():
                    self.subjects |= {record.id: record.owner for _, record in item.subjects}
                case _:
                    pass

    def noted(self) -> None:
        """All was seen: names are those that are used here."""
        self.subjects = {subject: self.called(owner) for subject, owner in self.subjects.items()}

    def apply(self, group: Group, outcomes: Sequence[Outcome]) -> None:
        """Count what was done, and remember what the next pieces depend on."""
        for item, outcome in zip(group, outcomes, strict=True):
            self.complaint = self.complaint or outcome.complaint
            over = isinstance(item, Piece) and item.last
            if outcome.key is not None:
                self.fates[outcome.key] = outcome
                if over and outcome.complaint is None and not outcome.changed:
                    del self.fates[outcome.key]
            self.report = replace(
                self.report,
                conversations=self.report.conversations + over,
                sessions=self.report.sessions + over,
                messages=self.report.messages + outcome.new,
                held=self.report.held + outcome.held,
                erased=self.report.erased + outcome.erased,
            )
        if self.progress is not None:
            self.progress(self.report)
