"""From what was proposed to what is known: judged, merged, kept; all inside the caller's transaction.

A fact is one row however often it is said (hole 2.13); what it contradicts is closed and stays (2.14); what its owner
deleted is not learned again (2.17); what is too unimportant, or more than is kept, is set aside and listed (3.10).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum, auto
from typing import Final
from uuid import UUID

from anaphora.domain.facts import Candidate, Fact, FactAction, FactState, Source
from anaphora.domain.keys import SeqRange, uuid7
from anaphora.domain.messages import Message
from anaphora.errors import InvalidInput
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.rules.facts.about import is_of_speaker
from anaphora.rules.facts.gate import Judgement, Outcome, judge
from anaphora.rules.facts.keeping import too_many
from anaphora.rules.facts.merging import Merge, merge, said_again
from anaphora.rules.facts.tombstones import is_buried
from anaphora.rules.language.words import terms
from anaphora.services.keeping import Keeping
from anaphora.services.upkeep import TOMBS, Upkeep, key_of

#: known facts that a new one is compared with
_COMPARED: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A candidate that may be kept, with the message that it quotes."""

    candidate: Candidate
    judgement: Judgement
    message: Message
    #: it is about who said it, not about the subject of the session
    of_speaker: bool = True

    @property
    def key(self) -> str:
        """Of what it says."""
        return key_of(self.candidate.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a batch of candidates comes from."""

    row: SessionRow
    #: what the user is called, if it is known
    speaker: str | None
    #: what the subject of the session is called, if it has one
    named: str | None
    model: str | None
    prompt_version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What became of a batch of candidates."""

    #: believed or in review, and new
    facts: tuple[Fact, ...] = ()
    #: said again
    repeated: int = 0
    #: deleted before, and not learned again
    buried: int = 0
    #: had been set aside, and are believed or in review now
    taken_up: int = 0
    #: new ones that are set aside, and others that made room
    aside: int = 0
    #: had been set aside, and are gone: more than that are not kept
    dropped: int = 0

    def __add__(self, other: Learned) -> Learned:
        return Learned(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})


class _Became(Enum):
    """What became of a candidate."""

    NEW = auto()
    REPEATED = auto()
    TAKEN_UP = auto()
    ASIDE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    """Whom facts are about, of what was learned of a session."""

    origin: Origin
    #: None: their owner
    subject: str | None
    #: as people read it, if it is known
    name: str | None


@dataclass(slots=True, kw_only=True)
class _Said:
    """The owner's facts that say something letter by letter, by what they say (`key_of`)."""

    #: active or in review
    believed: set[str]
    aside: dict[str, Fact]

    @classmethod
    def of(cls, found: Sequence[tuple[str, Fact]]) -> _Said:
        aside = {key: fact for key, fact in reversed(found) if fact.state is FactState.ASIDE}
        return cls(believed={key for key, fact in found if fact.state is not FactState.ASIDE}, aside=aside)


def judged(
    candidates: Sequence[Candidate],
    messages: Sequence[Message],
    *,
    speaker: str | None,
    subject: str | None,
    memory: Sequence[str],
    echoes: Sequence[str],
) -> list[Judged]:
    """The candidates that may be kept. Pure.

    Args:
        candidates: what was proposed.
        messages: what was read, in order.
        speaker: whose memory it is, as people read it.
        subject: whom or what facts are about, if not the speaker.
        memory: lines that the assistant was shown of what is known.
        echoes: sentences of the prompt.

    """
    by_seq = {message.seq: message for message in messages}
    kept = []
    for candidate in candidates:
        found = judge(candidate, messages, speaker=speaker, subject=subject, memory=memory, echoes=echoes)
        if found.outcome is Outcome.REJECT or candidate.seq not in by_seq:
            continue
        message = by_seq[candidate.seq]
        of_speaker = subject is None or is_of_speaker(
            candidate.content, found.quote or candidate.quote, message.content, subject=subject, speaker=speaker
        )
        kept.append(Judged(candidate=candidate, judgement=found, message=message, of_speaker=of_speaker))
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning(Upkeep):
    """Keeps facts, and lets them go."""

    #: how much is kept
    keeping: Keeping

    def learn(self, unit: Unit, found: Sequence[Judged], origin: Origin, *, now: datetime) -> Learned:
        """Keep what is new of it, add sources to what is known, close what it contradicts.

        In a session about a subject, what the user says of themself is kept about the user.
        """
        unit.facts.alone(origin.row.key.tenant, origin.row.key.user)
        own = [item for item in found if item.of_speaker]
        others = [item for item in found if not item.of_speaker]
        about_user = _About(origin=origin, subject=None, name=origin.speaker)
        about_subject = _About(origin=origin, subject=origin.row.subject, name=origin.named)
        learned = Learned()
        for items, about in ((own, about_user), (others, about_subject)):
            if items:
                learned += self._learn(unit, items, about, now=now)
        return learned

    def _learn(self, unit: Unit, found: Sequence[Judged], about: _About, *, now: datetime) -> Learned:
        origin, subject = about.origin, about.subject or ""
        key = origin.row.key
        tombs = [marks for _, marks in unit.facts.tombstones(key.tenant, key.user, subject, limit=TOMBS)]
        said = _Said.of(unit.facts.saying(key.tenant, key.user, subject, [item.key for item in found]))
        # what is known by these very words is, however like they are to others that were corrected
        wanted = [
            item
            for item in found
            if item.key in said.believed or not is_buried(self.secret, item.candidate.content, tombs)
        ]
        new = [(item.candidate, item.message, item.key not in said.believed) for item in wanted]
        reasons = self.keeping.reasons(unit, origin.row, new)
        became: Counter[_Became] = Counter()
        facts: list[Fact] = []
        for item, reason in zip(wanted, reasons, strict=True):
            fact, what = self._take(unit, item, about, said, reason, now=now)
            became[what] += 1
            if what is _Became.NEW:
                facts.append(fact)
        moved = (
            self._make_room(unit, key.tenant, key.user, subject, now=now) if facts or became[_Became.TAKEN_UP] else 0
        )
        aside = became[_Became.ASIDE] + moved
        return Learned(
            facts=tuple(facts),
            repeated=became[_Became.REPEATED],
            buried=len(found) - len(wanted),
            taken_up=became[_Became.TAKEN_UP],
            aside=aside,
            dropped=self._drop(unit, key.tenant, key.user, subject, now=now) if aside else 0,
        )

    def _take(
        self, unit: Unit, item: Judged, about: _About, said: _Said, reason: str | None, *, now: datetime
    ) -> tuple[Fact, _Became]:
        """The fact as it is kept now, and what became of it; with a reason to set it aside."""
        origin, content = about.origin, item.candidate.content
        tenant, owner = origin.row.key.tenant, origin.row.key.user
        known = unit.facts.known(tenant, owner, about.subject or "", terms(content), limit=_COMPARED)
        merged = merge(content, item.candidate.category, known, item.candidate.replaces, speaker=about.name)
        doubt = item.judgement.reason if item.judgement.outcome is Outcome.REVIEW else merged.doubt
        source = _source(item, origin, now=now)
        if merged.same is not None:
            same = next(fact for fact in known if fact.id == merged.same)
            unit.facts.add_source(tenant, same.id, source)
            if same.state is FactState.REVIEW and doubt is None:
                again = said_again(same, known, item.candidate.replaces, speaker=about.name)
                same = self._weighed(unit, tenant, same, again, known, said, now=now)
            return same, _Became.REPEATED
        state = FactState.ACTIVE if doubt is None else FactState.REVIEW
        key = key_of(content)
        old = said.aside.get(key)
        if old is not None and key not in said.believed:
            unit.facts.add_source(tenant, old.id, source)
            if reason is not None:
                return old, _Became.REPEATED
            importance = max(old.importance, item.candidate.importance)
            fact = self.changed(
                unit, tenant, old, FactAction.TAKEN_UP, now=now, state=state, doubt=doubt, importance=importance
            )
        else:
            fact = Fact(
                id=uuid7(now, self.randomness(10)),
                owner=owner,
                agent=origin.row.key.agent,
                subject=about.subject,
                category=item.candidate.category,
                content=content,
                importance=item.candidate.importance,
                state=state if reason is None else FactState.ASIDE,
                trust=item.message.trust,
                doubt=doubt if reason is None else reason,
                valid_from=item.message.created_at,
                created_at=now,
                updated_at=now,
                sources=(source,),
            )
            twin = reason is not None and key in said.believed
            if twin or not self.kept(unit, tenant, fact, FactAction.LEARNED):
                return fact, _Became.REPEATED  # letter by letter the same under another category
        if reason is not None:
            said.aside[key] = fact
            return fact, _Became.ASIDE
        said.believed.add(key)
        if doubt is None:
            self._close(unit, tenant, merged, known, fact, said, now=now)
        return fact, _Became.NEW if old is None else _Became.TAKEN_UP

    def _weighed(
        self, unit: Unit, tenant: str, fact: Fact, again: Merge, known: Sequence[Fact], said: _Said, *, now: datetime
    ) -> Fact:
        """A fact in review that was said again: believed unless it is doubtful still, or an active one says it."""
        if again.same is not None or again.doubt == fact.doubt:
            return fact
        state = FactState.ACTIVE if again.doubt is None else FactState.REVIEW
        new = self.changed(unit, tenant, fact, FactAction.LEARNED, now=now, state=state, doubt=again.doubt)
        self._close(unit, tenant, again, known, new, said, now=now)
        return new

    def _close(
        self, unit: Unit, tenant: str, merged: Merge, known: Sequence[Fact], fact: Fact, said: _Said, *, now: datetime
    ) -> None:
        for other in known:
            if other.id in merged.closes:
                self.superseded(unit, tenant, other, fact, now=now)
                said.believed.discard(key_of(other.content))

    def _make_room(self, unit: Unit, tenant: str, owner: str, subject: str, *, now: datetime) -> int:
        """Set aside what is more than is kept; how many facts."""
        weak = self.keeping.over(unit, tenant, owner, subject, now=now)
        for fact in weak:
            reason = too_many(self.keeping.limits)
            self.changed(unit, tenant, fact, FactAction.SET_ASIDE, now=now, state=FactState.ASIDE, doubt=reason)
        return len(weak)

    def _drop(self, unit: Unit, tenant: str, owner: str, subject: str, *, now: datetime) -> int:
        """Let go of what is more than stays set aside; how many facts. What they took the place of stays closed."""
        gone = self.keeping.over_aside(unit, tenant, owner, subject, now=now)
        for fact in gone:
            closed = [old.id for old in unit.facts.replaced_by(tenant, owner, fact.id)]
            if closed:
                unit.exchange.forget_successors(tenant, closed)
            unit.facts.delete(tenant, fact.id)
        return len(gone)


def _source(item: Judged, origin: Origin, *, now: datetime) -> Source:
    seq = item.message.seq
    span = item.judgement.span
    holds = span if seq in span else SeqRange(seq, seq + 1)
    return Source(
        session_id=origin.row.id,
        key=origin.row.key,
        seq=seq,
        message_id=item.message.id,
        quote=item.judgement.quote,
        range=holds,
        trust=item.message.trust,
        model=origin.model,
        prompt_version=origin.prompt_version,
        learned_at=now,
    )


def fact_id_of(text: str) -> UUID:
    """The id in a text.

    Raises:
        InvalidInput: it is none.

    """
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is no id of a fact: `anaphora facts list` shows them") from None
