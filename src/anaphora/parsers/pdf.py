"""PDF: the text of its pages, one after the other."""

from __future__ import annotations

import io
import logging
import time
import warnings
from typing import Final

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

from anaphora.errors import InvalidInput
from anaphora.ports.parsing import Parsed

#: what a broken file may make the library say is nobody's business: it may hold what the file says
logging.getLogger("pypdf").setLevel(logging.CRITICAL)
#: characters of all pages together: a small file may be made to unfold into a very large text
_MOST_CHARS: Final = 50_000_000


def read(data: bytes, name: str, *, max_pages: int, until: float) -> Parsed:
    """The text of a PDF.

    Args:
        data: the file.
        name: what to call it in errors.
        max_pages: with more pages it is refused.
        until: by the monotonic clock, in seconds; asked before each page.

    Raises:
        InvalidInput: it is broken, encrypted, too long, or takes too long.

    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _read(data, name, max_pages, until)
    except InvalidInput:
        raise
    except (FileNotDecryptedError, DependencyError):
        raise InvalidInput(f"{name} is encrypted: save it without a password") from None
    except (PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, OSError):
        raise InvalidInput(f"{name} is a broken PDF: open it elsewhere and save it again") from None
    except (RecursionError, MemoryError, AssertionError, NotImplementedError):
        raise InvalidInput(f"{name} is a PDF that cannot be read: open it elsewhere and save it again") from None


def _read(data: bytes, name: str, max_pages: int, until: float) -> Parsed:
    reader = PdfReader(io.BytesIO(data), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        raise InvalidInput(f"{name} is encrypted: save it without a password")
    pages = len(reader.pages)
    if pages > max_pages:
        raise InvalidInput(
            f"{name} has {pages} pages, and a PDF at most {max_pages} (the setting knowledge.max_pages): split it"
        )
    texts: list[str] = []
    size = 0
    for page in reader.pages:
        if time.monotonic() > until:
            raise InvalidInput(f"{name} takes too long to read (the setting knowledge.max_seconds)")
        texts.append(page.extract_text())
        size += len(texts[-1])
        if size > _MOST_CHARS:
            raise InvalidInput(f"{name} unfolds into too much text: split it")
    info = reader.metadata
    title = str(info.title) if info is not None and info.title else None
    return Parsed(text="\n\n".join(texts), title=title, kind="pdf")
