"""What becomes of facts that are there: changed, closed, believed again, forgotten; inside the caller's transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from anaphora.domain.facts import Fact, FactAction, FactState
from anaphora.domain.keys import uuid7
from anaphora.errors import InvalidInput
from anaphora.ports.clock import Randomness
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.rules.facts.tombstones import is_buried, tombstone
from anaphora.rules.language.words import content_key, terms

#: tombstones of an owner and subject that are looked at
TOMBS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Changes facts, and lets them go."""

    randomness: Randomness
    #: the store's own: tombstones are keyed by it
    secret: bytes

    def superseded(self, unit: Unit, tenant: str, old: Fact, new: Fact, *, now: datetime) -> None:
        """Another fact takes the place of one: it is kept, and says until when it was true."""
        until = max(old.valid_from, new.valid_from)
        self.changed(
            unit,
            tenant,
            old,
            FactAction.SUPERSEDED,
            now=now,
            state=FactState.CLOSED,
            valid_to=until,
            superseded_by=new.id,
        )

    def forget(self, unit: Unit, tenant: str, fact: Fact, *, now: datetime) -> None:
        """Leave nothing of a fact; what it had taken the place of is believed again."""
        self.reopen_replaced(unit, tenant, fact, now=now)
        unit.facts.delete(tenant, fact.id)

    def reopen_replaced(
        self, unit: Unit, tenant: str, fact: Fact, *, now: datetime, since: datetime | None = None
    ) -> None:
        """What a fact had taken the place of is believed again; with `since`, only what it did not before."""
        for old in unit.facts.replaced_by(tenant, fact.owner, fact.id):
            if since is None or old.updated_at >= since:
                self._reopen(unit, tenant, old, now=now)

    def _reopen(self, unit: Unit, tenant: str, fact: Fact, *, now: datetime) -> None:
        state = FactState.REVIEW if fact.doubt is not None else FactState.ACTIVE
        again = replace(fact, state=state, valid_to=None, superseded_by=None, version=fact.version + 1, updated_at=now)
        # an undo goes back to before it was closed, not to that
        before = [entry for entry in unit.facts.versions(tenant, fact.id) if entry.superseded_by is None][-1]
        if not self._change(unit, tenant, again, FactAction.REOPENED, before.restores or before.version):
            unit.facts.change(  # the same was said again since: this one stays closed, and names no other
                tenant,
                replace(again, state=FactState.CLOSED, valid_to=fact.valid_to),
                action=FactAction.REOPENED,
                key=key_of(fact.content),
                terms=terms(fact.content),
            )

    def unsay(self, unit: Unit, row: SessionRow, seq: int | None, *, now: datetime) -> int:
        """A message says nothing any more (None: none does): what only it said is forgotten; how many facts."""
        gone = unit.facts.unsay(row, seq)
        for fact in gone:
            self.forget(unit, row.key.tenant, fact, now=now)
        return len(gone)

    def bury(self, unit: Unit, tenant: str, fact: Fact, *, now: datetime) -> None:
        """Forget a fact for good: what says the same as any of its wordings is not learned again."""
        wordings = self._wordings(unit, tenant, fact)
        self.forget(unit, tenant, fact, now=now)
        self._entomb(unit, tenant, fact, wordings, now=now)

    def unbury(self, unit: Unit, tenant: str, owner: str, subject: str, content: str) -> None:
        """The owner says again what was deleted: it may be known."""
        tombs = unit.facts.tombstones(tenant, owner, subject, limit=TOMBS)
        unit.facts.unbury(tenant, [uid for uid, marks in tombs if is_buried(self.secret, content, [marks])])

    def corrected(self, unit: Unit, tenant: str, fact: Fact, content: str, *, now: datetime) -> None:
        """The owner words a fact anew: none of its old wordings is learned again, and the new one may be."""
        self.unbury(unit, tenant, fact.owner, fact.subject or "", content)
        old = [wording for wording in self._wordings(unit, tenant, fact) if key_of(wording) != key_of(content)]
        self._entomb(unit, tenant, fact, old, now=now)

    def restored(self, unit: Unit, tenant: str, fact: Fact, content: str) -> None:
        """A correction is taken back: this wording of the fact may be learned again."""
        marks = tombstone(self.secret, content)
        tombs = unit.facts.tombstones(tenant, fact.owner, fact.subject or "", limit=TOMBS)
        unit.facts.unbury(tenant, [uid for uid, buried in tombs if tuple(buried) == marks])

    def _wordings(self, unit: Unit, tenant: str, fact: Fact) -> list[str]:
        """Whatever the fact ever said, each once."""
        contents = [version.content for version in unit.facts.versions(tenant, fact.id)]
        return list({key_of(content): content for content in (*contents, fact.content)}.values())

    def _entomb(self, unit: Unit, tenant: str, fact: Fact, wordings: Iterable[str], *, now: datetime) -> None:
        about = fact.subject or ""
        there = {tuple(marks) for _, marks in unit.facts.tombstones(tenant, fact.owner, about, limit=TOMBS)}
        for marks in dict.fromkeys(tombstone(self.secret, wording) for wording in wordings):
            if marks not in there:
                tomb_id = uuid7(now, self.randomness(10))
                unit.facts.bury(tenant, fact.owner, about, marks, tomb_id=tomb_id, now=now)

    def kept(self, unit: Unit, tenant: str, fact: Fact, action: FactAction) -> bool:
        """Keep a new fact; False if its owner has one that says the same letter by letter."""
        return unit.facts.insert(tenant, fact, key=key_of(fact.content), terms=terms(fact.content), action=action)

    def changed(
        self,
        unit: Unit,
        tenant: str,
        fact: Fact,
        action: FactAction,
        *,
        now: datetime,
        restores: int | None = None,
        **values: object,
    ) -> Fact:
        """The next version of a fact.

        Raises:
            InvalidInput: another fact of the owner says the same already; nothing was changed.

        """
        new: Fact = replace(fact, **values, version=fact.version + 1, updated_at=now)  # type: ignore[arg-type]
        if not self._change(unit, tenant, new, action, restores):
            raise InvalidInput("another fact says that already: delete one of the two")
        return new

    def _change(self, unit: Unit, tenant: str, fact: Fact, action: FactAction, restores: int | None = None) -> bool:
        return unit.facts.change(
            tenant, fact, action=action, key=key_of(fact.content), terms=terms(fact.content), restores=restores
        )


def key_of(content: str) -> str:
    """Equal for contents that say the same letter by letter; does not tell what."""
    return hashlib.sha256(content_key(content).encode()).hexdigest()
