"""HTML: what a reader of the page sees. Scripts, styles and whatever else is not read out are dropped."""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from anaphora.errors import InvalidInput
from anaphora.ports.parsing import Parsed

_DROPPED: Final = (
    "script",
    "style",
    "noscript",
    "template",
    "head",
    "iframe",
    "object",
    "embed",
    "svg",
    "canvas",
    "[hidden]",
)
#: what stands by itself, what begins a line, and what is a word of its own
_BLOCKS: Final = (
    "address, article, aside, blockquote, div, dl, fieldset, figcaption, figure, footer, form, h1, h2, h3, h4, h5, h6,"
    " header, hr, main, nav, ol, p, pre, section, table, ul"
)
_ENTRIES: Final = "dd, dt, li, tr, br"
_CELLS: Final = "td, th"
_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_-]{1,40})", re.IGNORECASE)
#: where a page names its encoding
_WITHIN: Final = 4096
_BLANKS: Final = re.compile(r"[ \t\r\f\v\u00a0]+")
_LINES: Final = re.compile(r" ?\n[ \n]*\n ?| ?\n ?")


def read(data: bytes, name: str) -> Parsed:
    """The text of a page.

    Raises:
        InvalidInput: it is in no encoding that it names, nor in UTF-8.

    """
    tree = LexborHTMLParser(_decoded(data, name))
    found = tree.css_first("title")
    title = found.text() if found is not None else None
    for selector in _DROPPED:
        for node in tree.css(selector):
            node.decompose()
    for selector, before, behind in ((_BLOCKS, "\n\n", "\n\n"), (_ENTRIES, "\n", ""), (_CELLS, " ", " ")):
        for node in tree.css(selector):
            node.insert_before(before)
            node.insert_after(behind)
    whole = tree.body.text(deep=True) if tree.body is not None else ""
    text = _LINES.sub(lambda found: "\n\n" if found.group().count("\n") > 1 else "\n", _BLANKS.sub(" ", whole))
    return Parsed(text=text, title=title, kind="html")


def _decoded(data: bytes, name: str) -> str:
    named = _CHARSET.search(data[:_WITHIN])
    wanted = ["utf-8-sig"]
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        wanted = ["utf-16"]
    elif named is not None:
        wanted.insert(0, named[1].decode("ascii"))
    for encoding in wanted:
        try:
            text = data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
        if "\x00" not in text:
            return text
    raise InvalidInput(f"{name} is in no encoding that it names, nor in UTF-8: save it as UTF-8")
