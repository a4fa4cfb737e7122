"""How much of a statement was said in no word: a rewording uses up what was said, an invention stands beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from anaphora.rules.facts.judging.weighed import Source, Weighed
from anaphora.rules.language.lexicon import FREE, POSSESSIVES, VERBS, alike, stems, supported
from anaphora.rules.language.numerals import numbers
from anaphora.rules.language.said import Said
from anaphora.rules.language.stems import split
from anaphora.rules.language.words import FRAME, STOP

#: how much of a statement must have been said
_ENOUGH: Final = 0.25
#: telling words of it that were not said, if as many others were said in their place
_MOST_UNSAID: Final = 3
#: a phrase begins with them
_OPENERS: Final = frozenset(
    split(
        "because of on in at with for to from and who which that by after before during about over under near since "
        "while when where due but or through into inside around until"
    )
)
_JOINS: Final = frozenset(["and", "but"])
#: what is grave must have been said in so many words
_GRAVE: Final = stems(
    "surgery operation cancer tumour tumor pneumonia diabetic diabetes depression depressed "
    "converted convert addicted addict addiction alcoholic alcoholism heroin cocaine drug drugs suicide abuse abusive "
    "arrest "
    "arrested prison jail convicted criminal bankrupt bankruptcy debt pregnant pregnancy miscarriage abortion "
    "divorced divorce widow widower died dead death funeral fired unemployed homeless asylum gay lesbian bisexual "
    "transgender autistic autism adhd bipolar schizophrenia anorexia epilepsy hiv aids dementia insured insurance "
    "millionaire wealthy muslim christian jewish hindu catholic atheist socialist conservative liberal republican "
    "democrat vegan vegetarian allergic allergy cheated affair infertile "
    "furious angry anger upset sad jealous ashamed devastated heartbroken disappointed resent hate lonely bitter "
    "proud guilty regret embarrassed humiliated thrilled delighted"
)
#: with none of their signs alone they are said
_DIAGNOSES: Final = tuple(
    split(
        "alcoholi addict depressi bankrupt criminal convict suicid cancer tumour tumor pneumonia dementia alzheimer "
        "parkinson autis bipolar schizo anorexi bulimi epilep hypochond narciss racist millionair wealthy insomnia "
        "obese obesity dyslex ptsd genius lazy"
    )
)
#: what is done goes without saying: who has a rent pays it
_IMPLIED: Final = stems(
    "study pay cost celebrate observe travel commute play practise attend use wear drive ride sew make bake"
)
#: what has a number has it as a name
_NUMBERED: Final = frozenset(split("year grade class level room step line version type no number"))
#: what is had says little, and what it is of says it
_HEADS: Final = stems(
    "position sense habit tendency way role job interest need preference aversion fear problem issue condition plan "
    "subscription membership contract account appointment relationship background experience collection talent"
)
#: how a thing came out tells much, however small the word
_OUTCOMES: Final = stems("pass complete achieve beat elect solve prepare repair succeed fail win lose finish accept")
#: who does a thing is called so
_ANYBODY: Final = stems(
    "person owner carer fan lover member enthusiast user player speaker resident parent learner beginner loser riser "
    "homeowner goer keeper eater drinker sleeper reader walker sufferer participant type kind half end able "
    "mother father mum dad"
)
#: that something began, changed or ended is often told in other words
_CHANGES: Final = stems("move learn practise practice train leave retire start begin stop finish join")
#: with a number they say hardly more than it
_MEASURES: Final = stems(
    "weigh weight tall height measure size cost price fee rent budget amount sum age date birth due meet appointment "
    "start end begin close open alarm ring hour length last total number score result mark time room address phone "
    "version model flight train ticket member student employee subscriber people team"
)
#: who says so lives by what they tell of
_LIVING: Final = re.compile(
    r"\b(?:living|pays? the (?:rent|bills)|profession|trade|career|clients?|customers|paid to|by day|business"
    r"|i run|i own|my (?:shop|studio|practice|workshop)|(?:been|worked|working|work) as)\b",
    re.IGNORECASE,
)
_WORK: Final = re.compile(
    r"\b(?:living|work\w*|job|shifts?|career|profession|trade|clients?|customers|paid|pays|rent|boss|office|employ\w+"
    r"|company|salary|wage|business|shop|class(?:es|room)?|students|pupils|patients|ward|school)\b",
    re.IGNORECASE,
)


def says_more(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> bool:
    """Whether a statement tells what was not said, beyond a rewording."""
    hard = (frozenset(found.missing) | _borrowed(mine, sources)) - found.vague
    if found.anchors and len(hard) == 1:
        hard -= _MEASURES
    if not hard:
        return found.share < _ENOUGH or any(_is_guessed(reason, sources) for reason in _reasons(mine))
    everything = found.total + found.anchors
    spare = min(_MOST_UNSAID, _left_over(mine, sources)) if everything > 1 else 0
    if len(hard) > spare or found.share < _ENOUGH:
        return True
    if any(_is_guessed(reason, sources) for reason in _reasons(mine)):
        return True
    missing = frozenset(found.missing)
    if _is_bare(mine, missing) or hard & _GRAVE or any(_is_added(phrase, hard) for phrase in _phrases(mine)):
        return True
    told = _is_so(mine, missing) or _has(mine, hard) or _counts(mine, hard) or _came_out(mine, missing)
    return told or _does(mine, hard) or (_calls(mine, hard) and not any(_LIVING.search(each.text) for each in sources))


def is_diagnosed(mine: Sequence[Said], sources: Sequence[Source]) -> bool:
    """Whether an illness or a judgement on somebody was only guessed from signs of it: "an alcoholic" from beers."""
    grave = [word.low[:6] for word in mine if word.low.startswith(_DIAGNOSES) and not word.negative]
    said = " ".join(word.low for source in sources for word in source.words) if grave else ""
    return any(root not in said for root in grave)


def _is_so(mine: Sequence[Said], missing: frozenset[str]) -> bool:
    """Whether nobody spoke of what somebody is said to be: "is unhappy in her marriage"."""
    for at, word in enumerate(mine[:-1]):
        if word.low in {"is", "am", "are"} and 0 < at < 4:
            named = mine[at + 1].low in {"a", "an", "the"}
            said = None if named else next((other for other in mine[at + 1 : at + 4] if other.low not in STOP), None)
            acts = said is not None and said.low.endswith(("ing", "ed"))
            return said is not None and not acts and said.stem in missing - _ANYBODY - _CHANGES
    return False


def _has(mine: Sequence[Said], hard: frozenset[str]) -> bool:
    """Whether nobody spoke of what somebody is said to have: a "driving licence" of the "driving test"."""
    for at, word in enumerate(mine[:-1]):
        if word.low in {"has", "owns", "possesses"} and 0 < at < 4:
            phrase = mine[at + 1 : at + 6]
            if not phrase or phrase[0].low not in {"a", "an"}:
                return False
            thing = list(takewhile(lambda other: other.low not in STOP | _OPENERS, phrase[1:]))
            return bool(thing) and thing[-1].stem in hard - _ANYBODY - _MEASURES - _HEADS
    return False


def _counts(mine: Sequence[Said], hard: frozenset[str]) -> bool:
    """Whether nobody spoke of what is counted: of "12 years" come no "12 employees"."""
    return any(
        numbers(word.low)
        and mine[at - 1].low not in _NUMBERED
        and mine[at + 1].stem in hard
        and mine[at + 1].low.endswith("s")
        for at, word in enumerate(mine[:-1])
    )


def _came_out(mine: Sequence[Said], missing: frozenset[str]) -> bool:
    """Whether nobody spoke of how a thing came out: "has passed the exam"."""
    first = next((word for word in mine[1:5] if word.low not in STOP), None)
    return first is not None and first.stem in _OUTCOMES & missing


def _borrowed(mine: Sequence[Said], sources: Sequence[Source]) -> frozenset[str]:
    """The verb, if nothing tells of it but a word that says another: "writing" of "reading a novel" is the novel."""
    verb = main_verb(mine)
    if verb is None or _needless(verb) or verb.stem in _IMPLIED:
        return frozenset()
    if any(word.low in {"is", "am", "are", "was"} for word in mine[1:3]) and not verb.low.endswith("ing"):
        return frozenset()
    said = {word.stem for source in sources for word in source.words if word.low not in STOP}
    if any(alike(verb.stem, other) for other in said):
        return frozenset()
    fits = {other for other in said if supported(verb.stem, (other,))}
    others = [word.stem for word in mine if word is not verb and not (word.low in STOP or _needless(word))]
    spent = all(any(alike(root, other) for root in others) for other in fits)
    return frozenset([verb.stem]) if fits and spent else frozenset()


def _needless(word: Said) -> bool:
    return word.stem in FREE or word.stem in FRAME


def _is_bare(mine: Sequence[Said], missing: frozenset[str]) -> bool:
    """Whether of all that a statement tells only names and numbers were said: "is planning a trip to Kyoto"."""
    telling = {
        word.stem
        for word in mine
        if not (word.low in STOP or word.stem in FREE | _MEASURES or word.capital or numbers(word.low))
    }
    return bool(telling) and telling <= missing


def works(sources: Sequence[Source]) -> bool:
    """Whether work was spoken of."""
    return any(_WORK.search(source.text) for source in sources)


def _left_over(mine: Sequence[Said], sources: Sequence[Source]) -> int:
    """How many telling words of the quoted sentences the statement does not use: it may say them otherwise."""
    used = [word.stem for word in mine if word.low not in STOP]
    left = {
        word.stem
        for source in sources
        if source.rank in {0, 3}
        for word in source.words
        if word.low not in STOP and not any(supported(other, (word.stem,)) for other in used)
    }
    return len(left)


def _phrases(mine: Sequence[Said]) -> Iterator[list[Said]]:
    """The phrases that a preposition or a conjunction opens."""
    phrase: list[Said] | None = None
    for word in mine:
        if word.low in _OPENERS:
            if phrase:
                yield phrase
            phrase = None if word.low in _JOINS else []
        elif phrase is not None:
            phrase.append(word)
    if phrase:
        yield phrase


#: after them stands why, or what for
_WHY: Final = re.compile(
    r"\b(?:because(?: of)?|due to|owing to|in order to|so that|so as to|in hopes? of"
    r"|with the aim of|to avoid|as a result of)\b"
)


def _reasons(mine: Sequence[Said]) -> Iterator[list[Said]]:
    """What a statement gives as a reason or a purpose."""
    text = " ".join(word.low for word in mine)
    match = _WHY.search(text)
    if match:
        before = len(text[: match.end()].split())
        yield list(mine[before:])


def _is_guessed(reason: Sequence[Said], sources: Sequence[Source]) -> bool:
    """Whether hardly a word of a reason was said."""
    telling = [word for word in reason if word.low not in STOP and word.stem not in FRAME and not numbers(word.low)]
    said = [word for source in sources for word in source.words]
    literal = [word for word in telling if any(alike(word.stem, other.stem) for other in said)]
    return bool(telling) and not literal and not any(numbers(word.low) for word in reason)


def _is_added(phrase: Sequence[Said], hard: frozenset[str]) -> bool:
    """Whether nothing of a phrase was said: "with pneumonia"."""
    telling = [word for word in phrase if word.low not in STOP]
    lacking = [word for word in telling if word.stem in hard]
    return bool(lacking) and not any(
        word.stem not in hard and (numbers(word.low) or not (word.stem in FREE or word.stem in FRAME))
        for word in telling
    )


def main_verb(mine: Sequence[Said]) -> Said | None:
    """What is done: the first telling word after the subject, if it is a verb."""
    first = next((word for word in mine[1:6] if word.low not in STOP and not word.low.endswith("ly")), None)
    return first if first is not None and first.stem in VERBS else None


def _does(mine: Sequence[Said], hard: frozenset[str]) -> bool:
    """Whether nobody spoke of what is done: its verb was not said, nor anything like it."""
    verb = main_verb(mine) or _verb_of_thing(mine)
    return verb is not None and verb.stem in hard - _CHANGES - _IMPLIED


def _verb_of_thing(mine: Sequence[Said]) -> Said | None:
    """What a thing did: "expired" of "my visa expired"."""
    if not mine or mine[0].low not in POSSESSIVES:
        return None
    for at, word in enumerate(mine[2:7], start=2):
        if word.low in STOP or word.low in _OPENERS:
            return None
        if word.low.endswith("ed") and mine[at - 1].low not in STOP:
            return word
    return None


def _calls(mine: Sequence[Said], hard: frozenset[str]) -> bool:
    """Whether it says what somebody is with a noun that nobody used: "is a dressmaker"."""
    noun = called(mine)
    return noun is not None and noun.stem in hard - _ANYBODY


def called(mine: Sequence[Said]) -> Said | None:
    """What the statement says somebody is: the noun of "is a second tenor"."""
    for at, word in enumerate(mine[:-1]):
        if word.low in {"a", "an", "the"} and at and mine[at - 1].low in {"is", "am", "as", "was"}:
            noun = next((other for other in mine[at + 1 : at + 5] if other.low in _OPENERS), None)
            last = mine.index(noun) - 1 if noun is not None else min(at + 4, len(mine) - 1)
            return mine[last]
    return None
