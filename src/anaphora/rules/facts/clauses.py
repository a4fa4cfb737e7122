"""Who says what of whom, word by word: is it meant, denied, wished, asked, over? English, as far as words tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from anaphora.rules.facts.lexicon import (
    FIRST,
    GENERIC,
    IMPERSONAL,
    PERSONS,
    POSSESSIVES,
    REPORTS,
    THEIRS,
    THIRD,
    VERBS,
    YOU,
)
from anaphora.rules.facts.markers import MARKERS, Mood, past_state
from anaphora.rules.facts.numerals import MONTHS, WEEKDAYS
from anaphora.rules.facts.stems import UNSPACED, WORD, plain, stem
from anaphora.rules.facts.words import STOP

_SENTENCE: Final = re.compile(r"[^.!?。！？\n]*(?:[.!?](?=[\w@/])[^.!?。！？\n]*)*(?:[.!?。！？]+['\")]*|\n|$)")
_BREAK: Final = re.compile(r"[,;:()—!?…，；：、]| - ")
_HARD: Final = frozenset(
    ["but", "however", "although", "though", "because", "so", "while", "whereas", "since", "except", "yet", "then"]
)
#: after a comma they begin what is meant instead
_ANEW: Final = frozenset(["just", "only", "instead", "please", "now", "but", "still"])
_SOFT: Final = frozenset(["and", "or", "plus", "nor"])
_QUESTION: Final = re.compile(
    r"^(?:and |but |so |or |ok(?:ay)? |also |hey |hi )*(?:what|what's|whats|where|when|why|how|how's|who|who's|whom|which"
    r"|whose|is|are|am|was|were|do|does|did|can|could|should|shall|would|will|have|has|had|may|might|isn't|aren't|don't"
    r"|doesn't|didn't|can't|won't|any)\b",
)
_TAG: Final = re.compile(r"^(?:right|ok|okay|you know|remember|huh|isn't it|don't you think|no|yes|correct|got it)\W*$")
_WHO_NOT: Final = frozenset((*MONTHS, *WEEKDAYS))
#: words of a name phrase after "my"
_OWNED: Final = 6


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
    #: it was so, and is no more
    over: bool = False
    mood: Mood = Mood.FACT
    #: within "my ...": that is taken for granted, whatever is said about it
    owned: bool = False
    #: written with a capital letter
    capital: bool = False
    #: the first word of its sentence
    opens: bool = False


@dataclass(slots=True)
class _State:
    """What holds for the words that follow."""

    clause: int = 0
    who: Who = Who.OPEN
    whom: frozenset[str] = frozenset()
    negative: bool = False
    over: bool = False
    #: the "no" was said before the comma
    inherited: bool = False
    #: "moved from" was read: "to" will say where it is now
    leaving: bool = False
    mood: Mood = Mood.FACT
    #: a condition was set: what "would" follow is not so either
    condition: bool = False
    #: index of the first word of the clause
    first: int = 0
    words: list[Said] = field(default_factory=list)


def parse(text: str, *, start: int = 0, stop: int | None = None) -> list[Said]:
    """Every word between two places of the text (which must be `plain`) with how it is meant, in order."""
    words: list[Said] = []
    state = _State(words=words)
    for number, match in enumerate(_SENTENCE.finditer(text, start, len(text) if stop is None else stop)):
        sentence = match.group()
        if sentence.strip():
            _read(sentence, match.start(), number, state)
    return words


def _read(sentence: str, offset: int, number: int, state: _State) -> None:
    """Add the words of one sentence."""
    low = sentence.casefold() if len(sentence.casefold()) == len(sentence) else sentence
    marks = _marks(low)
    tokens = [(match.group(), match.start(), match.end()) for match in WORD.finditer(sentence)]
    begin = len(state.words)
    if not _goes_on(tokens, state):
        _fresh(state, begin, who=Who.OPEN, whom=frozenset(), mood=Mood.FACT)
    else:
        _fresh(state, begin, mood=Mood.FACT)
    state.condition = False
    before = 0
    for at, (written, first, last) in enumerate(tokens):
        gap = sentence[before:first]
        _turn(state, tokens, at, gap, number, opening=at == 0)
        if "，" in gap:
            state.negative = state.over = False
        before = last
        bare = written[:-2] if written[-2:] in {"'s", "'S"} else written
        for start, piece in _pieces(bare, first):
            for place in range(start, last if len(bare) == len(piece) else start + 1):
                for kind in marks.get(place, ()):
                    _apply(state, kind)
            state.words.append(
                Said(
                    low=piece.casefold(),
                    stem=stem(piece.casefold()) if not UNSPACED.search(piece) else piece,
                    start=offset + start,
                    end=offset + start + len(piece),
                    sentence=number,
                    clause=state.clause,
                    who=state.who,
                    whom=state.whom,
                    negative=state.negative,
                    over=state.over,
                    mood=state.mood,
                    capital=piece[0].isupper(),
                    opens=at == 0,
                )
            )
    mine = state.words[begin:]
    _ask(sentence, offset, mine)
    _own(sentence, offset, mine)
    _past(sentence, offset, mine)


def _goes_on(tokens: list[tuple[str, int, int]], state: _State) -> bool:
    """Whether a sentence leaves out the subject of the one before it: "He is great. Lived in Rome." """
    if not tokens or state.who not in {Who.OTHERS, Who.THEY}:
        return False
    low = tokens[0][0].casefold()
    return low.endswith(("ed", "s")) and stem(low) in VERBS or low in _PAST


_PAST: Final = frozenset(
    ["ate", "went", "was", "had", "got", "came", "took", "made", "drove", "ran", "wrote", "grew", "left"]
)


def _pieces(word: str, first: int) -> Iterator[tuple[int, str]]:
    """The word; of a run without blanks, each two letters."""
    run = UNSPACED.fullmatch(word)
    if run is None or len(word) <= 2:
        yield first, word
        return
    for at in range(len(word) - 1):
        yield first + at, word[at : at + 2]


def _marks(low: str) -> dict[int, list[str]]:
    """Where a word begins that turns what follows, and how."""
    found: dict[int, list[str]] = {}
    for match in MARKERS.finditer(low):
        kind = match.lastgroup or ""
        place = match.start() + len(match.group()) - len(match.group().lstrip())
        if kind == "leaving":
            # what was left stands after "from" or "of"
            place = match.end() - len(match.group().rsplit(None, 1)[-1])
        found.setdefault(place, []).append(kind.removesuffix("_too"))
    return found


_MEDICS: Final = frozenset(
    stem(word)
    for word in ["doctor", "doc", "dentist", "therapist", "physio", "nurse", "vet", "psychiatrist", "optician"]
)
_TOLD: Final = frozenset(
    ["said", "says", "told", "confirmed", "found", "recommended", "prescribed", "diagnosed", "put", "orders"]
)


def _turn(state: _State, tokens: list[tuple[str, int, int]], at: int, gap: str, number: int, *, opening: bool) -> None:
    """Begin another statement, if one begins with this word."""
    low = tokens[at][0].casefold()
    broken = _BREAK.search(gap) is not None
    start = opening or broken or (at > 0 and tokens[at - 1][0].casefold() in REPORTS)
    subject = _subject(tokens, at, starts=start)
    here = len(state.words)
    hard = low in _HARD and (low != "since" or _pronoun(tokens, at + 1))
    if hard and not opening:
        _fresh(state, here, mood=Mood.FACT)
    elif (broken and gap.strip(" ") in {";", ":", "—", "(", ")", "-"}) or (broken and ";" in gap):
        _fresh(state, here, mood=Mood.FACT)
    elif broken and low in _ANEW:
        _fresh(state, here, mood=Mood.FACT)
    elif broken or low in _SOFT:
        state.clause += 1
        state.inherited = state.negative
        if broken and state.mood in {Mood.CONDITION, Mood.MAYBE}:
            state.condition |= state.mood is Mood.CONDITION
            state.mood = Mood.FACT
    elif (
        not opening
        and (stem(low) in VERBS or low in _ANEW or low.endswith("ed"))
        and tokens[at - 1][0].casefold() in _SOFT
    ):
        _fresh(state, here, who=state.who, whom=state.whom, mood=state.mood)
    elif low in {"me", "us"} and state.who in {Who.OTHERS, Who.THEY} and here > state.first:
        state.who, state.whom = Who.OPEN, frozenset()
        for word in (word for word in state.words[state.first : here][-12:] if word.clause == state.clause):
            word.who = word.who if word.stem in PERSONS else Who.OPEN
    elif (
        low in {"my", "our"}
        and tokens[at - 1][0].casefold() != "that's"
        and state.who in {Who.OTHERS, Who.THEY}
        and here > state.first
    ):
        # "my wife got me into climbing": what follows is about the one who speaks
        state.who, state.whom = Who.OPEN, frozenset()
    elif state.whom & _MEDICS and at and tokens[at - 1][0].casefold() in _TOLD:
        state.who, state.whom = Who.OPEN, frozenset()
    if subject is not None:
        _new_subject(state, here, subject, tokens, at, broken=broken)


def _pronoun(tokens: list[tuple[str, int, int]], at: int) -> bool:
    low = tokens[at][0].casefold() if at < len(tokens) else ""
    return low in FIRST or low in THIRD or low in YOU or low in IMPERSONAL or low in POSSESSIVES


def _new_subject(
    state: _State,
    here: int,
    subject: tuple[Who, frozenset[str]],
    tokens: list[tuple[str, int, int]],
    at: int,
    *,
    broken: bool,
) -> None:
    who, whom = subject
    previous = tokens[at - 1][0].casefold() if at else ""
    alone = here - state.first <= 4 and not any(word.stem in VERBS for word in state.words[state.first : here])
    if previous in {"and", "or", "&"} and alone and Who.SPEAKER in {state.who, who} and here > state.first:
        # "my wife and I": what they do, the speaker does
        who, whom = Who.SPEAKER, frozenset()
    independent = broken or not at or previous in _HARD or previous in _SOFT
    mood = Mood.FACT if independent else state.mood
    _fresh(state, here, who=who, whom=whom, mood=mood)


def _fresh(state: _State, here: int, *, mood: Mood, who: Who | None = None, whom: frozenset[str] | None = None) -> None:
    state.clause += 1
    state.first = here
    state.negative = state.over = state.inherited = state.leaving = False
    state.mood = mood
    if who is not None:
        state.who, state.whom = who, whom or frozenset()


def _apply(state: _State, kind: str) -> None:
    """What a word of `MARKERS` does to the words that follow."""
    match kind:
        case "no":
            state.negative = state.inherited or not state.negative
            state.inherited = False
        case "over":
            state.negative, state.over = not state.negative, True
        case "leaving":
            state.negative = state.leaving = True
        case "flip":
            state.negative = True
        case "versus" if state.leaving:
            state.negative = state.leaving = False
        case "versus":
            state.negative = _compared(state.words[max(state.first, len(state.words) - 12) :]) != state.negative
        case "would":
            if state.condition or state.mood is Mood.FACT:
                state.mood = Mood.CONDITION
        case "as_it_is":
            pass
        case _:
            state.mood = max(state.mood, Mood[kind.upper()])


_COMPARES: Final = frozenset(stem(word) for word in ["prefer", "prefers", "rather", "choose", "better", "pick", "más"])


def _compared(words: list[Said]) -> bool:
    """Whether "to", "over" or "than" sets what follows against what was said."""
    return any(word.stem in _COMPARES for word in words)


def _subject(tokens: list[tuple[str, int, int]], at: int, *, starts: bool) -> tuple[Who, frozenset[str]] | None:
    """The subject that begins with this word, if one does."""
    written = tokens[at][0]
    low = written.casefold()
    if low in FIRST:
        return Who.SPEAKER, frozenset()
    if low in THIRD:
        return Who.THEY, frozenset()
    if low in {"who", "whose"} and at:
        return _antecedent(tokens, at)
    if not starts:
        return None
    if low in YOU:
        return Who.YOU, frozenset()
    if low in GENERIC:
        return Who.ANYBODY, frozenset()
    if low in POSSESSIVES or low in {"a", "an", "the", "one", "some", "another", "both", "two"}:
        persons = _persons(tokens, at + 1)
        if persons:
            return Who.OTHERS, persons
        return (Who.SPEAKER, frozenset()) if low in POSSESSIVES else (Who.OPEN, frozenset())
    if low in THEIRS:
        return (Who.YOU, frozenset()) if low == "your" else (Who.THEY, _persons(tokens, at + 1))
    if low == "that's" and 0 < at <= 3 and at + 1 < len(tokens) and tokens[at + 1][0].casefold() in POSSESSIVES:
        persons = _persons(tokens, at + 2)
        return (Who.OTHERS, persons) if persons else None
    if low in IMPERSONAL:
        return Who.OPEN, frozenset()
    if stem(low) in PERSONS and len(tokens) > at + 1:
        return Who.OTHERS, _persons(tokens, at)
    return _named(tokens, at)


def _persons(tokens: list[tuple[str, int, int]], at: int) -> frozenset[str]:
    """People in a phrase of a few words: "best friend Tom's wife" is `friend`, `tom` and `wife`."""
    found: set[str] = set()
    for written, _, _ in tokens[at : at + _OWNED]:
        bare = written[:-2] if written.endswith("'s") else written
        low = bare.casefold()
        name = bare[0].isupper() and low not in STOP and low not in _WHO_NOT
        if stem(low) in PERSONS or (name and found):
            found.add(stem(low))
        elif found or low in STOP:
            break
    return frozenset(found)


def _antecedent(tokens: list[tuple[str, int, int]], at: int) -> tuple[Who, frozenset[str]] | None:
    """Whom "who" speaks of: the person named just before."""
    for written, _, _ in reversed(tokens[max(0, at - 3) : at]):
        low = written.casefold()
        if stem(low) in PERSONS or (written[0].isupper() and low not in STOP):
            return Who.OTHERS, frozenset([stem(low)])
    return None


_FINITE: Final = frozenset(
    "is was has had are were will would can could does did just also always never still really and's".split()
)


def _named(tokens: list[tuple[str, int, int]], at: int) -> tuple[Who, frozenset[str]] | None:
    """A name with a verb after it, or with "'s"."""
    names: list[str] = []
    for written, _, _ in tokens[at : at + 3]:
        low = written.casefold()
        bare = low[:-2] if low.endswith("'s") else low
        if not written[0].isupper() or bare in STOP or bare in _WHO_NOT:
            break
        names.append(stem(bare))
        if low.endswith("'s"):
            return Who.OTHERS, frozenset(names)
    if not names or (names[0] in VERBS and len(names) == 1):
        return _third_person(tokens, at)
    after = at + len(names)
    if after + 1 < len(tokens) and tokens[after][0].casefold().endswith("ly"):
        after += 1
    following = tokens[after][0].casefold() if after < len(tokens) else ""
    if at == 0 and len(names) == 1 and following == "are" and tokens[at][0].endswith("s"):
        return Who.OPEN, frozenset()
    if at == 0 and following in {"that's", "who's", "my", "who", "the", "our"} and _apart(tokens, at + len(names)):
        return Who.OTHERS, frozenset(names) | _persons(tokens, at + len(names) + 1)
    verb = following in _FINITE or (following.endswith(("s", "ed")) and stem(following) in VERBS)
    return (Who.OTHERS, frozenset(names)) if verb else None


def _apart(tokens: list[tuple[str, int, int]], at: int) -> bool:
    """Whether a comma stands before this word: "Kasia, my niece"."""
    return tokens[at][1] - tokens[at - 1][2] > 1


def _third_person(tokens: list[tuple[str, int, int]], at: int) -> tuple[Who, frozenset[str]] | None:
    """ "Lives in Rome" without a subject is about somebody else."""
    low = tokens[at][0].casefold()
    if at == 0 and low.endswith("s") and stem(low) in VERBS and low not in {"was", "does", "always"}:
        return Who.THEY, frozenset()
    return None


#: what follows them in a question is taken for granted
_GRANTED: Final = frozenset(["that", "because", "since", "although", "though"])
_DOUBTED: Final = frozenset(
    ["true", "possible", "likely", "think", "mean", "means", "say", "sure", "mind", "than", "is", "like"]
)


def _ask(sentence: str, offset: int, words: list[Said]) -> None:
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


def _own(sentence: str, offset: int, words: list[Said]) -> None:
    """Mark the words of "my ..." and "as a ...": they are taken for granted even in a question."""
    for at, word in enumerate(words):
        as_a = word.low in {"a", "an"} and at and words[at - 1].low == "as"
        if word.low not in POSSESSIVES and not as_a:
            continue
        last = word.end
        for other in words[at + 1 : at + 2 + _OWNED]:
            gap = sentence[last - offset : other.start - offset]
            ends = other.low in STOP and not other.low.isdigit() and other.low not in _JOINS
            if _BREAK.search(gap) or "'s" in gap or ends:
                break
            other.owned = True
            last = other.end


def _past(sentence: str, offset: int, words: list[Said]) -> None:
    """Mark clauses that tell of a state in the past: it may be over."""
    clauses: dict[int, list[Said]] = {}
    for word in words:
        clauses.setdefault(word.clause, []).append(word)
    for members in clauses.values():
        text = sentence[members[0].start - offset : members[-1].end - offset].casefold()
        if past_state(text):
            for word in members:
                word.over = True


def quoted_sentences(words: list[Said], start: int, stop: int) -> frozenset[int]:
    """The sentences that a stretch of the text touches."""
    return frozenset(word.sentence for word in words if word.start < stop and word.end > start)


def as_plain(text: str) -> str:
    """The text as `parse` expects it."""
    return plain(text)
