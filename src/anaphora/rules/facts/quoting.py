"""Where a quote stands in a message: letter by letter, but for case, blanks and the style of quotation marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from anaphora.rules.facts.stems import plain

_BLANKS: Final = re.compile(r"\s+")


def places(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """Every place of the quote in the text, which must be `plain`, as start and stop; none for an empty quote."""
    pieces = [re.escape(piece) for piece in _BLANKS.split(plain(quote).strip()) if piece]
    if not pieces:
        return
    for match in re.finditer(r"\s+".join(pieces), text, re.IGNORECASE):
        yield match.span()


def verbatim(content: str, start: int, stop: int) -> str:
    """The stretch of the message as it was written."""
    composed = plain(content)
    if len(composed) == len(content):
        return content[start:stop]
    return composed[start:stop]
