"""Of whom a clause speaks: the grammatical subject that begins with a word. English, and the pronouns of others."""

from __future__ import annotations

from typing import Final

from anaphora.rules.language.lexicon import (
    FIRST,
    FREE,
    GENERIC,
    IMPERSONAL,
    MEANS,
    POSSESSIVES,
    SOFT,
    THEIRS,
    THIRD,
    VERBS,
    YOU,
    is_person,
    stems,
)
from anaphora.rules.language.numeral_words import MONTHS, WEEKDAYS
from anaphora.rules.language.said import Who
from anaphora.rules.language.stems import inflected, split, stem
from anaphora.rules.language.words import STOP

#: a word as written, and where it stands
Token = tuple[str, int, int]
#: what kind, and the stems that name it
Subject = tuple[Who, frozenset[str]]
_WHO_NOT: Final = frozenset((*MONTHS, *WEEKDAYS))
#: words of a phrase like "my best friend Tom"
_PHRASE: Final = 6


_NOBODY: Final[frozenset[str]] = frozenset()
_PRONOUNS: Final = ((FIRST, Who.SPEAKER), (THIRD, Who.THEY))
#: at the beginning of a clause only
_OPENING: Final = ((YOU, Who.YOU), (GENERIC, Who.ANYBODY), (IMPERSONAL, Who.OPEN))
#: "as you see" and "you know" speak of nobody
_ASIDES: Final = frozenset(["see", "know", "might", "can", "could", "may", "say", "guessed", "asked"])
_ARTICLES: Final = frozenset(["a", "an", "the", "one", "some", "another", "both", "two"])


def subject(tokens: list[Token], at: int, *, starts: bool) -> Subject | None:
    """The subject that begins with this word, if one does.

    Args:
        tokens: the words of the sentence.
        at: which of them.
        starts: a clause may begin with it.

    """
    low = tokens[at][0].casefold()
    if low in _ALSO_SAID and not _is_pronoun(tokens, at, low):
        return None
    for pronouns, who in _PRONOUNS:
        if low in pronouns:
            return who, _NOBODY
    if low in {"who", "whose", "who's"} and at:
        return _antecedent(tokens, at)
    return _opened(tokens, at, low) if starts else None


#: "il liceo" is no "il" who does a thing, "I meant 21 October" tells nothing of who speaks, and "they" may be things
_ALSO_SAID: Final = frozenset(["il", "i", "they", "they're"])
_FRENCH: Final = frozenset(
    split(
        "est a ne n'a va fait se s'est était avait y en me te nous vous travaille habite vit joue aime adore déteste "
        "veut peut doit prend mange boit parle sera aura dit part vient étudie s'appelle qui le la les l'a"
    )
)
#: what doctors, shops and offices do to whoever speaks of "them"
_OFFICES: Final = frozenset(
    split(
        "upped raised lowered put gave increased reduced cut prescribed offered moved made hired promoted diagnosed "
        "switched changed took found started charge charged extended renewed doubled halved accepted rejected fired "
        "cancelled canceled postponed delayed rescheduled told fixed replaced installed delivered"
    )
)


def _is_pronoun(tokens: list[Token], at: int, low: str) -> bool:
    """Whether such a word is the subject here."""
    following = tokens[at + 1][0].casefold() if at + 1 < len(tokens) else ""
    if low == "il":
        return following in _FRENCH
    if low == "i":
        return following not in {"mean", "meant"}
    before = [written for written, _, _ in tokens[max(0, at - 12) : at]]
    if any(is_person(word.casefold()) or (word[0].isupper() and place) for place, word in enumerate(before)):
        return True
    # "how fast bogs are and how they recover" speaks of the bogs
    things = any(len(word) > 3 and word.endswith("s") and word.casefold() not in STOP for word in before)
    return not things and following not in _OFFICES


def _opened(tokens: list[Token], at: int, low: str) -> Subject | None:
    """The subject with which a clause opens."""
    if low == "that's" and 0 < at <= 3 and at + 1 < len(tokens) and tokens[at + 1][0].casefold() in POSSESSIVES:
        persons = _persons(tokens, at + 2)
        return (Who.OTHERS, persons) if persons else None
    following = tokens[at + 1][0].casefold() if at + 1 < len(tokens) else ""
    aside = low in YOU and following in _ASIDES
    if aside or (at and tokens[at - 1][0].casefold() == "as" and low in {"a", "an"}):
        return None
    for pronouns, who in _OPENING:
        if low in pronouns and not (low == "most" and following in {"of", "days", "weekends"}):
            return who, _NOBODY
    found = _described(tokens, at, low)
    joined = at > 0 and tokens[at - 1][0].casefold() in {"and", "or", "plus"}
    return None if found and found[0] is Who.OTHERS and joined and not _goes_on(tokens, at) else found


def _described(tokens: list[Token], at: int, low: str) -> Subject | None:
    """A subject of several words: "my best friend", "their car", "Tom"."""
    if low in POSSESSIVES or low in _ARTICLES:
        persons = _persons(tokens, at + 1) or _doer(tokens, at + 1)
        if persons:
            return Who.OTHERS, persons
        return (Who.SPEAKER if low in POSSESSIVES else Who.OPEN), _NOBODY
    if low in THEIRS:
        persons = _persons(tokens, at + 1)
        return (Who.YOU, _NOBODY) if low == "your" else (Who.OTHERS if persons else Who.THEY, persons)
    if is_person(low) and len(tokens) > at + 1 and not _compound(tokens, at):
        return Who.OTHERS, _persons(tokens, at)
    return _named(tokens, at)


def _goes_on(tokens: list[Token], at: int) -> bool:
    """Whether anything is said of what begins here: of the twins in "with my wife and the twins, in May" nothing is."""
    for place in range(at + 1, min(at + _PHRASE, len(tokens))):
        if _apart(tokens, place) and not tokens[place - 1][0].casefold().endswith("'s"):
            return False
        low = tokens[place][0].casefold()
        if low in _FINITE or stem(low) in VERBS or (low not in STOP and low.endswith(("s", "ed"))):
            return True
    return at + _PHRASE < len(tokens)


#: they end like one who does a thing, and are none
_NOT_DOERS: Final = stems(
    "computer printer charger heater router cooker mixer freezer scooter trailer letter dinner summer winter number "
    "order paper water weather shoulder finger liver bladder career newsletter transfer folder server toaster jumper "
    "sweater laser monitor motor tractor mirror error floor door color flavor favor honor tumor river offer power "
    "tower flower shower corner center counter quarter member answer butter pepper leather feather chapter other "
    "another former latter later over under after never ever either whether rather better proper super per"
)


def _doer(tokens: list[Token], at: int) -> frozenset[str]:
    """Who does a thing, and acts: "our drummer moved"."""
    for place in range(at, min(at + 3, len(tokens) - 1)):
        low, following = tokens[place][0].casefold(), tokens[place + 1][0].casefold()
        if low in STOP or _apart(tokens, place + 1):
            break
        acts = following in _FINITE or (inflected(following) and stem(following) in VERBS)
        if acts and len(low) > 5 and low.endswith(("er", "or", "ist", "ian")) and stem(low) not in _NOT_DOERS:
            return frozenset([stem(low)])
    return _NOBODY


def _compound(tokens: list[Token], at: int) -> bool:
    """Whether a person only tells what sort of thing is meant: "student loan"."""
    return tokens[at + 1][0].casefold() in OF_PERSONS


OF_PERSONS: Final = frozenset(
    split(
        "loan loans visa appointment food fight visit debt card discount shower house shop school insurance union "
        "council fees life night seat gate park bed dinner day club"
    )
)


def _persons(tokens: list[Token], at: int) -> frozenset[str]:
    """People in a phrase of a few words: "best friend Tom's wife" is `friend`, `tom` and `wife`."""
    found: set[str] = set()
    owner = False
    for written, _, _ in tokens[at : at + _PHRASE]:
        bare = written.removesuffix("'s")
        low = bare.casefold()
        name = bare[0].isupper() and low not in STOP and low not in _WHO_NOT
        if is_person(low) or (name and found):
            if owner:
                # "my wife's sister" is no sister of mine
                found = {f"{' '.join(sorted(found))}'s {stem(low)}"}
            else:
                found.add(stem(low))
            owner = bare != written
        elif found or (low in STOP and low not in POSSESSIVES and low not in {"of", "the"}):
            break
    return frozenset(found)


def _antecedent(tokens: list[Token], at: int) -> Subject | None:
    """Whom "who" speaks of: the person named just before."""
    if tokens[at - 1][0].casefold() in {"me", "i"}:
        return Who.SPEAKER, _NOBODY
    for place in range(at - 1, max(-1, at - 4), -1):
        written = tokens[place][0]
        low = written.casefold()
        located = place and tokens[place - 1][0].casefold() in {"from", "in", "at", "near", "of"}
        if is_person(low) or (written[0].isupper() and low not in STOP and not located):
            return Who.OTHERS, frozenset([stem(low)])
    return None


#: with a capital because they begin a sentence: "Budget is 120 euros"
_THINGS: Final = frozenset(MEANS) | SOFT | FREE
_FINITE: Final = frozenset(
    [
        "is",
        "was",
        "has",
        "had",
        "are",
        "were",
        "will",
        "would",
        "can",
        "could",
        "does",
        "did",
        "just",
        "also",
        "always",
        "never",
        "still",
        "really",
        "and's",
        "must",
        "should",
        "may",
        "might",
        "cannot",
        "won't",
        "can't",
        "doesn't",
        "didn't",
        "isn't",
        "wasn't",
        *split(
            "lent fed rang rose tore dug bit laid learnt dreamt burnt lit dealt shot stuck swore showed forgave owes"
        ),
        "hasn't",
        "hadn't",
        "wouldn't",
        "couldn't",
    ]
)


def _named(tokens: list[Token], at: int) -> Subject | None:
    """A name with a verb after it, or with "'s"."""
    names: list[str] = []
    for written, _, _ in tokens[at : at + 3]:
        low = written.casefold()
        bare = low.removesuffix("'s")
        if not written[0].isupper() or bare in STOP or bare in _WHO_NOT:
            break
        names.append(stem(bare))
        if low.endswith("'s"):
            return _whose(tokens, at + len(names), frozenset(names))
    if not names or (len(names) == 1 and (names[0] in VERBS or (at == 0 and names[0] in _THINGS))):
        return _third_person(tokens, at)
    after = at + len(names)
    if after + 1 < len(tokens) and tokens[after][0].casefold().endswith("ly"):
        after += 1
    following = tokens[after][0].casefold() if after < len(tokens) else ""
    if at == 0 and len(names) == 1 and following == "are" and tokens[at][0].endswith("s"):
        return Who.OPEN, frozenset()
    if at == 0 and following in {"that's", "who's", "my", "who", "the", "our"} and _apart(tokens, at + len(names)):
        return Who.OTHERS, frozenset(names) | _persons(tokens, at + len(names) + 1)
    verb = following in _FINITE or (
        (following.endswith("s") or inflected(following))
        and stem(following) in VERBS
        and following not in {"cut", "put"}
    )
    close = after < len(tokens) and tokens[after][1] - tokens[after - 1][2] == 1
    return (Who.OTHERS, frozenset(names)) if verb and close else None


def _whose(tokens: list[Token], at: int, names: frozenset[str]) -> Subject | None:
    """Of whom "Paulo's ..." speaks: of his girlfriend, if she comes next; of nobody, if a comma does."""
    if at >= len(tokens) or _apart(tokens, at):
        return None
    persons = _persons(tokens, at) if is_person(tokens[at][0].casefold()) else frozenset()
    return Who.OTHERS, persons or names


def _apart(tokens: list[Token], at: int) -> bool:
    """Whether a comma stands before this word: "Kasia, my niece"."""
    return tokens[at][1] - tokens[at - 1][2] > 1


def _third_person(tokens: list[Token], at: int) -> Subject | None:
    """Somebody else, if a sentence begins with a verb in the third person: "Lives in Rome"."""
    low = tokens[at][0].casefold()
    if at == 0 and low.endswith("ing") and stem(low) in VERBS:
        return Who.SPEAKER, _NOBODY
    if at == 0 and low.endswith("s") and stem(low) in VERBS and low not in {"was", "does", "always"}:
        return Who.THEY, frozenset()
    return None
