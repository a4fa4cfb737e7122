"""What the owner's word does: it is kept as it is said, closes what it contradicts, and is shared by members only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from anaphora.domain.facts import Fact, FactAction, FactState, Visibility
from anaphora.domain.messages import Trust
from anaphora.errors import InvalidInput
from anaphora.ports.facts import Reader
from anaphora.ports.store import Unit
from anaphora.rules.facts.merging import merge
from anaphora.rules.language.words import terms
from anaphora.services.learning import Learning
from anaphora.services.upkeep import key_of

#: known facts that what the owner says is compared with
_COMPARED: Final = 64


def settled(learning: Learning, unit: Unit, reader: Reader, fact: Fact, *, now: datetime) -> Fact:
    """Keep a fact of the owner's own, or confirm the known one that says the same; what it contradicts is closed.

    Raises:
        InvalidInput: another fact says that already, or it is shared and its owner is no member any more.

    """
    same = _same(unit, reader, fact)
    if same is None:
        if not learning.kept(unit, reader.tenant, fact, FactAction.ADDED):
            raise InvalidInput("another fact says that already: edit that one")
        result = fact
    else:
        result = learning.changed(
            unit,
            reader.tenant,
            same,
            FactAction.CONFIRMED,
            now=now,
            trust=Trust.OWNER_CONFIRMED,
            state=FactState.ACTIVE,
            doubt=None,
            category=fact.category,
            importance=max(fact.importance, same.importance),
            pinned=fact.pinned or same.pinned,
        )
        check_shared(unit, reader, result)
    close(learning, unit, reader, result, contradicted(unit, reader, result), now=now)
    return result


def contradicted(unit: Unit, reader: Reader, fact: Fact) -> Sequence[Fact]:
    """The active facts that cannot be true beside this one, whoever stands for them: this is the owner's newer word."""
    found = _known(unit, reader, fact)
    known = list(found)
    while (merged := merge(fact.content, fact.category, known)).same is not None:
        known = [other for other in known if other.id != merged.same]
    return [other for other in found if other.id in merged.closes]


def close(
    learning: Learning, unit: Unit, reader: Reader, fact: Fact, against: Sequence[Fact], *, now: datetime
) -> None:
    """A fact takes the place of others."""
    for other in against:
        old = unit.facts.get(reader, other.id)
        if old is not None:
            learning.superseded(unit, reader.tenant, old, fact, now=now)


def check_shared(unit: Unit, reader: Reader, fact: Fact) -> None:
    """Who is no member any more changes nothing that the members read.

    Raises:
        InvalidInput: the fact is shared, and its owner is no member of its subject.

    """
    if fact.visibility is not Visibility.SHARED:
        return
    if fact.subject is None or not is_member(unit, reader, fact.subject):
        raise InvalidInput(
            f"fact {fact.id} would be shared, and {reader.user!r} is no member of subject {fact.subject!r}: unshare it"
        )


def is_member(unit: Unit, reader: Reader, subject_id: str) -> bool:
    """Whether the reader is a member of the subject now."""
    subject = unit.subjects.get(reader.tenant, subject_id)
    return subject is not None and reader.user in subject.members


def _same(unit: Unit, reader: Reader, fact: Fact) -> Fact | None:
    """What says the same: believed, in review, or set aside."""
    found = _known(unit, reader, fact)
    uid = merge(fact.content, fact.category, found).same
    if uid is not None:
        return unit.facts.get(reader, uid)
    said = unit.facts.saying(reader.tenant, reader.user, fact.subject or "", [key_of(fact.content)])
    return next((other for _, other in said if other.state is FactState.ASIDE), None)


def _known(unit: Unit, reader: Reader, fact: Fact) -> Sequence[Fact]:
    """Other facts of the same subject, as if nobody stood for them."""
    found = unit.facts.known(reader.tenant, reader.user, fact.subject or "", terms(fact.content), limit=_COMPARED)
    return [replace(other, trust=Trust.OWNER_SAID, pinned=False) for other in found if other.id != fact.id]
