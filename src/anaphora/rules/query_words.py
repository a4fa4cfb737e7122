"""From a question to the words that are looked up."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from anaphora.rules.language.stems import UNSPACED

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
#: "Melanie's" is about Melanie
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
MAX_TERMS = 64

_STOP = frozenset(
    [
        "a",
        "about",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "our",
        "please",
        "she",
        "should",
        "so",
        "tell",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWords:
    """What to look up: words of spaced scripts, and strings of at least three letters of the others."""

    terms: tuple[str, ...]
    trigrams: tuple[str, ...]
    #: the words without names: what is asked, not of whom
    topic: tuple[str, ...] = ()


def has_unspaced_script(text: str) -> bool:
    """True if the text has letters of a script written without blanks (Chinese, Thai and others)."""
    return UNSPACED.search(text) is not None


def query_words(query: str) -> QueryWords:
    """The distinct words that carry meaning; all of them if every one is a stop word."""
    text = unicodedata.normalize("NFC", query)
    runs = [run for run in UNSPACED.findall(text) if len(run) >= 3]
    written = [_POSSESSIVE.sub("", word) for word in _WORD.findall(UNSPACED.sub(" ", text))]
    words = [word.casefold() for word in written]
    meaning = [word for word in words if word not in _STOP]
    names = {word.casefold() for word in written[1:] if word[0].isupper()}
    return QueryWords(
        topic=tuple(dict.fromkeys(word for word in meaning if word not in names)),
        terms=tuple(dict.fromkeys(meaning or words))[:MAX_TERMS],
        trigrams=tuple(dict.fromkeys(_trigrams(runs)))[:MAX_TERMS],
    )


def _trigrams(runs: list[str]) -> list[str]:
    """Each run as its overlapping pieces of three letters, so that a question need not contain the answer whole."""
    return [run[at : at + 3] for run in runs for at in range(len(run) - 2)]
