"""Where a quote stands in a message: letter by letter, but for case, blanks and the style of quotation marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from anaphora.rules.language.stems import plain

_LETTER: Final = re.compile(r".[\u0300-\u036f]*", re.DOTALL)
_BLANKS: Final = re.compile(r"\s+")


def places(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """Every place of the quote in the text, which must be `plain`, as start and stop; none for an empty quote."""
    pieces = [re.escape(piece) for piece in _BLANKS.split(plain(quote).strip()) if piece]
    if not pieces:
        return
    for match in re.finditer(r"\s+".join(pieces), text, re.IGNORECASE):
        yield match.span()


def verbatim(content: str, start: int, stop: int) -> str:
    """The stretch of the message as it was written.

    Args:
        content: the message as it is stored.
        start: where the stretch begins in `plain(content)`.
        stop: where it ends there.

    """
    composed = plain(content)
    if len(composed) == len(content):
        return content[start:stop]
    # a letter and the marks after it become one letter: the places of both are walked together
    places, at = [], 0
    for match in _LETTER.finditer(content):
        length = len(plain(match.group()))
        places += [match.start()] * length
        at += length
    places.append(len(content))
    return content[places[start] : places[stop]] if at == len(composed) else composed[start:stop]
