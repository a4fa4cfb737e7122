"""What of an owner's facts is kept: which are more than is asked for. It only reads, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final

from anaphora.domain.facts import Candidate, Fact, FactState
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message
from anaphora.ports.rows import SessionRow
from anaphora.ports.store import Unit
from anaphora.rules.facts.keeping import (
    Claim,
    Limits,
    is_kept,
    least_of,
    over_caps,
    spare_of,
    too_unimportant,
    weakest,
)
from anaphora.services.settings import Strategies

#: what one batch may bring beyond what is kept, and is weighed with it
_BATCH: Final = 1_000
#: facts that go at once; a store that has far too many needs several batches
_AT_ONCE: Final = 500
#: messages before a batch in which the facts of its day are counted: it takes as long in a session without an end
_REACH: Final = 5_000

#: a candidate, the message that it quotes, and whether no fact says so letter by letter
New = tuple[Candidate, Message, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How much is kept, and of whom."""

    strategies: Strategies
    limits: Limits = field(default_factory=Limits)
    #: the least importance, whatever the strategy; None: what it asks for
    least: int | None = None
    #: agents with a least importance of their own
    least_by_agent: Mapping[str, int] = field(default_factory=dict)

    def least_importance(self, row: SessionRow) -> int:
        """How important what is learned of a session must be."""
        asked = self.least_by_agent.get(row.key.agent, self.least)
        return least_of(asked, self.strategies.get(row.strategy).least_importance)

    def reasons(self, unit: Unit, row: SessionRow, new: Sequence[New]) -> Sequence[str | None]:
        """Why each candidate is to be set aside; None: it is kept."""
        least = self.least_importance(row)
        reasons: list[str | None] = [
            None if is_kept(candidate.importance, least) else too_unimportant(candidate.importance, least)
            for candidate, _, _ in new
        ]
        places = [at for at, (_, _, is_new) in enumerate(new) if is_new and reasons[at] is None]
        claims = [_claim(*new[at][:2]) for at in places]
        if not claims:
            return reasons
        tenant, first = row.key.tenant, min(claim.seq for claim in claims)
        of_messages = {
            seq: unit.facts.resting(tenant, row.id, SeqRange(seq, seq + 1)) for seq in {claim.seq for claim in claims}
        }
        reach = SeqRange(max(0, first - _REACH), max(row.head, *(claim.seq + 1 for claim in claims)))
        days: set[date] = {claim.day for claim in claims}
        of_days = {day: unit.facts.resting(tenant, row.id, reach, day=day) for day in days}
        over = over_caps(claims, self.limits, of_messages=of_messages, of_days=of_days)
        for place, reason in over.items():
            reasons[places[place]] = reason
        return reasons

    def over(self, unit: Unit, tenant: str, owner: str, subject: str, *, now: datetime) -> Sequence[Fact]:
        """The active facts that are more than are kept, if there are."""
        return _over(unit, tenant, owner, subject, FactState.ACTIVE, self.limits.capacity, now=now)

    def over_aside(self, unit: Unit, tenant: str, owner: str, subject: str, *, now: datetime) -> Sequence[Fact]:
        """The facts set aside that are more than stay so, if there are."""
        return _over(unit, tenant, owner, subject, FactState.ASIDE, self.limits.aside, now=now)


def _claim(candidate: Candidate, message: Message) -> Claim:
    day = message.created_at.astimezone(UTC).date()
    return Claim(seq=message.seq, day=day, importance=candidate.importance, trust=message.trust)


def _over(
    unit: Unit, tenant: str, owner: str, subject: str, state: FactState, most: int, *, now: datetime
) -> Sequence[Fact]:
    spare = spare_of(unit.facts.count(tenant, owner, subject, state), most)
    if not spare:
        return ()
    held = unit.facts.held(tenant, owner, subject, state, limit=most + _BATCH)
    by_id = {each.fact.id: each.fact for each in held}
    return [by_id[uid] for uid in weakest(held, spare=min(spare, _AT_ONCE), now=now)]
