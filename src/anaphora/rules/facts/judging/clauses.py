"""Who says what of whom, word by word: is it meant, denied, wished, asked, over? English, as far as words tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from anaphora.rules.facts.judging.anew import SOFT_JOINS, begins_anew, is_contrast, is_item, is_told
from anaphora.rules.facts.judging.asked import BREAK, ask, deny, expect, own, past, suppose
from anaphora.rules.facts.judging.subjects import Token, subject
from anaphora.rules.language.lexicon import (
    FIRST,
    IMPERSONAL,
    POSSESSIVES,
    REPORTS,
    THIRD,
    VERBS,
    YOU,
    is_person,
)
from anaphora.rules.language.markers import MARKERS, Mood
from anaphora.rules.language.said import Said, Who
from anaphora.rules.language.stems import UNSPACED, WORD, inflected, split, stem

_SENTENCE: Final = re.compile(r"[^.!?。！？\n]*(?:[.!?](?=[\w@/])[^.!?。！？\n]*)*(?:[.!?。！？]+['\")]*|\n|$)")
#: a number with its points and colons is one word: "1,200", "6.2", "15:30"
_TOKEN: Final = re.compile(rf"\d+(?:[.,:]\d+)+(?![^\W_])|{WORD.pattern}")
#: a word with letters of two scripts is several
_RUN: Final = re.compile(rf"{UNSPACED.pattern}|(?:(?!{UNSPACED.pattern}).)+")
#: a full stop after them ends no sentence
_SHORT: Final = re.compile(r"\b((?i:dr|mrs?|ms|prof|vs|approx)|St|Jr|Sr|Mt|Ave)\.(?=\s)")
_HARD: Final = frozenset(
    [
        "but",
        "however",
        "although",
        "which",
        "though",
        "because",
        "so",
        "while",
        "whereas",
        "since",
        "except",
        "yet",
        "then",
        "bc",
        "cause",
        "cuz",
        "cos",
        "tho",
    ]
)
#: those of them that begin a statement only before a subject: "not yet", "so many", "since May"
_SOMETIMES: Final = frozenset(["since", "yet", "so", "then", "cause", "while", "though"])
#: after a comma they begin what is meant instead
_ANEW: Final = frozenset(
    split("just only instead please now but still nur sondern jetzt maintenant désormais ahora sino agora adesso ora")
)


@dataclass(slots=True)
class _State:
    """What holds for the words that follow."""

    clause: int = 0
    who: Who = Who.OPEN
    whom: frozenset[str] = frozenset()
    negative: bool = False
    over: bool = False
    gone: bool = False
    #: the "no" was said before the comma
    inherited: bool = False
    #: "moved from" was read: "to" will say where it is now
    leaving: bool = False
    #: "to" or "over" set it against what is preferred
    compared: bool = False
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
    text = _SHORT.sub(lambda match: f"{match.group(1)} ", text)
    for number, match in enumerate(_SENTENCE.finditer(text, start, len(text) if stop is None else stop)):
        sentence = match.group()
        if sentence.strip():
            _read(sentence, match.start(), number, state)
    _answer(words)
    return words


def _answer(words: list[Said]) -> None:
    """Of a topic that is set like a question, take what is said of it: "Asia? Never set foot there"."""
    for at, word in enumerate(words):
        back = next((back for back in range(1, min(at, 4) + 1) if words[at - back].opens), 0)
        asked = words[at - back : at]
        if not word.opens or not asked or any(other.mood is not Mood.QUESTION for other in asked):
            continue
        if word.low in _DENYING or word.low in _AFFIRMING:
            for other in asked:
                other.mood, other.negative = Mood.FACT, word.low in _DENYING


_DENYING: Final = frozenset(["no", "not", "never", "nope", "nah", "can't", "don't", "hate"])
_AFFIRMING: Final = frozenset(["yes", "yep", "absolutely", "always", "love", "definitely", "every"])


def _read(sentence: str, offset: int, number: int, state: _State) -> None:
    """Add the words of one sentence."""
    low = sentence.casefold() if len(sentence.casefold()) == len(sentence) else sentence
    marks = _marks(low)
    tokens = [(_as_name(sentence, match), match.start(), match.end()) for match in _TOKEN.finditer(sentence)]
    begin = len(state.words)
    if not _goes_on(tokens, state):
        _fresh(state, begin, who=Who.OPEN, whom=frozenset(), mood=Mood.FACT)
    else:
        _fresh(state, begin, mood=Mood.FACT)
    state.condition = False
    before = 0
    for at, (written, first, last) in enumerate(tokens):
        gap = sentence[before:first]
        _turn(state, tokens, at, gap, opening=at == 0)
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
                    stem=_stem(piece, sentence[last : last + 7].casefold()),
                    start=offset + start,
                    end=offset + start + len(piece),
                    sentence=number,
                    clause=state.clause,
                    who=state.who,
                    whom=state.whom,
                    negative=state.negative,
                    compared=state.compared,
                    over=state.over,
                    gone=state.gone,
                    mood=state.mood,
                    capital=piece[0].isupper(),
                    opens=at == 0,
                )
            )
    mine = state.words[begin:]
    ask(sentence, offset, mine)
    own(sentence, offset, mine)
    past(sentence, offset, mine)
    suppose(sentence, offset, mine)
    deny(sentence, offset, mine)
    expect(sentence, offset, mine)


def _stem(piece: str, rest: str) -> str:
    """The stem of a word; a "mother-in-law" is no mother."""
    if UNSPACED.search(piece):
        return piece
    return stem(piece.casefold()) + (rest if rest == "-in-law" else "")


def _as_name(sentence: str, match: re.Match[str]) -> str:
    """The word; the second half of a name like "Hyun-woo" with a capital."""
    word, before = match.group(), sentence[max(0, match.start() - 30) : match.start()]
    joined = before.endswith("-") and word.islower() and (before[:-1].split() or [""])[-1].istitle()
    return word.capitalize() if joined else word


def _goes_on(tokens: list[Token], state: _State) -> bool:
    """Whether a sentence leaves out the subject of the one before it, like "Lived in Rome"."""
    if not tokens or state.who not in {Who.OTHERS, Who.THEY}:
        return False
    low = tokens[0][0].casefold()
    return (low.endswith(("ed", "s")) and stem(low) in VERBS) or low in _PAST


_PAST: Final = frozenset(
    ["ate", "went", "was", "had", "got", "came", "took", "made", "drove", "ran", "wrote", "grew", "left"]
)


def _pieces(word: str, first: int) -> Iterator[tuple[int, str]]:
    """The word; of a run without blanks, each two letters."""
    if UNSPACED.search(word) is None:
        yield first, word
        return
    for run in _RUN.finditer(word):
        piece = run.group()
        if UNSPACED.search(piece) is None or len(piece) <= 2:
            yield first + run.start(), piece
            continue
        for at in range(len(piece) - 1):
            yield first + run.start() + at, piece[at : at + 2]


def _marks(low: str) -> dict[int, list[str]]:
    """Where a word begins that turns what follows, and how."""
    found: dict[int, list[str]] = {}
    for match in MARKERS.finditer(low):
        kind = match.lastgroup or ""
        place = match.start() + len(match.group()) - len(match.group().lstrip())
        if kind in {"leaving", "attempt"}:
            # what was left stands after "from" or "of"; what is wished, after "for" or "to"
            place = match.end() - len(match.group().rsplit(None, 1)[-1])
        found.setdefault(place, []).append(kind.removesuffix("_too"))
    return found


_FEELINGS: Final = frozenset(
    stem(word)
    for word in split("love like hate adore dislike admire trust miss lend lent owe teach invite support visit")
)
_MEDICS: Final = frozenset(
    stem(word)
    for word in ["doctor", "doc", "dentist", "therapist", "physio", "nurse", "vet", "psychiatrist", "optician"]
)
_TOLD: Final = frozenset(
    ["said", "says", "told", "confirmed", "found", "recommended", "prescribed", "diagnosed", "put", "orders"]
)


def _turn(state: _State, tokens: list[Token], at: int, gap: str, *, opening: bool) -> None:
    """Begin another statement, if one begins with this word."""
    low = tokens[at][0].casefold()
    broken = BREAK.search(gap) is not None
    start = opening or broken or (at > 0 and tokens[at - 1][0].casefold() in REPORTS)
    found = subject(tokens, at, starts=start)
    here = len(state.words)
    hard = low in _HARD and (low not in _SOMETIMES or broken or _pronoun(tokens, at + 1))
    if (
        (hard and not opening)
        or (broken and gap.strip(" ") in {";", ":", "—", "(", ")", "-"})
        or (broken and ";" in gap)
        or (broken and (low in _ANEW or ((inflected(low) or low.endswith("s")) and stem(low) in VERBS)))
    ):
        _fresh(state, here, mood=Mood.FACT)
    elif broken or low in SOFT_JOINS:
        state.clause += 1
        said = state.words[max(state.first, here - 8) : here]
        anew = (state.over or state.negative) and begins_anew(tokens, at, broken=broken, flipped=state.compared)
        if anew or (broken and state.negative and is_contrast(tokens, at, said)):
            state.negative = state.over = state.compared = False
        if broken and state.mood is not Mood.FACT and is_told(tokens, at, unreal=state.mood is Mood.UNREAL):
            state.mood = Mood.FACT
        state.inherited = state.negative
        if broken and state.mood in {Mood.CONDITION, Mood.MAYBE}:
            state.condition |= state.mood is Mood.CONDITION
            state.mood = Mood.FACT
    elif (
        not opening
        and (stem(low) in VERBS or low in _ANEW or low.endswith("ed"))
        and tokens[at - 1][0].casefold() in SOFT_JOINS
    ):
        held = (state.negative, state.over) if tokens[at - 1][0].casefold() in {"or", "nor"} else (False, False)
        _fresh(state, here, who=state.who, whom=state.whom, mood=state.mood)
        state.negative, state.over = held
    elif (
        low in {"me", "us"}
        and state.who in {Who.OTHERS, Who.THEY}
        and here > state.first
        and tokens[at - 1][0].casefold() != "than"
    ):
        state.who, state.whom = Who.OPEN, frozenset()
        for word in (word for word in state.words[state.first : here][-12:] if word.clause == state.clause):
            # who is hated does not hate
            kept = is_person(word.low) or word.stem in _FEELINGS
            word.who = word.who if kept else Who.OPEN
    elif (
        low in {"my", "our"}
        and tokens[at - 1][0].casefold() not in {"that's", "both", "all", "of", "one"}
        and state.who in {Who.OTHERS, Who.THEY}
        and here > state.first
    ):
        # "my wife got me into climbing": what follows is about the one who speaks
        state.who, state.whom = Who.OPEN, frozenset()
    elif state.whom & _MEDICS and at and tokens[at - 1][0].casefold() in _TOLD:
        state.who, state.whom = Who.OPEN, frozenset()
    if found is not None and not (state.mood is not Mood.FACT and is_item(tokens, at)):
        _new_subject(state, here, found, tokens, at, broken=broken)


def _pronoun(tokens: list[Token], at: int) -> bool:
    low = tokens[at][0].casefold() if at < len(tokens) else ""
    return low in FIRST or low in THIRD or low in YOU or low in IMPERSONAL or low in POSSESSIVES


_OPINES: Final = frozenset(split("thinks think thought believes reckons swears claims feels hopes fears insists"))
_CLAIMS: Final = frozenset(
    ["says", "say", "said", "thinks", "think", "thought", "claims", "claimed", "believes", "swears", "reckons"]
)


def _new_subject(
    state: _State,
    here: int,
    subject: tuple[Who, frozenset[str]],
    tokens: list[Token],
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
    independent = broken or not at or previous in _HARD or previous in SOFT_JOINS
    mood = Mood.FACT if independent else state.mood
    if previous in _CLAIMS and state.who in {Who.OTHERS, Who.THEY, Who.ANYBODY} and not state.whom & _MEDICS:
        # what others say of the speaker is their opinion
        mood = Mood.MAYBE
    if who is Who.OPEN and previous in _OPINES and state.who in {Who.OTHERS, Who.THEY, Who.ANYBODY}:
        # "she thinks it's a waste": that is hers
        who, whom = state.who, state.whom
    _fresh(state, here, who=who, whom=whom, mood=mood)


def _fresh(state: _State, here: int, *, mood: Mood, who: Who | None = None, whom: frozenset[str] | None = None) -> None:
    state.clause += 1
    state.first = here
    state.negative = state.over = state.gone = state.inherited = state.leaving = state.compared = False
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
        case "gone":
            state.over = state.gone = True
        case "leaving":
            state.negative = state.leaving = state.compared = True
        case "flip":
            state.negative = state.compared = True
        case "versus" if state.leaving:
            state.negative = state.leaving = state.compared = False
        case "versus":
            compared = _compared(state.words[max(state.first, len(state.words) - 12) :])
            state.negative, state.compared = compared != state.negative, compared
        case "would":
            if state.condition or state.mood is Mood.FACT:
                state.mood = Mood.CONDITION
        case "attempt":
            state.mood = max(state.mood, Mood.WISH)
        case "as_it_is":
            pass
        case _:
            state.mood = max(state.mood, Mood[kind.upper()])


_COMPARES: Final = frozenset(stem(word) for word in ["prefer", "prefers", "rather", "choose", "better", "pick", "más"])


def _compared(words: list[Said]) -> bool:
    """Whether "to", "over" or "than" sets what follows against what was said."""
    return any(word.stem in _COMPARES for word in words)


def quoted_sentences(words: list[Said], start: int, stop: int) -> frozenset[int]:
    """The sentences that a stretch of the text touches."""
    return frozenset(word.sentence for word in words if word.start < stop and word.end > start)
