"""What a statement is weighed against, and what was found for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anaphora.rules.language.markers import Mood
from anaphora.rules.language.said import Said


@dataclass(frozen=True, slots=True)
class Source:
    """Something that was said, near or far from the quote."""

    words: Sequence[Said]
    text: str
    #: 0: the sentences of the quote; 1: the rest of its message; 2: other messages of the same person; 3: a question
    rank: int
    #: number of the message
    seq: int
    #: the quote itself, if it stands in it
    quoted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is known of the statement as a whole."""

    #: stems of the people it speaks of, other than the speaker
    people: frozenset[str]
    #: all its stems
    topics: frozenset[str]
    #: stems of the speaker's and the subject's names
    free: frozenset[str]
    #: it has numbers or dates
    dated: bool
    instruction: bool
    #: it keeps a condition: "if", "when"
    conditional: bool
    #: it gives a name to something
    named: bool
    #: it tells of something in the past
    past: bool
    #: something in it is denied
    negative: bool
    #: it tells of a change: "from", "instead of"
    changes: bool
    #: it tells that something is not done, not there or given up: "declined", "without"
    denies: bool
    #: for a name or a role, the others by which the same person was called
    aliases: Mapping[str, frozenset[str]]
    #: stems of what it says there is none of
    none: frozenset[str]
    #: stems of what it only is about: "an evening about fostering"
    about: frozenset[str]
    #: how far the statement as a whole is meant as a fact
    mood: Mood
    #: it tells what somebody does not bear
    averse: bool
    #: it tells what somebody does not like
    disfavours: bool


@dataclass(slots=True)
class Weighed:
    """What was found for a statement."""

    #: telling stems of the statement, and those that nobody said
    total: int = 0
    missing: list[str] = field(default_factory=list)
    #: those of them that tell less
    vague: set[str] = field(default_factory=set)
    #: what the sources say otherwise: the first reason counts
    conflicts: list[str] = field(default_factory=list)
    #: people, likings and the like that were not spoken of
    added: list[str] = field(default_factory=list)
    #: telling stems, numbers and names that the quote's own message has
    near: int = 0
    #: numbers and names of the statement: if they were not said, that is a conflict
    anchors: int = 0
    #: it tells what was not said, beyond a rewording
    more: bool = False
    #: messages that were needed
    used: set[int] = field(default_factory=set)

    @property
    def share(self) -> float:
        """The telling stems that were found."""
        everything = self.total + self.anchors
        return 1.0 if not everything else 1 - len(self.missing) / everything
