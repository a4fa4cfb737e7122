"""How long sessions are kept, and what keeps them longer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from anaphora.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """After how many silent days a session is put out of sight, and after how many more it is erased.

    What was made of a session alone goes with it; what others say too stays as long as the last of them.

    Raises:
        InvalidInput: a number of days that is none.

    """

    #: None: sessions are kept for ever
    days: float | None = None
    #: agents whose sessions are kept for another time; None: for ever
    by_agent: Mapping[str, float | None] = field(default_factory=dict)
    #: days after which what is out of sight is erased
    grace_days: float = 7.0
    #: whether sessions expire of which something is still to be read or summarised
    unsummarised: bool = False

    def __post_init__(self) -> None:
        for days in (self.days, self.grace_days, *self.by_agent.values()):
            if days is not None:
                checked_days(days)

    @property
    def shortest(self) -> float | None:
        """After how many silent days any session may expire that has no time of its own; None: none ever."""
        return min((days for days in (self.days, *self.by_agent.values()) if days is not None), default=None)

    def days_of(self, agent: str, own: float | None) -> float | None:
        """After how many silent days a session expires; `own` is what was said of this one. None: never."""
        if own is not None:
            return own
        return self.by_agent.get(agent, self.days)

    def expires_at(self, agent: str, own: float | None, used_at: datetime) -> datetime | None:
        """When a session expires that was last used then; None: never."""
        days = self.days_of(agent, own)
        return None if days is None else used_at + timedelta(days=days)

    def is_over(self, agent: str, own: float | None, used_at: datetime, now: datetime) -> bool:
        """Whether a session that was last used then has been kept for its time."""
        at = self.expires_at(agent, own, used_at)
        return at is not None and at <= now

    def erased_at(self, expired_at: datetime) -> datetime:
        """Until when what expired then can be brought back."""
        return expired_at + timedelta(days=self.grace_days)


def checked_days(days: float) -> float:
    """A number of days that something may be kept.

    Raises:
        InvalidInput: it is negative, or more than a hundred years.

    """
    if not 0 <= days <= 36_525:
        raise InvalidInput(f"a session is kept for 0 to 36,525 days, not {days:g}")
    return float(days)
