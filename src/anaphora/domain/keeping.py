"""Facts where there are more than are kept: what decides which stay, and how many stand where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from anaphora.domain.facts import Fact, FactState


class AsideFor(StrEnum):
    """Why facts are set aside, as they are counted."""

    #: less important than is asked for
    IMPORTANCE = "importance"
    #: one message, or one session in a day, said more than is kept of it
    SOURCE = "source"
    #: there were more than are kept in all
    CAPACITY = "capacity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A fact, and how often it was said."""

    fact: Fact
    #: the sessions that say it
    sessions: int
    #: when it was last learned; None: nothing says it
    said_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactCounts:
    """How many facts of a user's own stand where."""

    by_state: Mapping[FactState, int] = field(default_factory=dict)
    #: of those that are set aside
    aside_for: Mapping[AsideFor, int] = field(default_factory=dict)

    @property
    def aside(self) -> int:
        """How many are set aside."""
        return self.by_state.get(FactState.ASIDE, 0)
