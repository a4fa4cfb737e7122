"""What a statement says, word by word: its telling stems, its numbers, its names."""

from __future__ import annotations

import re
from typing import Final

from anaphora.rules.language.numeral_words import MONTHS, WEEKDAYS
from anaphora.rules.language.numerals import numbers
from anaphora.rules.language.stems import UNSPACED, WORD, pieces, plain, split, stem, words

__all__ = ["MAX_TERMS", "content_key", "core", "is_negative", "names", "numbers", "terms"]

MAX_TERMS: Final = 64

#: they say nothing by themselves; "not" and its like turn a statement round and are looked at apart
STOP: Final = frozenset(
    split(
        "a about above after again all also am an and any are aren't as at be because been before being but by "
        "can can't cannot could couldn't did didn't do does doesn't doing don't down during each else even ever "
        "few for from further had hadn't has hasn't have haven't having he he'd he'll he's her here hers herself "
        "him himself his how however i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just "
        "let let's may me might mine more most much must my myself no nor not now of off oh ok okay on once one "
        "ones only or other our ours ourselves out over own per please quite rather really s same she she'd "
        "she'll she's should shouldn't so some such t than that that's the their theirs them themselves then "
        "there there's these they they'd they'll they're they've this those though through to too under until up "
        "upon us user user's users very via was wasn't we we'd we'll we're we've were weren't what what's when "
        "where where's whether which while who who's whom whose why will with within without won't would wouldn't "
        "yeah yep yes you you'd you'll you're you've your yours yourself never none nobody neither cannot dont "
        "cant wont didnt doesnt isnt im ive"
    )
)
#: words that join a person and a thing: two statements may differ in them and say the same
FRAME: Final = frozenset(
    stem(word)
    for word in split(
        "like love enjoy adore favour fond fan keen dislike hate detest loathe despise stand prefer prefers avoid "
        "named called name call known currently now still really very person someone always usually often "
        "generally typically longer quit stop give used former formerly anymore previously also person's is has"
    )
)
_NO: Final = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|\w{2,6}n['’]t|dont|cant|wont|didnt|doesnt|isnt"
    r"|no longer|used to|stopped|quit|gave up|dislike[sd]?|hate[sd]?|detests?|loathes?|despises?|avoids?|former"
    r"|formerly|previously|ex)\b",
    re.IGNORECASE,
)
_TURNED_TWICE: Final = re.compile(r"\b(?:not only|no doubt|no problem|not just|nothing but)\b", re.IGNORECASE)
_DATES: Final = frozenset((*MONTHS, *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS)))
_STARTS: Final = re.compile(r"(?:[.!?:;\n\"(\[•…-])\s*$")
_TITLE: Final = re.compile(r'"([^"\n]{2,80})"')
_BLANKS: Final = re.compile(r"\s+")


def terms(text: str) -> tuple[str, ...]:
    """The distinct stems of the telling words in order, at most 64; of all words if none tells anything.

    Forms of one word have one stem, numbers are kept as they are, and scripts written without blanks are taken two
    letters at a time.
    """
    written = [word.casefold() for word in words(text)]
    telling = [stem(word) for word in written if word not in STOP]
    found = [*telling, *pieces(text)] or [stem(word) for word in written]
    return tuple(dict.fromkeys(found))[:MAX_TERMS]


def core(text: str) -> frozenset[str]:
    """The stems that tell what a statement is about: without the words that only join a person and a thing."""
    found = frozenset(terms(text))
    return found - FRAME or found


def content_key(content: str) -> str:
    """Equal for contents that are the same letter by letter but for case, blanks, quotes and the final stop."""
    return _BLANKS.sub(" ", plain(content).casefold().replace('"', "'")).strip().rstrip(".!… ;,")


def names(text: str) -> frozenset[str]:
    """The words of proper names in lower case: of names of several words each, and those of quoted titles.

    A capital at the start of a sentence tells nothing, unless the next word has one as well; days and months are
    numbers. Scripts without capitals have no names.
    """
    straight = plain(text)
    if _shouted(straight):
        return frozenset()
    found: set[str] = set()
    before = 0
    first: str | None = None
    for match in WORD.finditer(straight):
        word = match.group()
        gap = straight[before : match.start()]
        starts = before == 0 or _STARTS.search(gap) is not None
        before = match.end()
        name = _bare(word)
        told = _is_name(word, name)
        if told and first is not None and gap.isspace():
            found.add(first)
        first = name if told and starts else None
        if told and (not starts or _unusual(word)):
            found.add(name)
    for title in _TITLE.findall(straight):
        found.update(name for name in map(_bare, words(title)) if name not in STOP)
    return frozenset(found)


def is_negative(text: str) -> bool:
    """Whether a statement denies, disfavours or ends what it speaks of: "dislikes", "no longer", "used to"."""
    return len(_NO.findall(_TURNED_TWICE.sub(" ", plain(text)))) % 2 == 1


def _bare(word: str) -> str:
    low = word.casefold()
    return low.removesuffix("'s")


def _is_name(word: str, name: str) -> bool:
    if UNSPACED.search(word) or name in STOP or name in _DATES:
        return False
    return word[0].isupper() or _unusual(word)


def _unusual(word: str) -> bool:
    """Capitals where no sentence puts them: "iPhone", "NASA", "GPT4"."""
    return len(word) > 1 and any(char.isupper() for char in word[1:]) and any(char.isalpha() for char in word)


def _shouted(text: str) -> bool:
    letters = [char for char in text[:2_000] if char.isupper() or char.islower()]
    return len(letters) > 12 and sum(char.isupper() for char in letters) * 10 > 7 * len(letters)
