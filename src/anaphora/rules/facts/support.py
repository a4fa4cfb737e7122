"""How far a statement stands in what was said: word for word, with the sense, the person, the numbers and the names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from anaphora.rules.facts.clauses import Said, Who, parse
from anaphora.rules.facts.lexicon import FREE, INVERSE, KIN, PERSONS, RIVALS, SOFT, VERBS, stems, supported
from anaphora.rules.facts.markers import Mood
from anaphora.rules.facts.numerals import numbers
from anaphora.rules.facts.stems import UNSPACED, stem
from anaphora.rules.facts.words import FRAME, STOP, names

_USER: Final = re.compile(
    r"(?:\b(?:the (?:user|speaker)|user|l'utilisat(?:eur|rice)|(?:der|die|des|dem|den) (?:be)?nutzer(?:in|s)?|el usuario|la usuaria|al usuario"
    r"|del usuario|o usuário|a usuária|l'utente)\b|用户|使用者|ユーザー)('s\b)?",
    re.IGNORECASE,
)
_LIKES: Final = stems("like love enjoy adore fond fan keen passion passionate favourite interest interested enthusiast")
_LIKE_SHOWN: Final = re.compile(
    r"\b(?:like|likes|liked|love|loves|loved|loving|lovin|enjoy\w*|adore\w*|fond|fan|keen|passion\w*|favou?rite\w*|fave|fav|prefer\w*|great|best|amazing"
    r"|awesome|delicious|tasty|yum\w*|fun|wonderful|fantastic|brilliant|beautiful|obsess\w*|addict\w*|crazy|nuts about|hooked|into|happy|happiest|relax\w*"
    r"|thing|jam|weakness|miss|exci\w+|glad|sucker|soft spot|live for|swear by|can't get enough|live without|start (?:my|the) (?:day|morning)|joy|heaven|bliss|perfect"
    r"|favorites?|always|every|religiously|nerd|geek|buff|lover|heart|mag|mage|liebe|gern\w*|adore|j'aime|aime|gusta\w*|encanta\w*|gosto|adoro|piace|rather|interest\w*"
    r"|devour\w*|binge\w*|never (?:tire|get tired)|soothing|therap\w+|happy place|guilty pleasure|only|still|give me|anytime|any day)\b|喜欢|爱|<3|!",
    re.IGNORECASE,
)
#: what is measured in; a number keeps its unit
_UNITS: Final = tuple(
    stems(group)
    for group in (
        "km kilometre kilometer k",
        "mile mi",
        "kg kilo kilogram",
        "lb pound lbs",
        "mg milligram",
        "g gram",
        "m metre meter",
        "foot ft",
        "hour hr h",
        "minute min",
        "second sec",
        "day",
        "week",
        "month",
        "year",
        "euro eur",
        "dollar usd buck",
        "percent",
        "times",
        "celsius",
        "fahrenheit",
    )
)
_TOKEN: Final = re.compile(r"[^\W_]+(?:[.,:']\w+)*")
_AGAIN: Final = re.compile(
    r"^\W*(?:sorry|actually|no wait|wait|i mean|i meant|correction|scratch|make that|rather|no[,.] |nope|\*|oops|er+m?\b|hm+\b|well)|\b(?:sorry|i mean|i meant"
    r"|correction|make that|no wait|wait no|scratch that|or rather|typo)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Source:
    """Something that was said, near or far from the quote."""

    words: Sequence[Said]
    text: str
    #: 0: the sentences of the quote; 1: the rest of its message; 2: other messages of the same person; 3: a question
    rank: int
    #: number of the message
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
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


@dataclass(slots=True)
class Weighed:
    """What was found for a statement."""

    #: telling stems of the statement, and those that nobody said
    total: int = 0
    missing: list[str] = field(default_factory=list)
    #: those of them that tell less
    vague: int = 0
    #: what the sources say otherwise: the first reason counts
    conflicts: list[str] = field(default_factory=list)
    #: people, likings and the like that were not spoken of
    added: list[str] = field(default_factory=list)
    #: telling stems, numbers and names that the quote's own message has
    near: int = 0
    #: numbers and names of the statement: if they were not said, that is a conflict
    anchors: int = 0
    #: telling stems of the quoted sentences that the statement does not use
    leftover: int = 0
    #: messages that were needed
    used: set[int] = field(default_factory=set)

    @property
    def unsaid(self) -> int:
        """Telling stems that nobody said, without the vague ones."""
        return len(self.missing) - self.vague

    @property
    def share(self) -> float:
        """The telling stems that were found."""
        everything = self.total + self.anchors
        return 1.0 if not everything else 1 - len(self.missing) / everything


def first_person(content: str, speaker: str | None) -> str:
    """The statement with "I" and "my" for the speaker's name and "the user", so that both sides read alike."""
    text = _USER.sub(_me, content)
    for name in filter(None, [speaker, (speaker or "").split(" ")[0]]):
        if len(name) > 1:
            lead = re.escape(name)
            text = re.sub(rf"(?<!\w){lead}(?:'s|s'|')(?!\w)|(?<!\w){lead}s(?=\s[A-ZÄÖÜ])", "my", text)
            text = re.sub(rf"(?<!\w){lead}(?![A-Za-z])", "I ", text)
    return text


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
    named = names(f"x {content}") - free
    acting = frozenset(stem for source in sources for word in source.words for stem in word.whom)
    people = persons | (frozenset(stem(name) for name in named) & acting)
    counted = numbers(content)
    view = _View(
        people=people,
        free=free,
        topics=frozenset(word.stem for word in mine),
        dated=bool(counted),
        instruction=instruction,
    )
    for word in _telling(mine, free):
        _find(word, sources, view, found)
    for word in mine:
        if numbers(word.low):
            _find_number(word, sources, view, found)
    found.anchors = len(counted) + len(named)
    found.leftover = _leftover(mine, sources)
    _check_numbers(content, mine, counted, sources, found)
    _check_names(named, sources, found)
    _check_pairs(mine, named, sources, found)
    _check_corrected(counted, sources, found)
    check_bindings(mine, named, counted, sources, found)
    for person in persons & KIN:
        if not any(supported(person, (word.stem for word in source.words)) for source in sources):
            found.added.append("a person that nobody spoke of")
    _check_likes(mine, sources, found)
    return found


#: a project is spoken of as what "we" do
_WE: Final = frozenset(["we", "we're", "we've", "our", "us", "it", "it's"])


def _telling(mine: Sequence[Said], free: frozenset[str]) -> list[Said]:
    seen: set[str] = set()
    out = []
    for word in mine:
        if word.low in STOP or word.stem in free or word.low in free or word.stem in seen:
            continue
        if any(char.isdigit() for char in word.low) or numbers(word.low):
            continue
        seen.add(word.stem)
        out.append(word)
    return out


def _leftover(mine: Sequence[Said], sources: Sequence[Source]) -> int:
    """How much of the quoted sentences stands for what the statement says in other words, at most."""
    used = [word.stem for word in mine]
    near = [word for source in sources if source.rank == 0 for word in source.words]
    touched = {word.clause for word in near if any(supported(other, (word.stem,)) for other in used)}
    left = {
        word.stem
        for word in near
        if word.clause in touched and word.low not in STOP and not any(supported(other, (word.stem,)) for other in used)
    }
    return len(left)


def _find(word: Said, sources: Sequence[Source], view: _View, found: Weighed) -> None:
    """Look for one word; the nearest place where it stands decides."""
    needless = word.stem in FREE or word.stem in FRAME
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
            if source.rank == rank and word.stem in INVERSE
            for other in source.words
            if other.stem in INVERSE[word.stem] and other.negative != word.negative
        ]
        if not hits and not inverse:
            continue
        reasons = [_against(word, other, source, view) for source, other in hits]
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
        found.vague += UNSPACED.search(word.low) is not None or word.stem in SOFT or word.low.endswith("ly")


def _rival(word: Said, spoken: Sequence[Said]) -> bool:
    groups = [group for group in RIVALS if word.stem in group]
    return any(other.stem in group for group in groups for other in spoken)


def _find_number(word: Said, sources: Sequence[Source], view: _View, found: Weighed) -> None:
    """A number must be said of the same person, and not only be wished or denied."""
    value = numbers(word.low)
    hits = [(source, other) for source in sources for other in source.words if numbers(other.low) & value]
    reasons = [_against_number(word, other, source, view) for source, other in hits]
    if reasons and all(reasons):
        found.conflicts.append(next(reason for reason in reasons if reason))


def _against_number(word: Said, other: Said, source: Source, view: _View) -> str | None:
    if not view.instruction and not other.owned and not _meant(word, other, dated=True):
        return WISHED
    return None if _same_person(word, other, source, view) else OTHERS


#: why a word in the source does not say what the statement says
TURNED: Final = "turned round: said with the other sense, or no longer so"
WISHED: Final = "wished, asked or supposed, not stated"
OTHERS: Final = "said of somebody else"
#: small words that matter when they are denied
_TURNABLE: Final = stems("like love enjoy want work live smoke drink eat can use")


def _against(word: Said, other: Said, source: Source, view: _View) -> str | None:
    """Why a word in the source does not say what the statement says with it, if so."""
    if not other.owned or other.negative:
        if not _same_sense(word, other):
            return TURNED
        if not view.instruction and not _meant(word, other, dated=view.dated):
            return WISHED
    if word.stem not in view.people and not _same_person(word, other, source, view):
        return OTHERS
    return None


def _same_sense(word: Said, other: Said) -> bool:
    if not word.negative and not word.over:
        return not other.negative and not other.over
    if word.negative:
        return other.negative or other.over or other.mood is Mood.UNREAL
    return not other.negative or other.over


def _meant(word: Said, other: Said, *, dated: bool) -> bool:
    if other.mood is Mood.UNREAL and word.negative:
        return True
    if other.mood <= word.mood or (word.mood is Mood.WISH and other.mood is Mood.MAYBE):
        return True
    return other.mood is Mood.PLAN and dated


def _same_person(word: Said, other: Said, source: Source, view: _View) -> bool:
    match other.who:
        case Who.OPEN:
            return True
        case Who.SPEAKER:
            if word.who is not Who.OTHERS:
                return True
            if word.whom <= view.free and any(near.low in _WE for near in source.words):
                return True
            spoken = (near.stem for near in source.words if near.clause == other.clause)
            return _overlap(word.whom, spoken)
        case Who.OTHERS if other.whom <= view.free and (word.who is not Who.OTHERS or word.whom <= view.free):
            return True
        case Who.OTHERS:
            return _overlap(word.whom if word.who is Who.OTHERS else view.people | view.topics, other.whom)
        case Who.THEY:
            return bool(view.people) or word.who is Who.OTHERS
        case Who.YOU:
            return view.instruction
        case _:
            return word.who in {Who.OTHERS, Who.THEY} or bool(view.people)


def _overlap(mine: Iterable[str], theirs: Iterable[str]) -> bool:
    others = list(theirs)
    return any(supported(word, others) for word in mine)


def _check_numbers(
    content: str, mine: Sequence[Said], counted: frozenset[str], sources: Sequence[Source], found: Weighed
) -> None:
    said = frozenset[str]().union(*(numbers(source.text) for source in sources)) if sources else frozenset[str]()
    near = frozenset[str]().union(*(numbers(source.text) for source in sources if source.rank < 2))
    lacking = [number for number in counted if number not in said and number not in {"am", "pm"}]
    for number in lacking:
        parts = number.split(" ")
        if len(parts) == 2 and set(parts) <= said:
            continue
        found.conflicts.append("a number or date that was not said")
    if "am" in counted and "pm" in said and "am" not in said:
        found.conflicts.append("a number or date that was not said")
    found.near += len(counted & near)


#: part of the name of a place, whether it is said or not
_GENERIC: Final = stems(
    "sea ocean river lake mountain mountains island islands city university company coast park street"
)


def _check_names(named: frozenset[str], sources: Sequence[Source], found: Weighed) -> None:
    for name in named:
        root = stem(name)
        if root in _GENERIC:
            continue
        places = [
            source
            for source in sources
            if any(word.low == name or supported(root, (word.stem,)) for word in source.words)
        ]
        if not places:
            found.conflicts.append("a name that was not said")
        else:
            found.used.add(places[0].seq)


def _check_pairs(mine: Sequence[Said], named: frozenset[str], sources: Sequence[Source], found: Weighed) -> None:
    """A name stays with its relation, a number with its noun and its unit."""
    theirs = [list(source.words) for source in sources]
    for at, word in enumerate(mine):
        if word.stem in PERSONS:
            name = _name_after(mine, at, named)
            if name and _others_name(word.stem, name, theirs):
                found.conflicts.append("a name of somebody else")
        if word.low.isdigit() or numbers(word.low):
            _check_unit(mine, at, theirs, found)


def _name_after(words: Sequence[Said], at: int, named: frozenset[str]) -> str | None:
    for word in words[at + 1 : at + 5]:
        if word.low in named:
            return word.low
        if word.stem in PERSONS:
            return None
    return None


def _others_name(relation: str, name: str, theirs: Sequence[Sequence[Said]]) -> bool:
    """Whether the relation was named otherwise, and never so."""
    otherwise = False
    for words in theirs:
        if otherwise:
            return True
        for at, word in enumerate(words):
            if not supported(relation, (word.stem,)):
                continue
            near = words[max(0, at - 3) : at + 6]
            if any(other.low == name and other.sentence == word.sentence for other in near):
                following = [other for other in words[at + 1 : at + 3] if other.capital and other.low not in STOP]
                if not following or following[0].low == name or any(other.low == name for other in following):
                    return False
            following = [other for other in words[at + 1 : at + 4] if other.stem not in FREE]
            after = following[0] if following else None
            if after is not None and after.capital and after.low not in STOP and after.sentence == word.sentence:
                otherwise = otherwise or after.low != name
    return otherwise


def _check_unit(mine: Sequence[Said], at: int, theirs: Sequence[Sequence[Said]], found: Weighed) -> None:
    value = numbers(mine[at].low)
    unit = _unit(mine, at)
    if unit is None or not value:
        return
    units = [_unit(words, place) for words in theirs for place, word in enumerate(words) if numbers(word.low) & value]
    known = [other for other in units if other is not None]
    if known and unit not in known:
        found.conflicts.append("a number with another unit")


def _unit(words: Sequence[Said], at: int) -> frozenset[str] | None:
    attached = re.sub(r"^[\d.,]+", "", words[at].low)
    following = [attached] if attached and attached != words[at].low else []
    following += [word.low for word in words[at + 1 : at + 2]]
    for low in following:
        for group in _UNITS:
            if stem(low) in group:
                return group
    return None


def check_bindings(
    mine: Sequence[Said], named: frozenset[str], counted: frozenset[str], sources: Sequence[Source], found: Weighed
) -> None:
    """What stands beside one number or name in the source must not be told of another.

    "Rent is 980 and I earn 2100" says nothing of a rent of 2100.
    """
    topics = [word.stem for word in mine if word.stem not in FREE and word.low not in STOP and not numbers(word.low)]
    topics = [topic for topic in topics if topic not in {stem(name) for name in named} and topic not in PERSONS]
    for source in sources:
        if source.rank > 1 or _AGAIN.search(source.text):
            continue
        clauses: dict[int, list[Said]] = {}
        for word in source.words:
            clauses.setdefault(word.clause, []).append(word)
        for group, of in ((counted, _numbers_of), (named, _names_of)):
            marks = {clause: of(words) for clause, words in clauses.items()}
            for mark in group:
                kind = {clause: _like(mark, held) for clause, held in marks.items()}
                if _elsewhere(mark, topics, clauses, kind, group):
                    found.conflicts.append("a number or name that was said of something else")


def _like(mark: str, held: frozenset[str]) -> frozenset[str]:
    """Those that could be taken for the mark: a date for a date, a number for a number."""
    return frozenset(other for other in held if other.isdigit() == mark.isdigit())


def _elsewhere(
    mark: str,
    topics: Sequence[str],
    clauses: dict[int, list[Said]],
    marks: dict[int, frozenset[str]],
    group: frozenset[str],
) -> bool:
    """Whether a topic of the statement stands only beside other marks, and the mark only beside other topics."""
    homes = [clause for clause, held in marks.items() if mark in held]
    if not homes:
        return False
    beside = {word.stem for clause in homes for word in clauses[clause]}
    for topic in topics:
        if supported(topic, beside):
            continue
        places = [clause for clause, words in clauses.items() if supported(topic, (word.stem for word in words))]
        if places and all(marks[clause] - group for clause in places) and not beside.intersection(topics):
            return True
    return False


def _numbers_of(words: Sequence[Said]) -> frozenset[str]:
    return frozenset[str]().union(*(numbers(word.low) for word in words))


def _names_of(words: Sequence[Said]) -> frozenset[str]:
    first = words[0] if words else None
    return frozenset(word.low for word in words if word.capital and word.low not in STOP and not word.opens)


def _check_corrected(counted: frozenset[str], sources: Sequence[Source], found: Weighed) -> None:
    """A number that was corrected in the same breath does not hold any more: "in 2017. Sorry, 2018"."""
    own = [word for source in sources if source.rank < 2 for word in source.words]
    own.sort(key=lambda word: word.start)
    text = " ".join(f"{word.low}" for word in own)
    match = _AGAIN.search(text) if counted else None
    if match is None:
        return
    before, after = numbers(text[: match.start()]), numbers(text[match.end() :])
    if after - before and not counted & after and counted & before:
        found.conflicts.append("corrected in the same breath")


def _check_likes(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    likes = [word for word in mine if word.stem in _LIKES and not word.negative]
    if likes and not any(_LIKE_SHOWN.search(source.text) for source in sources):
        found.added.append("a liking that nobody showed")
