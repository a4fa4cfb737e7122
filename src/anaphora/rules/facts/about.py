"""Of whom a statement speaks that was made in a session about somebody else: of who said it, or of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from anaphora.rules.facts.judging.clauses import parse
from anaphora.rules.facts.judging.quoting import places
from anaphora.rules.language.said import Said, Who
from anaphora.rules.language.stems import plain, stem, words
from anaphora.rules.language.words import STOP, core

#: characters around the quote that are read
_WINDOW: Final = 6_000
_MINE: Final = frozenset({"my", "our", "mine", "ours"})
_ME: Final = frozenset({"i", "i'm", "i've", "me", "we", "us", *_MINE})
_USER: Final = re.compile(r"(?:the )?(?:user|speaker|owner)\b|(?:i|my)\b", re.IGNORECASE)


def is_of_speaker(content: str, quote: str, message: str, *, subject: str, speaker: str | None = None) -> bool:
    """Whether the statement is about who says it; else it is about the subject.

    What names the subject first is about the subject. Else the quote decides: "I'm allergic", "my favourite colour"
    and "my brother is ill", put as "Brother is ill", are about the speaker; "he barks", "my dog is ill", put as "Is
    ill", and what names nobody are about the subject.

    Args:
        content: the statement.
        quote: the words that it was learned from.
        message: where they stand: what comes before them may say of whom they are.
        subject: the name of whom or what the session is about.
        speaker: what the user is called, if it is known.

    """
    stated = plain(content).strip()
    named = frozenset(stem(word.casefold()) for word in words(subject)) - STOP
    first = next((stem(word.casefold().removesuffix("'s")) for word in words(stated)), "")
    if first in named:
        return False
    said = _quoted(quote, plain(message))
    told = _telling(said, core(stated) - named)
    if any(word.whom & named for word in told):
        return False
    mine = sum(word.who is Who.SPEAKER for word in told)
    others = sum(word.who in {Who.OTHERS, Who.THEY} for word in told)
    if mine or others:
        theirs = any(word.low in _MINE for word in said) and any(word.whom & core(stated) for word in told)
        return mine >= others or theirs
    return any(word.low in _ME for word in said) or _is_put_so(stated, speaker)


def _quoted(quote: str, text: str) -> Sequence[Said]:
    """The words of the quote, read where they stand."""
    for start, stop in places(quote, text):
        found = parse(text, start=max(0, start - _WINDOW), stop=min(len(text), stop + _WINDOW))
        return [word for word in found if start <= word.start < stop]
    return parse(plain(quote))


def _telling(said: Sequence[Said], stated: frozenset[str]) -> Sequence[Said]:
    """The words that the statement has as well; of those the numbers, if there are: an age is only of one."""
    both = [word for word in said if word.stem in stated]
    return [word for word in both if word.low.isdigit()] or both or said


def _is_put_so(stated: str, speaker: str | None) -> bool:
    name = plain(speaker or "").casefold()
    return _USER.match(stated) is not None or bool(name and stated.casefold().startswith(name))
