"""What holds for a whole sentence: what of it is asked, taken for granted, or over."""

from __future__ import annotations

import re
from typing import Final

from anaphora.rules.facts.lexicon import PERSONS, POSSESSIVES
from anaphora.rules.facts.markers import FAILED, Mood, past_state
from anaphora.rules.facts.said import Said, Who
from anaphora.rules.facts.words import STOP

BREAK: Final = re.compile(r"[,;:()—!?…，；：、]| - ")
_QUESTION: Final = re.compile(
    r"^(?:and |but |so |or |ok(?:ay)? |also |hey |hi )*(?:what|what's|whats|where|when|why|how|how's|who|who's"
    r"|whom|which"
    r"|whose|is|are|am|was|were|do|does|did|can|could|should|shall|would|will|have|has|had|may|might|isn't|aren't"
    r"|don't"
    r"|doesn't|didn't|can't|won't|any)\b",
)
_TAG: Final = re.compile(r"^(?:right|ok|okay|you know|remember|huh|isn't it|don't you think|no|yes|correct|got it)\W*$")
#: words of a name phrase after "my"
_OWNED: Final = 6


#: what follows them in a question is taken for granted
_GRANTED: Final = frozenset(["that", "because", "since", "although", "though"])
_DOUBTED: Final = frozenset(
    ["true", "possible", "likely", "think", "mean", "means", "say", "sure", "mind", "than", "is", "like"]
)


def ask(sentence: str, offset: int, words: list[Said]) -> None:
    """Mark what is asked: from the clause that begins like a question to the end."""
    stripped = sentence.rstrip()
    if not stripped.endswith(("?", "？")):
        return
    pieces = [(match.start(), match.group()) for match in re.finditer(r"[^,;:—(，；：]+", stripped)]
    asked = None
    for at, piece in pieces:
        low = piece.strip().casefold()
        if _QUESTION.match(low) and not _TAG.match(low):
            asked = at
            break
    if asked is None and pieces:
        tagged = len(pieces) > 1 and _TAG.match(pieces[-1][1].strip().casefold()) and _personal(words)
        asked = (
            None
            if tagged
            else 0
            if len(pieces) == 2 and _TAG.match(pieces[-1][1].strip().casefold())
            else pieces[-1][0]
        )
    if asked is None:
        return
    told, before = False, ""
    for word in words:
        if word.start - offset < asked:
            continue
        told = told or (word.low in _GRANTED and before not in _DOUBTED)
        before = word.low
        word.mood = Mood.FACT if told else Mood.QUESTION


def _personal(words: list[Said]) -> bool:
    return any(word.who is not Who.OPEN or word.low in POSSESSIVES for word in words)


_JOINS: Final = frozenset(["at", "in", "of", "from", "the"])


#: "her" is left out: "I gave her money"
_OTHERS: Final = frozenset(["his", "their"])


def _give(sentence: str, offset: int, words: list[Said], at: int) -> None:
    """What stands after "his" is not the speaker's."""
    last = words[at].end
    for word in words[at + 1 : at + 4]:
        if BREAK.search(sentence[last - offset : word.start - offset]) or word.low in STOP:
            break
        word.who = Who.THEY
        last = word.end


def _of_others(sentence: str, offset: int, words: list[Said], at: int) -> bool:
    """Whether "is" says whose a thing is: "the gardening is my wife's thing"."""
    if at + 2 >= len(words) or words[at + 1].low not in POSSESSIVES or words[at + 2].stem not in PERSONS:
        return False
    return sentence[words[at + 2].end - offset :].startswith("'s ")


def own(sentence: str, offset: int, words: list[Said]) -> None:
    """Mark the words of "my ..." and "as a ...": they are taken for granted even in a question."""
    for at, word in enumerate(words):
        if word.low in {"is", "are", "was"} and _of_others(sentence, offset, words, at):
            for other in words:
                other.who = Who.THEY if other.clause == word.clause else other.who
        if word.low in _OTHERS:
            _give(sentence, offset, words, at)
        if word.low == "ex" and at + 1 < len(words) and words[at + 1].start == word.end + 1:
            words[at + 1].negative = words[at + 1].over = True
        as_a = word.low in {"a", "an"} and at and words[at - 1].low == "as"
        if word.low not in POSSESSIVES and not as_a:
            continue
        last = word.end
        for other in words[at + 1 : at + 2 + _OWNED]:
            gap = sentence[last - offset : other.start - offset]
            ends = other.low in STOP and not other.low.isdigit() and other.low not in _JOINS
            if BREAK.search(gap) or "'s" in gap or ends:
                break
            other.owned = True
            last = other.end


def past(sentence: str, offset: int, words: list[Said]) -> None:
    """Mark clauses that tell of a state in the past: it may be over."""
    clauses: dict[int, list[Said]] = {}
    for word in words:
        clauses.setdefault(word.clause, []).append(word)
    for members in clauses.values():
        text = sentence[members[0].start - offset : members[-1].end - offset].casefold()
        if FAILED.search(text):
            for word in members:
                word.negative = True
        if past_state(text):
            for word in members:
                word.over = True
