"""How far a statement stands in what was said, word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from anaphora.rules.facts.judging.bindings import check_bindings, check_names, check_pairs
from anaphora.rules.facts.judging.claims import (
    check_acts,
    check_identity,
    check_likes,
    check_present,
    check_strength,
)
from anaphora.rules.facts.judging.clauses import parse
from anaphora.rules.facts.judging.counts import (
    check_corrected,
    check_counted,
    check_numbers,
    check_spans,
    check_units,
    find_numbers,
    is_counter,
)
from anaphora.rules.facts.judging.directions import check_directions, check_owners
from anaphora.rules.facts.judging.mixed import check_letters, check_mixed, check_rhythms
from anaphora.rules.facts.judging.opposites import check_hours, check_opposites
from anaphora.rules.facts.judging.replaced import check_replaced
from anaphora.rules.facts.judging.roles import check_roles
from anaphora.rules.facts.judging.senses import OTHERS, TURNED, against
from anaphora.rules.facts.judging.swapped import check_swapped
from anaphora.rules.facts.judging.unsaid import is_diagnosed, says_more
from anaphora.rules.facts.judging.viewing import view_of
from anaphora.rules.facts.judging.weighed import Source, View, Weighed
from anaphora.rules.language.lexicon import (
    FIRST,
    FREE,
    GENERIC_NAMES,
    INVERSE,
    KIN,
    PERSONS,
    POSSESSIVES,
    RIVALS,
    SOFT,
    is_person,
    stems,
    supported,
)
from anaphora.rules.language.markers import Mood
from anaphora.rules.language.numerals import numbers
from anaphora.rules.language.said import Said, Who
from anaphora.rules.language.stems import UNSPACED, WORD, split
from anaphora.rules.language.words import FRAME, STOP, names

_OWN: Final = frozenset(["me", "us", "mine", "ours", "myself", "im", "ive"])
#: small words that matter when they are denied
_TURNABLE: Final = stems("like love enjoy want work live smoke drink eat can use")
_MINE_FIRST: Final = re.compile(r"\W*(?:I|my)\b", re.IGNORECASE)
#: of whom a statement speaks that begins with the one who speaks
_THEIRS: Final = re.compile(r"\b(?:their|his|her)\b(?= +[a-z])")
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
    return _THEIRS.sub(_whose, text) if _MINE_FIRST.match(text) else text


def _whose(match: re.Match[str]) -> str:
    """Put "my" for the "their" of a statement that has spoken of nobody else before."""
    before = match.string[: match.start()]
    others = any(is_person(word.casefold()) for word in WORD.findall(before)) or names(f"x {before[1:]}")
    return match.group() if others else "my"


def _ages(mine: Sequence[Said]) -> frozenset[str]:
    """Words for the time of a life: "as a child"."""
    return frozenset(
        word.stem
        for at, word in enumerate(mine)
        if at > 1 and [other.low for other in mine[at - 2 : at]] == ["as", "a"]
    )


def _parents(mine: Sequence[Said]) -> frozenset[str]:
    """The word for whoever has children: "is a mother of twins"; that the twins were spoken of is looked at."""
    text = " ".join(word.low for word in mine[:7])
    return _PARENTS if _PARENT_OF.match(text) else frozenset()


_PARENTS: Final = stems("mother father mum dad parent")
_PARENT_OF: Final = re.compile(r"i (?:is|am) (?:an? |the )?(?:\w+ )?(?:mother|father|mum|mom|dad|parent) (?:of|to)\b")


def _about_somebody(mine: Sequence[Said], sources: Sequence[Source], free: frozenset[str]) -> bool:
    """Whether a statement, or what it quotes, speaks of the speaker, of somebody theirs, or of the subject."""
    told = any(
        word.low in FIRST or word.low in POSSESSIVES or is_person(word.low) or {word.low, word.stem} & free
        for word in mine
    )
    told = told or any(source.rank == 3 for source in sources) or any(UNSPACED.search(word.low) for word in mine)
    return told or any(
        word.who is Who.SPEAKER or word.low in POSSESSIVES or word.low in _OWN
        for source in sources
        if source.rank < 2
        for word in source.words
    )


def _acts(mine: Sequence[Said]) -> bool:
    """Whether a statement tells what the one who speaks does or is: that they have a thing is told of the thing."""
    return not any(word.low in {"has", "have", "owns", "finds", "thinks", "considers", "had"} for word in mine[1:3])


def _is_impersonal(sources: Sequence[Source]) -> bool:
    """Whether a message speaks only of a thing, and of nobody: "the union called a strike"."""
    if any(source.rank == 3 for source in sources):
        return False
    spoken = [word for source in sources if source.rank < 2 for word in source.words]
    if any(word.low in FIRST or word.low in POSSESSIVES or word.low in _OWN for word in spoken):
        return False
    near = [word for source in sources if source.rank == 0 for word in source.words]
    opening = [word.low for word in near[:6]]
    return bool(opening) and opening[0] in _THINGS and any(low in _SO or low.endswith("ed") for low in opening[1:])


#: a message that opens so speaks of a thing
_THINGS: Final = frozenset(split("the there there's this that these those"))
_SO: Final = frozenset(split("is are was were has had have will does did got went came can"))


def _named(content: str, mine: Sequence[Said]) -> frozenset[str]:
    """The names in a statement; its first word is one only if it is the subject."""
    found = names(f"x {content}")
    if mine and mine[0].stem not in mine[0].whom:
        found -= {mine[0].low}
    return found


def _with_known_people(mine: list[Said], sources: Sequence[Source]) -> list[Said]:
    """The words of a statement; a capital at its beginning makes nobody of "Physio" in "Physio is on Monday"."""
    known = {word.stem for source in sources for word in source.words if word.capital} | PERSONS
    opening = mine[0].whom if mine and mine[0].opens else frozenset()
    if opening and not any(supported(name, known) or name.endswith("'s") for name in opening):
        said = {word.stem for source in sources for word in source.words}
        if any(supported(name, said) for name in opening):
            for word in mine:
                if word.whom == opening:
                    word.who, word.whom = Who.OPEN, frozenset()
    return mine


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
    mine = _with_known_people(parse(content), sources)
    persons = frozenset(word.stem for word in mine if is_person(word.low))
    named = _named(content, mine) - free
    counted = numbers(content)
    view = view_of(mine, sources, named=named, dated=bool(counted), free=free, instruction=instruction)
    telling = _telling(mine, free)
    bare = not counted and not named and all(_needless(word) for word in telling)
    for word in telling:
        _find(word, sources, view, found, bare=bare)
    for claim in (check_identity, check_acts, check_strength, check_present):
        claim(mine, sources, found)
    find_numbers(mine, sources, view, found)
    found.anchors = len(counted) + len(named)
    check_numbers(content, sources, found)
    check_units(mine, sources, content, found)
    check_counted(mine, sources, found)
    check_spans(content, sources, found)
    check_names(named, sources, found)
    check_pairs(mine, named, sources, found)
    for kept in (
        check_swapped,
        check_roles,
        check_opposites,
        check_directions,
        check_owners,
        check_mixed,
        check_rhythms,
    ):
        kept(mine, sources, found)
    check_hours(content, sources, found)
    check_letters(content, sources, found)
    check_corrected(content, sources, found)
    check_replaced(content, sources, found)
    check_bindings(mine, named, sources, found)
    for person in (persons & KIN) - _ages(mine) - _parents(mine):
        if not any(supported(person, (word.stem for word in source.words)) for source in sources):
            found.added.append("a person that nobody spoke of")
    check_likes(mine, sources, found)
    if not _is_tied(telling, sources, view):
        found.conflicts.append(OTHERS)
    if not instruction and not _about_somebody(mine, sources, free):
        found.added.append("about nobody")
    if not instruction and mine and mine[0].low == "i" and _acts(mine) and _is_impersonal(sources):
        found.added.append("about nobody")
    found.more = is_diagnosed(mine, sources) or says_more(mine, sources, found)
    return found


#: beside a "no" or a verb they tell nothing by themselves
_SMALL: Final = frozenset(split("longer anymore yet either anyway nicht kein keine keinen keinem keiner gar"))


def _telling(mine: Sequence[Said], free: frozenset[str]) -> list[Said]:
    seen: set[str] = set()
    out = []
    for at, word in enumerate(mine):
        if (
            word.low in STOP
            or (len(word.low) == 1 and word.low.isascii())
            or is_counter(mine, at)
            or word.low in _SMALL
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


def _is_tied(telling: Sequence[Said], sources: Sequence[Source], view: View) -> bool:
    """Whether something that is told of another person was said in a sentence that speaks of them."""
    third = [word for word in telling if word.who is Who.OTHERS and word.stem not in word.whom | PERSONS]
    whom = frozenset[str]().union(*(word.whom for word in third))
    if not third or view.instruction or whom <= view.free:
        return True
    whom = whom.union(*(view.aliases.get(name, frozenset()) for name in whom))
    hits = 0
    for source in sources:
        spoken = {
            word.sentence
            for word in source.words
            if any(supported(name, (word.stem,)) for name in whom) or word.who is Who.THEY
        }
        for word in source.words:
            if any(supported(mine.stem, (word.stem,)) for mine in third):
                hits += 1
                if source.rank == 3 or word.sentence in spoken or word.whom & whom:
                    return True
    return hits == 0


def _needless(word: Said) -> bool:
    return word.stem in FREE or word.stem in FRAME or word.stem in GENERIC_NAMES


def _find(word: Said, sources: Sequence[Source], view: View, found: Weighed, *, bare: bool) -> None:
    """Look for one word; the nearest place where it stands decides. `bare`: the statement has only small words."""
    needless = _needless(word) and not (bare and word.stem not in _EMPTY)
    if not needless:
        found.total += 1
    if word.stem in _TOGETHER and any(
        other.low in _WE for source in sources if source.rank == 0 for other in source.words
    ):
        found.near += 1
        return
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
            if (not needless or word.stem in GENERIC_NAMES) and rank < 2:
                found.near += 1
        elif not needless or (word.stem in _TURNABLE and reasons[0] == TURNED and rank == 0):
            reason = next(reason for reason in reasons if reason)
            if rank in {1, 2} and (reason != OTHERS or (found.near > 1 and not word.capital)):
                # said elsewhere, of something else: it neither says it nor denies it
                continue
            found.conflicts.append(reason)
        return
    if not needless:
        if any(_rival(word, source.words, source.quoted.casefold()) for source in sources if source.quoted):
            found.conflicts.append("another of its kind was said")
        found.missing.append(word.stem)
        if UNSPACED.search(word.low) or word.stem in SOFT or word.low.endswith("ly"):
            found.vague.add(word.stem)


#: "we" are one of them
_TOGETHER: Final = stems("team family household couple company group organisation band club class office department")
_WE: Final = frozenset(["we", "we're", "we've", "we'll", "our", "us"])


def _only_asked(other: Said) -> bool:
    """Elsewhere than in the quote, a word of a question says nothing."""
    return other.mood is Mood.QUESTION and not other.owned


def _rival(word: Said, spoken: Sequence[Said], quoted: str) -> bool:
    groups = [group for group in RIVALS if word.stem in group]
    return any(other.stem in group and other.low in quoted for group in groups for other in spoken)


#: they are in every statement
_EMPTY: Final = stems("be have do user get go lot very currently now person make")
