"""Cutting text without lying about it."""

from __future__ import annotations

import re
from collections.abc import Callable

_SPACES = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"[.!?。！？…](?=\s|$)")

#: smallest number of tokens that a shortened text may have; room for its mark
MIN_SHORTENED = 24


def one_line(text: str) -> str:
    """The text with every run of white space as one blank."""
    return _SPACES.sub(" ", text).strip()


def truncate(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """The beginning of the text in at most `max_tokens`: whole sentences if that keeps half of it, else words."""
    if count(text) <= max_tokens:
        return text
    low, high = 0, min(len(text), max_tokens * 16)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle].rstrip() + "…") <= max_tokens:
            low = middle
        else:
            high = middle - 1
    cut = text[:low].rstrip()
    ends = [match.end() for match in _SENTENCE_END.finditer(cut)]
    if ends and ends[-1] * 2 >= len(cut):
        return cut[: ends[-1]]
    blank = cut.rfind(" ")
    if blank * 2 >= len(cut):
        cut = cut[:blank].rstrip()
    return f"{cut}…"


def shorten(text: str, *, tokens: int, max_tokens: int, count: Callable[[str], int]) -> str:
    """The start and the end of a long text around a visible mark that says how much is left out.

    Only slices near the wanted size are counted, so that a message of a megabyte costs no more than a long one.

    Args:
        text: the whole text.
        tokens: what the whole text costs.
        max_tokens: what the result may cost; at least `MIN_SHORTENED`.
        count: the token counter.

    """
    if tokens <= max_tokens:
        return text
    chars = max(8, int(len(text) * max_tokens / max(tokens, 1)))
    while True:
        front, back = text[: chars * 2 // 3].rstrip(), text[len(text) - chars // 3 :].lstrip()
        left_out = max(1, tokens - max_tokens)
        result = f"{front} [… about {left_out} tokens left out here …] {back}"
        if count(result) <= max_tokens:
            return result
        if chars <= 8:
            return truncate(f"[… about {left_out} tokens left out …]", max_tokens, count)
        chars = chars * 4 // 5
