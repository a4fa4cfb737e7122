"""Rules of those who look back: the past is exactly what was served then."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from tests.machine.machine import PLACES, TURNS
from tests.machine.subjects import KEY
from tests.machine.talking import Talking

from anaphora.domain.context import Context
from anaphora.domain.messages import Message
from anaphora.domain.summaries import Summary

QUERY = "what was that again?"
#: moments that are remembered at a time
MOST = 2


@dataclass(frozen=True)
class Seen:
    """What was served at a moment."""

    context: Context
    summaries: tuple[Summary, ...]
    messages: tuple[Message, ...]

    def __sub__(self, other: Seen) -> list[str]:
        """What is not the same."""
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in ("context", "summaries", "messages"))
        return [f"{name}: {ours} is not {theirs}" for name, ours, theirs in pairs if ours != theirs]


class Past(Talking):
    """Remembers what was served at some moments, and asks for it again later."""

    def __init__(self) -> None:
        super().__init__()
        #: what was served at a moment in a budget, and how many changes there had been
        self.remembered: dict[tuple[int | datetime, int], tuple[Seen, int]] = {}
        #: the clock was not set back since the session began: times are in the order of what happened
        self.times_are_good = True

    @rule(budget=st.sampled_from([200, 100_000]), roles=TURNS)
    def look_and_go_on(self, budget: int, roles: tuple[str, ...]) -> None:
        """What is served last before a message comes is what is served as of its number."""
        self._remember(self.log.head, budget)
        self.subject.append(roles)

    @precondition(lambda self: self.times_are_good)
    @rule(budget=st.sampled_from([200, 100_000]))
    def look_at_this_time(self, budget: int) -> None:
        """What is served last at a time is what is served as of it."""
        self._remember(self.subject.clock.now(), budget)
        self.subject.run(self.subject.clock.advance(1))

    @precondition(lambda self: self.remembered)
    @rule(place=PLACES)
    def look_back(self, place: int) -> None:
        moments = list(self.remembered)
        self._compare(*moments[place % len(moments)])
        del self.remembered[moments[place % len(moments)]]

    def clock_was_set(self, seconds: float) -> None:
        super().clock_was_set(seconds)
        if seconds < 0:
            self.times_are_good = False
            self.remembered = {key: seen for key, seen in self.remembered.items() if isinstance(key[0], int)}

    def was_reset(self, gone: int) -> None:
        super().was_reset(gone)
        self.remembered.clear()
        self.times_are_good = True

    def at_the_end(self) -> None:
        for moment, budget in self.remembered:
            self._compare(moment, budget)
        super().at_the_end()

    def _remember(self, moment: int | datetime, budget: int) -> None:
        if len(self.remembered) < MOST:
            seen = self._look(budget)
            current = [m.content for m in seen.messages]
            assert current == [self.log.text(seq) for seq in sorted(self.log.live)[-30:]]
            self.remembered[moment, budget] = seen, self.log.versions

    def _compare(self, moment: int | datetime, budget: int) -> None:
        before, changes = self.remembered[moment, budget]
        other = self._look(budget, moment) - before
        assert not other, f"as of {moment} there is another past: {other}"
        by = "number" if isinstance(moment, int) else "time"
        self.seen[f"looked back by {by}"] += 1
        self.seen[f"looked back by {by} past a change"] += changes != self.log.versions

    def _look(self, budget: int, as_of: int | datetime | None = None) -> Seen:
        run, services = self.subject.run, self.subject.services
        return Seen(
            context=run(services.contexts.build(KEY, QUERY, budget=budget, as_of=as_of)),
            summaries=tuple(run(services.sessions.summaries(KEY, as_of=as_of))),
            messages=tuple(run(services.sessions.newest(KEY, limit=30, as_of=as_of))),
        )
