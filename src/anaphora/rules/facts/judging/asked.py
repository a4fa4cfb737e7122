"""What holds for a whole sentence: what of it is asked, taken for granted, or over."""

from __future__ import annotations

import re
from bisect import bisect
from typing import Final

from anaphora.rules.facts.judging.subjects import OF_PERSONS
from anaphora.rules.language.lexicon import POSSESSIVES, is_person
from anaphora.rules.language.markers import BEFORE, COMING, ENDED, FAILED, SOMEDAY, UNDERWAY, YOUTH, Mood, past_state
from anaphora.rules.language.said import Said, Who
from anaphora.rules.language.words import STOP

BREAK: Final = re.compile(r"[,;:()—!?…，；：、]| - ")
_QUESTION: Final = re.compile(
    r"^(?:and |but |so |or |ok(?:ay)? |also |hey |hi )*(?:what|what's|whats|where|when|why|how|how's|who|who's"
    r"|whom|which"
    r"|whose|is|are|am|was|were|do|does|did|can|could|should|shall|would|will|have|has|had|may|might|isn't|aren't"
    r"|don't"
    r"|doesn't|didn't|can't|won't|any)\b",
)
#: "been learning it for 8 months??" wonders, and asks nothing
_TOLD: Final = re.compile(r"^(?:i've |ive |we've |i have |so |ok |and )*been \w+ing\b")
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
    if not stripped.endswith(("?", "？")) or (stripped.endswith("??") and _TOLD.match(stripped.casefold())):
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


#: before "free" they mean something else: "feel free", "manure for free"
_FREELY: Final = frozenset(["feel", "get", "got", "feels", "set", "totally", "completely", "mostly", "usually"])
#: "her" is left out: "I gave her money"
_OTHERS: Final = frozenset(["his", "their"])


#: "Simone's job at the bank" is all of it Simone's
_THROUGH: Final = frozenset(["at", "in", "with", "the"])


def _give(sentence: str, offset: int, words: list[Said], at: int, *, through: frozenset[str] = frozenset()) -> None:
    """What stands after "his" is not the speaker's."""
    last = words[at].end
    for word in words[at + 1 : at + (7 if through else 4)]:
        gap = sentence[last - offset : word.start - offset]
        if BREAK.search(gap) or (word.low in STOP and word.low not in through):
            break
        word.who, word.whom = (Who.OTHERS, frozenset([words[at].stem])) if through else (Who.THEY, frozenset())
        last = word.end


def _of_others(sentence: str, offset: int, words: list[Said], at: int) -> bool:
    """Whether "is" says whose a thing is: "the gardening is my wife's thing"."""
    if at + 2 >= len(words) or words[at + 1].low not in POSSESSIVES or not is_person(words[at + 2].low):
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
        if ((word.capital and not word.opens) or is_person(word.low)) and sentence[word.end - offset :].startswith(
            "'s "
        ):
            _give(sentence, offset, words, at, through=_THROUGH)
        if word.low == "free" and at and words[at - 1].low not in STOP and words[at - 1].low not in _FREELY:
            words[at - 1].negative = not words[at - 1].negative
        if word.low == "ex" and at + 1 < len(words) and words[at + 1].start == word.end + 1:
            words[at + 1].negative = words[at + 1].over = True
        as_a = word.low in {"a", "an"} and at and words[at - 1].low == "as"
        if word.low not in POSSESSIVES and not as_a:
            continue
        last, whose = word.end, False
        for other in words[at + 1 : at + 2 + _OWNED]:
            gap = sentence[last - offset : other.start - offset]
            ends = other.low in STOP and not other.low.isdigit() and other.low not in _JOINS
            acts = whose and other.low.islower() and not other.capital and not is_person(other.low)
            if BREAK.search(gap) or "'s" in gap or ends or (acts and other.low not in OF_PERSONS):
                break
            other.owned = True
            last, whose = other.end, is_person(other.low) or (whose and other.capital)


def deny(sentence: str, offset: int, words: list[Said]) -> None:
    """Mark the clauses of which something is denied: "charts must not be red" denies the charts too."""
    spans = [(behind.start(1), behind.end()) for behind in _AFTER.finditer(sentence.casefold())]
    for word in words if spans else ():
        at = bisect(spans, (word.start - offset, len(sentence))) - 1
        word.negative |= at >= 0 and word.start - offset < spans[at][1]
    # the last word tells: "can't say no to cake" denies nothing
    last = {word.clause: word for word in words}
    for word in words:
        end = last[word.clause]
        word.denied = end.negative and not end.compared


_IF: Final = re.compile(r"\b(?:if|once|unless|in case) (?:i|we|my|our|the|he|she|they|it|this|that)\b")
_THEN: Final = re.compile(
    r"\b(?:\w+'ll|will|would|\w+'d|going to|gonna|could|might|(?:i'm|we're|he's|she's|they're) \w+ing)\b"
)
_SO_FAR: Final = re.compile(r";|\bbut\b|\buntil\b|\bfor now\b|\bbecause\b|$")


def suppose(sentence: str, offset: int, words: list[Said]) -> None:
    """Mark what would follow from a condition: in "if I win I'm buying a house, getting a dog" nothing is so yet."""
    low = sentence.casefold()
    condition = _IF.search(low)
    if condition is None or not any(
        word.mood is Mood.CONDITION and word.start - offset == condition.start() for word in words
    ):
        return
    then = _THEN.search(low, condition.end())
    if then is None:
        return
    stop = _SO_FAR.search(low, then.start())
    for word in words:
        if then.start() <= word.start - offset < (stop.start() if stop else len(low)):
            word.mood = max(word.mood, Mood.CONDITION)


#: what was felt, or was, and not what happened
_STATES: Final = re.compile(
    r"\b(?:was|were|had|used|hated|loved|liked|feared|couldn't|wanted|believed|dreamed|played|collected|smoked)\b"
)


def expect(sentence: str, offset: int, words: list[Said]) -> None:
    """Mark what is still to come, only wished for, or over, wherever in the sentence that is said."""
    low = sentence.casefold()
    spans = [match.span() for match in UNDERWAY.finditer(low)]
    coming = Mood.PLAN if COMING.search(low) else Mood.FACT
    someday = Mood.WISH if SOMEDAY.search(low) else Mood.FACT
    ended = ENDED.search(low) is not None
    for word in words:
        at = bisect(spans, (word.start - offset, len(low))) - 1
        underway = Mood.PLAN if at >= 0 and word.start - offset < spans[at][1] else Mood.FACT
        word.mood = max(word.mood, coming, someday, underway)
        word.over |= ended


#: words that deny what stands before them: "Honig mag ich gar nicht"
_AFTER: Final = re.compile(
    r"(?:^|[,;:])([^,;:]*)\b(?:(?:gar|überhaupt|leider|noch) nicht|keine?[nrs]?(?: mehr)?|nicht mehr"
    r"|niet|ikke|inte)(?=\W*$|[,;:])"
)


def past(sentence: str, offset: int, words: list[Said]) -> None:
    """Mark clauses that tell of a state in the past: it may be over."""
    low = sentence.casefold()
    clauses: dict[int, list[Said]] = {}
    for word in words:
        clauses.setdefault(word.clause, []).append(word)
    for members in clauses.values():
        text = sentence[members[0].start - offset : members[-1].end - offset].casefold()
        if FAILED.search(text):
            for word in members:
                word.negative = True
        before = BEFORE.search(text) is not None
        young = YOUTH.search(low) is not None and _STATES.search(text) is not None
        if before or young or past_state(text):
            for word in members:
                word.over, word.lacked = True, before and word.negative
