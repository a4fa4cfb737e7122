"""Where a statement begins within a sentence: an item of a list goes on, what has a verb of its own begins. English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anaphora.rules.facts.judging.subjects import Token
from anaphora.rules.language.lexicon import VERBS
from anaphora.rules.language.said import Said
from anaphora.rules.language.stems import inflected, split, stem

SOFT_JOINS: Final = frozenset(["and", "or", "plus", "nor"])
#: they begin something else than an item of a list
_STARTERS: Final = frozenset(split("at in on for from with to by at because i i'm we my it the this that least now"))
#: after them what is told is part of the phrase before: "a dog that is small"
_RELATIVE: Final = frozenset(split("that which who whose where when if"))
_PRESENT: Final = frozenset(split("is are am has have isn't aren't hasn't haven't he's she's it's that's"))
_TOLD: Final = _PRESENT | frozenset(split("was were had wasn't weren't hadn't"))
_ARTICLES: Final = frozenset(["a", "an", "some", "another"])
_OBJECTS: Final = frozenset(split("me us him her them my our"))
_ANSWERS: Final = frozenset(split("no nope nah nein non não"))
#: words of a phrase like "not the Osaka flight"
_CONTRASTED: Final = 4


def is_told(tokens: list[Token], at: int, *, unreal: bool) -> bool:
    """Whether what begins here has a subject and a finite verb: what was wished before it ends there.

    Args:
        tokens: the words of the sentence.
        at: which of them follows the comma, or is the "and".
        unreal: after "I wish" what "was" is not so either.

    """
    first = at + 1 if tokens[at][0].casefold() in SOFT_JOINS else at
    chunk = [written.casefold() for written, _, _ in tokens[first : _item_end(tokens, first)]]
    verb = next((place for place, low in enumerate(chunk) if low in (_PRESENT if unreal else _TOLD)), 0)
    return verb > 0 and not _RELATIVE.intersection(chunk[:verb]) and chunk[0] != "to"


def is_item(tokens: list[Token], at: int) -> bool:
    """Whether only a thing begins here, of which nothing is said: "a boat" of "I wish I had a car, a boat"."""
    chunk = [written.casefold() for written, _, _ in tokens[at : _item_end(tokens, at)]]
    return chunk[0] in _ARTICLES and not any(low in _TOLD or _verb(low) for low in chunk[1:]) and not _acts(chunk)


def is_contrast(tokens: list[Token], at: int, said: Sequence[Said]) -> bool:
    """Whether what begins here is put in the place of what was denied: "not Osaka, Fukuoka", "no, Delft"."""
    clause = [word for word in said if word.clause == said[-1].clause] if said else []
    if not clause or clause[0].low not in _ANSWERS | {"not"} or tokens[at][0].casefold() in {"not", "or", "nor"}:
        return False
    if clause[0].low in _ANSWERS:
        return len(clause) == 1 and clause[0].opens
    return 1 < len(clause) <= _CONTRASTED and not any(word.stem in VERBS for word in clause)


def begins_anew(tokens: list[Token], at: int, *, broken: bool, flipped: bool) -> bool:
    """Whether what begins here is no further item of a list: it has a verb of its own, or an opening like "at least".

    Args:
        tokens: the words of the sentence.
        at: which of them follows the comma, or is the "and".
        broken: a comma stands before it.
        flipped: what came before was only set against something: "instead of tea".

    """
    first = at + 1 if tokens[at][0].casefold() in SOFT_JOINS else at
    chunk = [written.casefold() for written, _, _ in tokens[first : _item_end(tokens, first)]]
    if not chunk:
        return False
    if flipped and (chunk[0] in _STARTERS or chunk[0][:1].isdigit()):
        return True
    return broken and (chunk[0][:1].isdigit() or any(map(_verb, chunk[1:4])) or _acts(chunk))


def _item_end(tokens: list[Token], first: int) -> int:
    """Where an item of a list that begins with this word would end."""
    for at in range(first + 1, min(len(tokens), first + 8)):
        if tokens[at][1] - tokens[at - 1][2] > 1 or tokens[at][0].casefold() in SOFT_JOINS:
            return at
    return min(len(tokens), first + 8)


def _verb(low: str) -> bool:
    return stem(low) in VERBS and (inflected(low) or (low.endswith("s") and not low.endswith("ss")))


def _acts(chunk: Sequence[str]) -> bool:
    """Whether something does a thing to somebody: "tomatoes give me heartburn"."""
    return any(
        stem(low) in VERBS and chunk[place + 1] in _OBJECTS
        for place, low in enumerate(chunk[:4])
        if 0 < place < len(chunk) - 1
    )
