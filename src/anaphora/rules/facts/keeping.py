"""Which facts are kept, and which are set aside. Pure.

How important a fact is was said by a model that read a conversation: whoever talks can make it say 10. So stated
importance alone decides little. What the owner pinned, confirmed or added always stays. Of the rest those stay that
were said in several sessions, before whatever was said in one only, however important that was called.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID

from anaphora.domain.facts import LEAST_IMPORTANT, Fact
from anaphora.domain.keeping import AsideFor, Held
from anaphora.domain.messages import Trust

#: active facts of one owner and subject: twenty times what a prompt has room for, and what a person can still look
#: through; all of them are read and weighed within a few milliseconds
CAPACITY: Final = 500
#: learned of one message: a message that tells more about its author is rarely one that somebody typed
PER_MESSAGE: Final = 8
#: learned of one session in a day
PER_SESSION: Final = 60
#: facts that are set aside, for each that is kept
ASIDE: Final = 4
#: there is room again for this share of the capacity when facts were set aside: it is not done for each new one
_ROOM: Final = 0.05
#: what is not the owner's word may say this share of what the owner's may
_OF_OTHERS: Final = 4
_OWNER: Final = (Trust.OWNER_CONFIRMED, Trust.OWNER_SAID)

#: what counts of the importance of a fact that one session alone says
_SAID_ONCE: Final = 6
#: a second session that says it counts more than all that one session can say; each further one a little
_SAID_AGAIN: Final = 6
_FURTHER: Final = 3
#: what was said just now counts so much more than what was said long ago: less than one step of importance
_FRESH: Final = 0.9
_HALF_LIFE_DAYS: Final = 180.0
_DAY_SECONDS: Final = 86_400.0

_IMPORTANCE, _SOURCE = "importance ", ("of one message", "of one session in a day")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many facts are kept."""

    #: active ones of one owner and subject
    capacity: int = CAPACITY
    #: that nothing but one message says
    per_message: int = PER_MESSAGE
    #: that nothing but one session says, of one day
    per_session: int = PER_SESSION

    @property
    def aside(self) -> int:
        """How many stay set aside."""
        return ASIDE * self.capacity

    def of_message(self, trust: Trust) -> int:
        """That one message of this trust may say."""
        return self.per_message if trust in _OWNER else max(1, self.per_message // _OF_OTHERS)

    def of_session(self, trust: Trust) -> int:
        """That messages of this trust may say in one session and day."""
        return self.per_session if trust in _OWNER else max(1, self.per_session // _OF_OTHERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement that may become a fact, and where it comes from."""

    seq: int
    day: date
    importance: int
    trust: Trust


def is_kept(importance: int, least: int) -> bool:
    """It is as important as is asked for."""
    return importance >= least


def too_unimportant(importance: int, least: int) -> str:
    """Why it is set aside."""
    return f"{_IMPORTANCE}{importance} is below {least}"


def too_many(limits: Limits) -> str:
    """Why it is set aside: there are more than are kept."""
    return f"more than {_facts(limits.capacity)}"


def aside_for(reason: str | None) -> AsideFor:
    """Which kind of reason it is."""
    if reason is not None and reason.startswith(_IMPORTANCE):
        return AsideFor.IMPORTANCE
    if reason is not None and reason.endswith(_SOURCE):
        return AsideFor.SOURCE
    return AsideFor.CAPACITY


def over_caps(
    claims: Sequence[Claim], limits: Limits, *, of_messages: Mapping[int, int], of_days: Mapping[date, int]
) -> Mapping[int, str]:
    """Which statements of one session are more than is kept of their message, or of their session in a day.

    The least important go; of those that are equal, what was proposed last.

    Args:
        claims: what is new.
        limits: how many are kept.
        of_messages: how many facts are there that nothing but these messages says.
        of_days: how many are there that nothing but this session says, of these days.

    Returns:
        The reasons, by the places of the statements.

    """
    said: Counter[int] = Counter(of_messages)
    learned: Counter[date] = Counter(of_days)
    over: dict[int, str] = {}
    for place in sorted(range(len(claims)), key=lambda at: (-claims[at].importance, at)):
        claim = claims[place]
        most, most_a_day = limits.of_message(claim.trust), limits.of_session(claim.trust)
        if said[claim.seq] >= most:
            over[place] = f"more than {_facts(most)} {_SOURCE[0]}"
        elif learned[claim.day] >= most_a_day:
            over[place] = f"more than {_facts(most_a_day)} {_SOURCE[1]}"
        else:
            said[claim.seq] += 1
            learned[claim.day] += 1
    return over


def is_protected(fact: Fact) -> bool:
    """The owner wants it: it was pinned, confirmed, or added by hand."""
    return fact.pinned or fact.kept_by_owner


def worth(held: Held, *, now: datetime) -> float:
    """How much is to be said for keeping a fact that its owner has not spoken for; more is better.

    A fact of one session has at most 6.9, one of several sessions more than 7, whatever importance was stated.
    """
    fact = held.fact
    age = max(0.0, (now - (held.said_at or fact.created_at)).total_seconds() / _DAY_SECONDS)
    fresh = _FRESH * math.pow(0.5, age / _HALF_LIFE_DAYS)
    if held.sessions < 2:
        return min(fact.importance, _SAID_ONCE) + fresh
    return fact.importance + _SAID_AGAIN + min(held.sessions - 2, _FURTHER) + fresh


def weakest(held: Sequence[Held], *, spare: int, now: datetime) -> Sequence[UUID]:
    """The facts that go where there are more than are kept: those that are worth least, never a protected one.

    Of those that are worth the same the newest goes.

    Args:
        held: the facts.
        spare: how many are to go; fewer do if all others are protected.
        now: the time.

    """
    open_to_it = [each for each in held if not is_protected(each.fact)]
    open_to_it.sort(key=lambda each: (worth(each, now=now), -each.fact.created_at.timestamp(), -each.fact.id.int))
    return [each.fact.id for each in open_to_it[: max(0, spare)]]


def spare_of(count: int, most: int) -> int:
    """How many of so many facts are to go: none up to the most, else so many that there is some room again."""
    return count - (most - int(most * _ROOM)) if count > most else 0


def least_of(asked: int | None, by_strategy: int) -> int:
    """The least importance that is kept: what is asked for, or what the strategy asks for."""
    return max(LEAST_IMPORTANT, by_strategy if asked is None else asked)


def _facts(many: int) -> str:
    return f"{many:,} fact" if many == 1 else f"{many:,} facts"
