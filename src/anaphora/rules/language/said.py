"""A word as it was said: of whom it speaks, and how it is meant."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from anaphora.rules.language.markers import Mood


class Who(IntEnum):
    """The kind of the grammatical subject."""

    #: nobody is named: "allergic to nuts", "my favourite colour", "it"
    OPEN = 0
    #: the one who speaks, alone or with others
    SPEAKER = 1
    #: people named or told by how they are related
    OTHERS = 2
    #: "he", "she", "they"
    THEY = 3
    YOU = 4
    #: everybody, nobody in particular
    ANYBODY = 5


@dataclass(slots=True)
class Said:
    """One word, and how it is meant."""

    low: str
    stem: str
    start: int
    end: int
    #: number of its sentence
    sentence: int
    #: number of its statement within the text
    clause: int = 0
    who: Who = Who.OPEN
    #: stems that name the subject, if it is `OTHERS`
    whom: frozenset[str] = frozenset()
    #: denied or disfavoured
    negative: bool = False
    #: a word of its clause is denied, before it or after it
    denied: bool = False
    #: only set against what is preferred
    compared: bool = False
    #: it was not so then; it may be now: "before that we had none"
    lacked: bool = False
    #: it was so, and is no more
    over: bool = False
    #: what is spoken of is there no more: sold, left, dropped
    gone: bool = False
    mood: Mood = Mood.FACT
    #: within "my ...": that is taken for granted, whatever is said about it
    owned: bool = False
    #: written with a capital letter
    capital: bool = False
    #: the first word of its sentence
    opens: bool = False
