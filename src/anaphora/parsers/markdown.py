"""Markdown: it is kept as it was written, only the title is looked for."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt

from anaphora.ports.parsing import Parsed

_READER = MarkdownIt("commonmark")
#: characters in which a title is looked for: reading all of a large text would take minutes for a line of it
_TITLE_WITHIN: Final = 16_384


def read(text: str) -> Parsed:
    """The text, with its first heading for a title; what HTML stands in it is shown to nobody as HTML."""
    title = next(
        (
            inline.content
            for opening, inline in pairwise(_READER.parse(text[:_TITLE_WITHIN]))
            if opening.type == "heading_open"
        ),
        None,
    )
    return Parsed(text=text, title=title, kind="markdown")
