"""Markdown: it is kept as it was written, only the title is looked for."""

from __future__ import annotations

from itertools import pairwise

from markdown_it import MarkdownIt

from anaphora.ports.parsing import Parsed

_READER = MarkdownIt("commonmark")


def read(text: str) -> Parsed:
    """The text, with its first heading for a title; what HTML stands in it is shown to nobody as HTML."""
    title = next(
        (inline.content for opening, inline in pairwise(_READER.parse(text)) if opening.type == "heading_open"), None
    )
    return Parsed(text=text, title=title, kind="markdown")
