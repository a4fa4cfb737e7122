"""What operators watch: how much there is, of all tenants together, and nothing of anybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts over a whole database."""

    sessions: int = 0
    messages: int = 0
    #: versions of summaries, by how they stand and how they were made
    summaries: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: those whose making took measurable time, and milliseconds: of all of them, and of the slowest
    timed: int = 0
    generation_ms: int = 0
    slowest_ms: int = 0
    #: jobs by kind and state
    jobs: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: jobs that should have moved a while ago
    stuck: int = 0
    #: messages behind the summaries that are served
    gap: int = 0
    #: tokens of the messages that summaries are served for, and of these summaries
    summarised_tokens: int = 0
    summary_tokens: int = 0

    @property
    def queued(self) -> int:
        """Jobs that wait or run."""
        return sum(count for (_, state), count in self.jobs.items() if state in {"queued", "running"})

    @property
    def saved_tokens(self) -> int:
        """Tokens that prompts with these summaries do without."""
        return max(0, self.summarised_tokens - self.summary_tokens)


def together(parts: Iterable[Figures]) -> Figures:
    """The figures of several databases as those of one."""
    found = list(parts)

    def added(name: str) -> int:
        return sum(getattr(each, name) for each in found)

    return Figures(
        sessions=added("sessions"),
        messages=added("messages"),
        summaries=_merged(each.summaries for each in found),
        timed=added("timed"),
        generation_ms=added("generation_ms"),
        slowest_ms=max((each.slowest_ms for each in found), default=0),
        jobs=_merged(each.jobs for each in found),
        stuck=added("stuck"),
        gap=added("gap"),
        summarised_tokens=added("summarised_tokens"),
        summary_tokens=added("summary_tokens"),
    )


def _merged(counts: Iterable[Mapping[tuple[str, str], int]]) -> Mapping[tuple[str, str], int]:
    merged: dict[tuple[str, str], int] = {}
    for each in counts:
        for name, count in each.items():
            merged[name] = merged.get(name, 0) + count
    return merged
