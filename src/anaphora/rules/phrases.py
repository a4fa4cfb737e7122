"""Phrases by which somebody says that earlier conversations are meant (seed 001), in any language. Pure.

They are looked for as words, not as letters ("last time" is not in "at last, timeless"), whatever the case and the
accents. They only make what is asked for anyway easier to find: what is relevant comes back without them (hole 1.18).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from anaphora.errors import InvalidInput
from anaphora.rules.language.stems import UNSPACED

#: the seed's
SEARCH_TRIGGERS: Final = (
    "what did we discuss",
    "previous conversation",
    "last time",
    "remind me",
    "we mentioned",
    "earlier you said",
)
MAX_PHRASES: Final = 200
_MOST_CHARACTERS: Final = 200
#: of a question that is longer, only the beginning and the end are looked through
_LOOKED_AT: Final = 4_000
_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")


@dataclass(frozen=True, slots=True)
class Phrases:
    """What is looked for.

    Raises:
        InvalidInput: too many phrases, or one that is too long or has no word in it.

    """

    phrases: tuple[str, ...] = SEARCH_TRIGGERS

    def __post_init__(self) -> None:
        if len(self.phrases) > MAX_PHRASES:
            raise InvalidInput(f"there may be {MAX_PHRASES} phrases, not {len(self.phrases)}")
        for phrase in self.phrases:
            if len(phrase) > _MOST_CHARACTERS or not _words(phrase).strip():
                raise InvalidInput(f"a phrase has words, and at most {_MOST_CHARACTERS} characters: {phrase[:40]!r}")

    def found_in(self, text: str) -> str | None:
        """The first of the phrases that the text has in it, or None."""
        if not self.phrases:
            return None
        whole = text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]}\n{text[-_LOOKED_AT:]}"
        said = _words(whole)
        return next((phrase for phrase in self.phrases if _stands_in(_words(phrase), said)), None)


def _words(text: str) -> str:
    """The words in lower case and without accents, a blank before and after each."""
    plain = unicodedata.normalize("NFKD", text).casefold().replace("’", "'")
    bare = "".join(char for char in plain if not unicodedata.combining(char))
    return f" {' '.join(_WORD.findall(bare))} "


def _stands_in(phrase: str, said: str) -> bool:
    """As words; in scripts that are written without blanks as letters."""
    return phrase.strip() in said if UNSPACED.search(phrase) else phrase in said
