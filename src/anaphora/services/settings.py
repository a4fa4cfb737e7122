"""Numbers that services share. Values only: nothing is read from anywhere here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from anaphora.errors import UnknownName
from anaphora.ports.strategies import Compaction
from anaphora.rules.batching import BatchLimits
from anaphora.rules.retry import RetryPolicy

#: the strategy whose sessions are reflected upon unless all of them are
TOPICS: Final = "topics"
#: name of the reader that says how far a session was reflected upon
NOTEPAD_READER: Final = "live:notepad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategies:
    """The configured compactions by name, and the one that sessions get if they name none."""

    by_name: Mapping[str, Compaction]
    default: str

    def get(self, name: str | None) -> Compaction:
        """The strategy of a session.

        With the numbers of an agent (`token_budget@research`), if they are known here; else with those of everybody.

        Raises:
            UnknownName: no such strategy is configured.

        """
        wanted = name or self.default
        found = self.by_name.get(wanted) or self.by_name.get(without_agent(wanted))
        if found is None:
            raise UnknownName("strategy", wanted, self.by_name)
        return found

    def own(self, name: str | None, agent: str) -> str | None:
        """The name of the strategy with the agent's own numbers, if it has some; else the name as it is."""
        mine = of_agent(name or self.default, agent)
        return mine if mine in self.by_name else name


def of_agent(strategy: str, agent: str) -> str:
    """Name of a strategy with the numbers of one agent."""
    return f"{strategy}@{agent}"


def without_agent(strategy: str) -> str:
    """Name of the strategy, whosever numbers it has."""
    return strategy.partition("@")[0]


def live_reader(strategy: str) -> str:
    """Name of the reader whose head the served chain of summaries hangs on."""
    return f"live:{strategy}"


def rebuild_reader(strategy: str) -> str:
    """Name of the reader that builds a new chain beside the live one."""
    return f"rebuild:{strategy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """How background work is sized and retried."""

    batch: BatchLimits = field(default_factory=BatchLimits)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    #: how long a claim holds without a heartbeat
    lease_seconds: float = 30.0
    #: tokens of new messages in one prompt; longer messages are cut visibly
    input_tokens: int = 6000
    #: seconds before a digest is first re-done
    redo_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Which sessions are reflected upon, and how long a page of a notepad may be."""

    #: those that are served by the strategy `topics`, all, or none
    sessions: Literal["topics", "all", "none"] = "topics"
    #: tokens of a page; also the most that it takes of a prompt
    tokens: int = 200

    def of(self, strategy: str) -> bool:
        """Whether sessions of a strategy are reflected upon, and see their notepad."""
        return self.sessions == "all" or (self.sessions == "topics" and strategy == TOPICS)
