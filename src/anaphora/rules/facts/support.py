"""How far a statement stands in what was said, word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from anaphora.rules.facts.bindings import check_bindings, check_names, check_pairs
from anaphora.rules.facts.claims import DISLIKES, LIKES, check_acts, check_identity, check_likes, check_strength
from anaphora.rules.facts.clauses import parse
from anaphora.rules.facts.counts import check_corrected, check_numbers, check_units, find_numbers, is_counter
from anaphora.rules.facts.lexicon import (
    FIRST,
    FREE,
    GENERIC_NAMES,
    INVERSE,
    KIN,
    PERSONS,
    POSSESSIVES,
    RIVALS,
    SOFT,
    stems,
    supported,
)
from anaphora.rules.facts.markers import Mood
from anaphora.rules.facts.numerals import numbers
from anaphora.rules.facts.said import Said, Who
from anaphora.rules.facts.senses import ILL, TURNED, against
from anaphora.rules.facts.stems import UNSPACED, stem
from anaphora.rules.facts.unsaid import says_more
from anaphora.rules.facts.weighed import Source, View, Weighed
from anaphora.rules.facts.words import FRAME, STOP, names

_CONDITIONS: Final = frozenset(["if", "when", "whenever", "unless", "otherwise", "should"])
_OWN: Final = frozenset(["me", "us", "mine", "ours", "myself", "im", "ive"])
#: small words that matter when they are denied
_TURNABLE: Final = stems("like love enjoy want work live smoke drink eat can use")
_USER: Final = re.compile(
    r"(?:\b(?:the (?:user|speaker)|user|l'utilisat(?:eur|rice)|(?:der|die|des|dem|den) (?:be)?nutzer(?:in|s)?|el"
    r" usuario|la usuaria|al usuario"
    r"|del usuario|o usuário|a usuária|l'utente)\b|用户|使用者|ユーザー)('s\b)?",
    re.IGNORECASE,
)


def first_person(content: str, speaker: str | None) -> str:
    """The statement with "I" and "my" for the speaker's name and "the user", so that both sides read alike."""
    text = _USER.sub(_me, content)
    for name in filter(None, [speaker, (speaker or "").split(" ")[0]]):
        if len(name) > 1:
            lead = re.escape(name)
            text = re.sub(rf"(?<!\w){lead}(?:'s|s'|')(?!\w)|(?<!\w){lead}s(?=\s[A-ZÄÖÜ])", "my", text)
            text = re.sub(rf"(?<!\w){lead}(?![A-Za-z])", "I ", text)
    return text


def _ages(mine: Sequence[Said]) -> frozenset[str]:
    """Words for the time of a life: "as a child"."""
    return frozenset(
        word.stem
        for at, word in enumerate(mine)
        if at > 1 and [other.low for other in mine[at - 2 : at]] == ["as", "a"]
    )


def _about_somebody(mine: Sequence[Said], sources: Sequence[Source], free: frozenset[str]) -> bool:
    """Whether a statement, or what it quotes, speaks of the speaker, of somebody theirs, or of the subject."""
    told = any(
        word.low in FIRST or word.low in POSSESSIVES or word.stem in PERSONS or {word.low, word.stem} & free
        for word in mine
    )
    told = told or any(source.rank == 3 for source in sources) or any(UNSPACED.search(word.low) for word in mine)
    return told or any(
        word.who is Who.SPEAKER or word.low in POSSESSIVES or word.low in _OWN
        for source in sources
        if source.rank == 0
        for word in source.words
    )


def _named(content: str, mine: Sequence[Said]) -> frozenset[str]:
    """The names in a statement; its first word is one only if it is the subject."""
    found = names(f"x {content}")
    if mine and mine[0].stem not in mine[0].whom:
        found -= {mine[0].low}
    return found


def _me(match: re.Match[str]) -> str:
    if match.group(1):
        return "my"
    return "I" if match.group().isascii() or "'" in match.group() else "我"


def weigh(content: str, sources: Sequence[Source], *, free: frozenset[str], instruction: bool) -> Weighed:
    """Compare a statement (`plain`, in the first person) with what was said.

    Args:
        content: the statement.
        sources: what was said, the nearest first.
        free: stems that need no support: the names of the speaker and of the subject.
        instruction: the statement says how to answer: then wishes and "you" are meant.

    """
    found = Weighed()
    mine = parse(content)
    persons = frozenset(word.stem for word in mine if word.stem in PERSONS)
    named = _named(content, mine) - free
    acting = frozenset(stem for source in sources for word in source.words for stem in word.whom)
    people = persons | (frozenset(stem(name) for name in named) & acting)
    counted = numbers(content)
    view = View(
        disfavours=any(word.stem in DISLIKES or (word.negative and word.stem in LIKES) for word in mine),
        people=people,
        free=free,
        topics=frozenset(word.stem for word in mine),
        dated=bool(counted),
        instruction=instruction,
        conditional=any(word.low in _CONDITIONS for word in mine),
        named=any(word.low in {"named", "called"} for word in mine) and bool(named),
        averse=any(word.stem in ILL and not word.negative for word in mine),
    )
    telling = _telling(mine, free)
    bare = not counted and not named and all(_needless(word) for word in telling)
    for word in telling:
        _find(word, sources, view, found, bare=bare)
    check_identity(mine, sources, found)
    check_acts(mine, sources, found)
    check_strength(mine, sources, found)
    find_numbers(mine, sources, view, found)
    found.anchors = len(counted) + len(named)
    check_numbers(content, sources, found)
    check_units(mine, sources, content, found)
    check_names(named, sources, found)
    check_pairs(mine, named, sources, found)
    check_corrected(content, sources, found)
    check_bindings(mine, named, counted, sources, found)
    for person in (persons & KIN) - _ages(mine):
        if not any(supported(person, (word.stem for word in source.words)) for source in sources):
            found.added.append("a person that nobody spoke of")
    check_likes(mine, sources, found)
    if not instruction and not _about_somebody(mine, sources, free):
        found.added.append("about nobody")
    found.more = says_more(mine, sources, found)
    return found


def _telling(mine: Sequence[Said], free: frozenset[str]) -> list[Said]:
    seen: set[str] = set()
    out = []
    for at, word in enumerate(mine):
        if (
            word.low in STOP
            or (len(word.low) == 1 and word.low.isascii())
            or is_counter(mine, at)
            or word.low in {"longer", "anymore"}
            or word.stem in free
            or word.low in free
            or word.stem in seen
        ):
            continue
        if any(char.isdigit() for char in word.low) or numbers(word.low):
            continue
        seen.add(word.stem)
        out.append(word)
    return out or [word for word in mine if numbers(word.low) & {"am", "pm"}]


def _needless(word: Said) -> bool:
    return word.stem in FREE or word.stem in FRAME or word.stem in GENERIC_NAMES


def _find(word: Said, sources: Sequence[Source], view: View, found: Weighed, *, bare: bool) -> None:
    """Look for one word; the nearest place where it stands decides. `bare`: the statement has only small words."""
    needless = _needless(word) and not (bare and word.stem not in _EMPTY)
    if not needless:
        found.total += 1
    for rank in range(4):
        hits = [
            (source, other)
            for source in sources
            if source.rank == rank
            for other in source.words
            if supported(word.stem, (other.stem,))
        ]
        inverse = [
            (source, other)
            for source in sources
            if source.rank == rank
            for other in source.words
            if (
                other.stem in INVERSE.get(word.stem, ()) or (word.negative and word.stem in INVERSE.get(other.stem, ()))
            )
            and other.negative != word.negative
        ]
        if not inverse and (not hits or (rank and all(_only_asked(other) for _, other in hits))):
            continue
        reasons = [against(word, other, source, view) for source, other in hits]
        fit = [hit for hit, reason in zip(hits, reasons, strict=True) if reason is None] or inverse
        if fit:
            found.used.add(fit[0][0].seq)
            if not needless and rank < 2:
                found.near += 1
        elif not needless or (word.stem in _TURNABLE and reasons[0] == TURNED and rank == 0):
            found.conflicts.append(next(reason for reason in reasons if reason))
        return
    if not needless:
        if any(_rival(word, source.words) for source in sources if source.rank < 2):
            found.conflicts.append("another of its kind was said")
        found.missing.append(word.stem)
        if UNSPACED.search(word.low) or word.stem in SOFT or word.low.endswith("ly"):
            found.vague.add(word.stem)


def _only_asked(other: Said) -> bool:
    """Elsewhere than in the quote, a word of a question says nothing."""
    return other.mood is Mood.QUESTION and not other.owned


def _rival(word: Said, spoken: Sequence[Said]) -> bool:
    groups = [group for group in RIVALS if word.stem in group]
    return any(other.stem in group for group in groups for other in spoken)


#: they are in every statement
_EMPTY: Final = stems("be have do user get go lot very currently now person make")
