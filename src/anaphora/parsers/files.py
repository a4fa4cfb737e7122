"""Which file is read how, and which is refused: one clear error for whatever is no document."""

from __future__ import annotations

import importlib
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

from anaphora.errors import InvalidInput, MissingExtra
from anaphora.parsers import apart
from anaphora.ports.parsing import Parsed

#: by the ending of a file's name; anything else is text, if it is text
_KINDS: Final = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".htm": "html",
    ".html": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
}
_PDF: Final = b"%PDF-"
#: where a reader looks for the mark of a PDF
_PDF_WITHIN: Final = 1024
_HTML: Final = re.compile(rb"\s*(?:<!doctype html|<html)", re.IGNORECASE)
#: bytes of a page that nobody can make hang its reader: it is read here, since starting a process takes longer
_SMALL_PAGE: Final = 32 << 10
#: characters of a title
_MOST_TITLE: Final = 200
#: control characters that no text has, and halves of pairs
_UNFIT: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
#: marks at the beginning that name an encoding
_MARKS: Final = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileParser:
    """`ports.parsing.Parser`."""

    #: bytes of a file, pages of a PDF, and seconds that reading one may take
    max_bytes: int = 20 << 20
    max_pages: int = 2_000
    max_seconds: float = 60.0

    def read(self, path: str | PathLike[str]) -> Parsed:
        """The text of a file on this machine; see `ports.parsing.Parser`."""
        file = Path(path)
        name = file.name or str(path)
        try:
            kind = file.stat().st_mode
            data = b""
            if stat.S_ISREG(kind):
                with file.open("rb") as opened:
                    # of a file that grows meanwhile no more is read than may be
                    data = opened.read(self.max_bytes + 1)
        except OSError as error:
            raise InvalidInput(f"{name} cannot be read: {error.strerror}") from None
        except ValueError:
            raise InvalidInput(f"{name!r} is no name of a file") from None
        if not stat.S_ISREG(kind):
            what = "a folder" if stat.S_ISDIR(kind) else "no ordinary file"
            raise InvalidInput(f"{name} is {what}: give the path of a file")
        return self.parse(data, name)

    def parse(self, data: bytes, name: str) -> Parsed:
        """The text of a file whose name says what kind it is; see `ports.parsing.Parser`."""
        self._check_size(len(data), name)
        kind = _kind(data, name)
        until = time.monotonic() + self.max_seconds
        parsed = _READERS[kind](self, data, name, until)
        text = _UNFIT.sub(" ", parsed.text).strip()
        if not text:
            hint = ": it may hold pictures of pages only" if kind == "pdf" else ""
            raise InvalidInput(f"{name} holds no text{hint}")
        title = " ".join(_UNFIT.sub(" ", parsed.title or "").split())[:_MOST_TITLE].strip()
        return Parsed(text=text, title=title or None, kind=kind)

    def _check_size(self, size: int, name: str) -> None:
        if size > self.max_bytes:
            raise InvalidInput(
                f"{name} is too large: a file has at most {self.max_bytes} bytes (the setting knowledge.max_bytes)"
            )
        if not size:
            raise InvalidInput(f"{name} is empty")


def _kind(data: bytes, name: str) -> str:
    """What the name says, unless the first bytes know better."""
    if _PDF in data[:_PDF_WITHIN]:
        return "pdf"
    named = _KINDS.get(Path(name).suffix.lower())
    if named is not None:
        return named
    return "html" if _HTML.match(data) else "text"


def _text(_parser: FileParser, data: bytes, name: str, _until: float) -> Parsed:
    return Parsed(text=decoded(data, name), title=None, kind="text")


def _markdown(_parser: FileParser, data: bytes, name: str, _until: float) -> Parsed:
    found: Parsed = _optional("markdown", "Markdown").read(decoded(data, name))
    return found


def _html(parser: FileParser, data: bytes, name: str, until: float) -> Parsed:
    if len(data) <= _SMALL_PAGE:
        found: Parsed = _optional("html", "HTML").read(data, name)
        return found
    return apart.read("html", data, name, max_pages=parser.max_pages, until=until)


def _pdf(parser: FileParser, data: bytes, name: str, until: float) -> Parsed:
    return apart.read("pdf", data, name, max_pages=parser.max_pages, until=until)


_READERS: Final[dict[str, Callable[[FileParser, bytes, str, float], Parsed]]] = {
    "text": _text,
    "markdown": _markdown,
    "html": _html,
    "pdf": _pdf,
}


def _optional(module: str, what: str) -> Any:  # noqa: ANN401 - a module that is loaded when it is needed
    try:
        return importlib.import_module(f"anaphora.parsers.{module}")
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("anaphora"):
            raise
        raise MissingExtra(f"reading {what}", "documents") from None


def decoded(data: bytes, name: str) -> str:
    """The text of bytes in UTF-8, or in what their first bytes name.

    Raises:
        InvalidInput: they are something else, or no text at all.

    """
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    if encoding in {"utf-8", "utf-8-sig"} and b"\x00" in data:
        raise InvalidInput(f"{name} is a binary file: text, Markdown, HTML and PDF can be read")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{name} is not valid UTF-8 (byte {error.start}): save it as UTF-8, or say that it is a PDF by its name"
        ) from None
