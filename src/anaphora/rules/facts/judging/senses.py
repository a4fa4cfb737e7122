"""Whether a word of the source says what the same word of a statement says: sense, mood and person."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from anaphora.rules.facts.judging.weighed import Source, View
from anaphora.rules.language.lexicon import alike, is_person, stems, supported
from anaphora.rules.language.markers import Mood
from anaphora.rules.language.said import Said, Who

_DISLIKE_SHOWN: Final = re.compile(
    r"\b(?:tastes? like (?:soap|dirt|feet|socks|cardboard|grass|medicine)|gross|yuck\w*|ew+|disgust\w*|awful"
    r"|terribl\w*|horribl\w*|worst|nasty|boring|annoy\w*|ruins?|destroys?"
    r"|(?:hate|can't stand|don't like|dislike|can't bear) (?:it )?(?:when|that|how|if)"
    r"|wrecks?|doesn't agree|disagrees|(?:stays?|is|are) (?:out|off)\b|off the (?:menu|table)"
    r"|makes? me (?:sweat|sick|ill|gag|nauseous|sad|angry|itch)|"
    r"keep (?:it|them|that|those) away|drives? me (?:mad|crazy"
    r"|nuts|up the wall)|scares?|terrif\w*|stress(?:es)? me|pet peeve|kills me|knocks? me out|allerg\w*|intoleran\w*"
    r"|coeliac|celiac)\b",
    re.IGNORECASE,
)
_MINE: Final = re.compile(r"\b(?:my|our|mine|ours)\b", re.IGNORECASE)
_ENDED: Final = re.compile(
    r"\b(?:left|quit|moved|sold|stopped|ended|closed|lost|gone|over|done with|out of date|finished|gave|resigned"
    r"|dropped)\b"
)
#: with them the thing itself may be denied: "allergic to nuts" of "without nuts"
ILL: Final = stems("allergic allergy allergisch intolerant intolerance coeliac celiac")
#: a project is spoken of as what "we" do
_WE: Final = frozenset(["we", "we're", "we've", "our", "us"])
_OBJECTS: Final = frozenset(["her", "him", "them", "his", "their"])
_NO_ILLNESS: Final = re.compile(
    r"(?:\b(?:no|not|never|without|false)|n't)\s+(?:\w+\s+){0,2}(?:allerg|intoleran|c[o]?eliac)"
    r"|false alarm|\b(?:allerg\w+|intoleran\w+) (?:is|are)(?:n't| not| gone)",
    re.IGNORECASE,
)
#: why a word in the source does not say what the statement says
TURNED: Final = "turned round: said with the other sense, or no longer so"
WISHED: Final = "wished, asked or supposed, not stated"
OTHERS: Final = "said of somebody else"


def against(word: Said, other: Said, source: Source, view: View) -> str | None:
    """Why a word in the source does not say what the statement says with it, if so."""
    standing = other.owned and not (other.negative or other.gone or other.over)
    if standing and is_person(word.low):
        # "my GP": there is one, whoever the clause is about
        return None
    if standing and word.stem in view.none and not other.denied:
        # who speaks of "my car" has one
        return TURNED
    if word.stem not in view.about:
        reason = _sense_or_mood(word, other, source, view)
        if reason is not None:
            return reason
    return None if same_person(word, other, source, view) else OTHERS


def _sense_or_mood(word: Said, other: Said, source: Source, view: View) -> str | None:
    """Why it is meant otherwise, if so. What is owned, as in "my car", is taken for granted."""
    if other.owned and not other.negative and (not other.gone or is_person(other.low)):
        return None
    if other.over and not other.negative and not word.negative and not alike(word.stem, other.stem):
        # another word, of something that was: it tells of what came about
        return None
    if not _same_sense(word, other, source.text, view):
        return TURNED
    return WISHED if not view.instruction and not _meant(word, other, view) else None


def _same_sense(word: Said, other: Said, text: str, view: View) -> bool:
    if (word.negative and word.compared) or (view.averse and word.stem not in ILL):
        return True
    if word.stem in ILL and not word.negative and other.negative and not _NO_ILLNESS.search(text):
        # "can't have eggs, allergy": what follows is why
        return True
    if view.denies and (other.negative or other.over):
        return True
    if not word.negative:
        ends = not other.over or view.past
        return (not other.negative or other.over) if word.over else (not other.negative or word.denied) and ends
    if other.lacked and not word.over:
        return False
    shown = (view.disfavours and _DISLIKE_SHOWN.search(text)) or (word.over and _ENDED.search(text))
    return bool(shown) or other.negative or other.denied or other.over or other.mood is Mood.UNREAL


def _meant(word: Said, other: Said, view: View) -> bool:
    if other.mood is Mood.CONDITION and (view.conditional or view.mood is Mood.CONDITION):
        return True
    if other.mood <= Mood.MAYBE and (view.denies or other.mood <= view.mood):
        return True
    asked = other.mood is Mood.QUESTION and other.negative and view.averse
    return asked or meant(word, other, dated=view.dated)


def meant(word: Said, other: Said, *, dated: bool) -> bool:
    """Whether the source means it as far as the statement does: a wish is no fact."""
    if other.mood is Mood.UNREAL and (word.negative or word.mood is Mood.WISH):
        return True
    if other.mood <= word.mood or (word.mood is Mood.WISH and other.mood is Mood.MAYBE):
        return True
    return other.mood is Mood.PLAN and dated


def same_person(word: Said, other: Said, source: Source, view: View) -> bool:
    """Whether both are said of the same person or thing."""
    third = word.who is Who.OTHERS
    match other.who:
        case Who.OPEN:
            same = True
        case Who.SPEAKER:
            same = not third or _with_speaker(word, other, source, view)
        case Who.OTHERS if other.whom <= view.free and (not third or word.whom <= view.free):
            same = True
        case Who.OTHERS:
            called = other.whom.union(*(view.aliases.get(name, frozenset()) for name in other.whom))
            same = _overlap(word.whom if third else view.people | view.topics, called)
        case Who.THEY:
            same = (
                third
                or word.who is Who.THEY
                or view.named
                or (bool(view.people) and _MINE.search(source.text) is not None)
            )
        case Who.YOU:
            same = view.instruction
        case Who.ANYBODY if view.disfavours:
            same = True
        case _:
            same = third or word.who is Who.THEY or bool(view.people)
    return same


def _with_speaker(word: Said, other: Said, source: Source, view: View) -> bool:
    """Whether what the speaker says of themself tells of somebody else too: "I got my brother a guitar"."""
    if word.whom <= view.free and any(near.low in _WE for near in source.words):
        return True
    same = [near for near in source.words if near.clause == other.clause]
    if any(near.low in _OBJECTS for near in same) and _overlap(word.whom, (near.stem for near in source.words)):
        return True
    return _overlap(word.whom, (near.stem for near in same))


def _overlap(mine: Iterable[str], theirs: Iterable[str]) -> bool:
    others = list(theirs)
    return any(supported(word, others) for word in mine)
