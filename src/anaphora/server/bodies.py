"""Bodies that are not JSON: taken as they come, never more of them than may be."""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
import anyio.to_thread
from fastapi import Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from anaphora.errors import InvalidInput
from anaphora.server.problems import Refused

#: bytes of a form beside the file in it
_BESIDE: Final = 256 << 10
_PIECE: Final = 1 << 20
#: endings of names that say how a file is read
_ENDINGS: Final = frozenset({".md", ".markdown", ".htm", ".html", ".xhtml", ".pdf", ".txt"})


async def taken(request: Request, most: int) -> AsyncGenerator[bytes]:
    """The body of a request, piece by piece.

    Raises:
        Refused: 413, it is longer than `most` bytes; told before anything is read, if the request says how long it is.

    """
    too_large = Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body may have {most:,} bytes: send less at once")
    said = request.headers.get("content-length", "")
    if said.isascii() and said.isdigit() and (len(said) > 18 or int(said) > most):
        raise too_large
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise too_large
        yield piece


async def lines(request: Request, most: int) -> AsyncGenerator[str]:
    """The lines of a body of text, without what ends them.

    Raises:
        Refused: 413, it is longer than `most` bytes.
        InvalidInput: it is not UTF-8.

    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    begun: list[str] = []
    try:
        async for piece in taken(request, most):
            first, *others = decoder.decode(piece).split("\n")
            begun.append(first)
            for other in others:
                yield "".join(begun)
                begun = [other]
        begun.append(decoder.decode(b"", final=True))
    except UnicodeDecodeError:
        raise InvalidInput("the body is not UTF-8: send the lines as they were exported") from None
    if last := "".join(begun):
        yield last


class Uploaded(NamedTuple):
    """A form that came with a file."""

    #: where the file lies as long as the form is open
    path: Path
    fields: dict[str, str]


@asynccontextmanager
async def uploaded(request: Request, most: int, *, known: frozenset[str]) -> AsyncGenerator[Uploaded]:
    """The form of a request whose field `file` is a file, with the other fields.

    Args:
        request: of the type multipart/form-data.
        most: bytes of the file.
        known: the other fields that there may be.

    Raises:
        Refused: 413, it is too large; 415, it is no form.
        InvalidInput: there is no file in it, or something that does not belong there.

    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or options.get(b"charset", b"utf-8").lower() != b"utf-8":
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send the file as multipart/form-data, in a field `file`")
    stream = taken(request, most + _BESIDE)
    parser = MultiPartParser(request.headers, stream, max_files=1, max_fields=len(known), max_part_size=_BESIDE)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise InvalidInput(f"the form cannot be read: {error.message.rstrip('.')}") from None
    try:
        file, fields = None, dict[str, str]()
        for name, value in form.multi_items():
            if isinstance(value, UploadFile) and name == "file":
                file = value
            elif isinstance(value, UploadFile) or name not in known or name in fields:
                raise InvalidInput(f"a form has one `file` and, once each, {', '.join(sorted(known))}")
            else:
                fields[name] = value
        if file is None:
            raise InvalidInput("there is no file in the form: send it in a field `file`")
        with TemporaryDirectory(prefix="anaphora-") as folder:
            yield Uploaded(await _laid_down(file, Path(folder)), fields)
    finally:
        await form.close()


async def _laid_down(file: UploadFile, folder: Path) -> Path:
    """The file on disk, under a name of ours: of the given one only a known ending is kept."""
    ending = PurePosixPath(file.filename or "").suffix.lower()
    path = folder / f"upload{ending if ending in _ENDINGS else ''}"
    async with await anyio.open_file(path, "wb") as out:
        while piece := await file.read(_PIECE):
            await out.write(piece)
    return path
