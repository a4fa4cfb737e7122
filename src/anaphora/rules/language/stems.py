"""Words as they are written, and the stem that the forms of one word share. Any script; endings are English."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final


def split(written: str) -> list[str]:
    """The words of a list that is written as a sentence."""
    return written.split()


#: letters of scripts that are written without blanks between words
UNSPACED: Final = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿฀-๿຀-໿ក-៿က-႟]+")
#: signs that belong to the letter before them
_MARKS: Final = r"̀-ًͯ-ٰٟऀ-ॣ०-෿"
_LETTER: Final = rf"(?:[^\W_]|[{_MARKS}])"
WORD: Final = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)?")

_PLAIN: Final = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "–": "-"}
)
_VOWEL: Final = re.compile(r"[aeiouy]")
_ES: Final = ("sses", "xes", "ches", "shes", "zes", "oes")
#: they end like a form of another word, and are none
_WHOLE: Final = frozenset(
    split(
        "always anything bed ceiling christmas during evening everything family gas his indeed its july less lens "
        "morning news nothing perhaps plus something texas this thing thus unless wedding yes james paris"
    )
)
_FORMS: Final = (
    "be am is are was were been being|have has had having|do does did done doing|go goes went gone going"
    "|buy bought|eat ate eaten|drink drank drunk|drive drove driven|run ran|swim swam swum|teach taught"
    "|grow grew grown|know knew known|sing sang sung|speak spoke spoken|write wrote written|read|ride rode ridden"
    "|get got gotten|give gave given|take took taken|make made|meet met|leave left|lose lost|keep kept|feel felt"
    "|sleep slept|spend spent|build built|send sent|sell sold|tell told|say said|think thought|bring brought"
    "|catch caught|fight fought|find found|hold held|hear heard|lead led|pay paid|sit sat|stand stood|win won"
    "|wear wore worn|break broke broken|choose chose chosen|fall fell fallen|fly flew flown|begin began begun"
    "|become became|come came|see saw seen|wake woke woken|draw drew drawn|throw threw thrown|forget forgot forgotten"
    "|understand understood|bear bore|shake shook|steal stole|wed|child children kid kids|person people|man men"
    "|woman women|wife wives|husband|life|foot feet|tooth teeth|mouse mice|goose geese|half halves|knife knives"
    "|use using used|die dying died|lie lying lied|tie tying tied|good better best|bad worse worst"
    "|move moving|mum mom mommy mummy mother mama|dad daddy father papa|grandma grandmother granny nana"
    "|grandpa grandfather granddad|bike bicycle|colour color|favourite favorite|neighbour neighbor|theatre theater"
    "|grey gray|pyjamas pajamas|tv television|phone telephone|fridge refrigerator|uni university|vet veterinarian"
    "|flat apartment|organise organize|doc doctor|maths math|centre center|sis sister|bro brother|vacation holiday"
    "|day daily|week weekly|month monthly|year yearly|marry married marriage|ny nyc|email e-mail mail|okay ok"
)
_IRREGULAR: Final = {form: forms.split()[0] for forms in _FORMS.split("|") for form in forms.split()}


def plain(text: str) -> str:
    """The text in NFC with straight quotes and plain dashes; of the same length as its NFC."""
    return unicodedata.normalize("NFC", text).translate(_PLAIN)


def words(text: str) -> list[str]:
    """The words as written, without a possessive ending; pieces of scripts without blanks are left out."""
    found = WORD.findall(UNSPACED.sub(" ", plain(text)))
    return [word[:-2] if word[-2:] in {"'s", "'S"} else word for word in found]


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """What the forms of one word share: `run` for "runs", "running" and "runner". Expects lower case."""
    if not word.isascii() or not word.isalpha():
        return word
    known = _IRREGULAR.get(word)
    if known is not None:
        return _ending(known)
    if len(word) <= 3 or word in _WHOLE:
        return _ending(word)
    cut = _singular(word)
    for _ in range(3):
        shorter = _IRREGULAR.get(cut) or _shorter(cut)
        if shorter == cut:
            break
        cut = shorter
    return _ending(cut)


def inflected(word: str) -> bool:
    """Whether a word in lower case is a form of a verb other than its plain one, as far as its ending tells."""
    known = _IRREGULAR.get(word)
    return (known is not None and known != word) or (word.endswith("ed") and len(word) > 4)


def pieces(text: str) -> list[str]:
    """Two letters at a time of every run of a script without blanks."""
    runs = UNSPACED.findall(unicodedata.normalize("NFC", text))
    return [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))]


def _singular(word: str) -> str:
    """Without the "s" of the plural, or of "he runs"."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(_ES):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _shorter(word: str) -> str:
    """One ending less, or the word itself."""
    if len(word) <= 3 or word in _WHOLE:
        return word
    if word.endswith("ied") and len(word) > 4:
        return f"{word[:-3]}y"
    for ending, least in (("ing", 3), ("ed", 3), ("ly", 4), ("er", 4), ("ic", 5)):
        rest = word[: -len(ending)]
        if word.endswith(ending) and len(rest) >= least and _VOWEL.search(rest):
            return _single(rest)
    return word


def _single(word: str) -> str:
    """Without the letter that an ending had doubled."""
    doubled = len(word) > 3 and word[-1] == word[-2]
    if doubled and (word[-1] not in "aeioulsz" or (word[-1] == "l" and len(word) > 5)):
        return word[:-1]
    return word


def _ending(word: str) -> str:
    """Without an "e" or "y" that comes and goes."""
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word[-1] in "yi":
        return word[:-1] if len(word) > 4 else f"{word[:-1]}i"
    return word
