"""A file of JSON, or of JSON lines, as a lazy stream of records."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn

from anaphora.services.importing.values import BadFile, Place, Record

_BOM = b"\xef\xbb\xbf"
_LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})


def records(path: Path) -> Iterator[Record]:
    """The elements of the outermost JSON array, or the one JSON object, or line by line the values of JSON lines.

    JSON lines are known by the extension `.jsonl` or `.ndjson`, or else by two or more lines of which the first is a
    whole object. They are read as they are asked for; anything else is loaded whole. Blank lines do not count.

    Raises:
        BadFile: at once if the file is missing, empty or unreadable; later, when it is reached, at bytes that are not
            UTF-8 (a byte order mark is accepted) or not JSON.

    """
    file = str(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise BadFile(file, "", "expected a file, not a folder")
        if not stat.S_ISREG(mode):
            raise BadFile(file, "", "expected a regular file")
        with path.open("rb") as stream:
            by_lines = _by_lines(stream, path)
    except FileNotFoundError:
        raise BadFile(file, "", "there is no such file") from None
    except OSError as error:
        raise BadFile(file, "", f"the file cannot be read ({error.strerror})") from None
    return _lines(path) if by_lines else _whole(path)


def _by_lines(stream: BinaryIO, path: Path) -> bool:
    filled = (line for line in _without_bom(stream) if line.strip())
    first = next(filled, None)
    if first is None:
        raise BadFile(str(path), "", "expected JSON or JSON lines, but the file is empty")
    if path.suffix.lower() in _LINE_SUFFIXES:
        return True
    if next(filled, None) is None or not first.lstrip().startswith(b"{"):
        return False
    try:
        _decoded(first, Place(str(path)))
    except BadFile:
        return False
    return True


def _lines(path: Path) -> Iterator[Record]:
    file = str(path)
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(_without_bom(stream), start=1):
                if line.strip():
                    place = Place(file, number)
                    yield Record(_decoded(line, place), place)
    except OSError as error:
        raise BadFile(file, "", f"the file cannot be read ({error.strerror})") from None


def _whole(path: Path) -> Iterator[Record]:
    place = Place(str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise place.bad(f"the file cannot be read ({error.strerror})") from None
    value = _decoded(data.removeprefix(_BOM), place)
    del data
    if not isinstance(value, list):
        yield Record(value, place)
        return
    for index, item in enumerate(value):
        yield Record(item, place.child(index))


def _without_bom(stream: BinaryIO) -> Iterator[bytes]:
    first = stream.readline()
    if first:
        yield first.removeprefix(_BOM)
    yield from stream


def _decoded(data: bytes, place: Place) -> object:
    try:
        return json.loads(data.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        line = place.line or data.count(b"\n", 0, error.start) + 1
        raise Place(place.file, line).bad("expected UTF-8 text: save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        line = place.line or error.lineno
        raise Place(place.file, line).bad(
            f"expected valid JSON ({error.msg[:1].lower()}{error.msg[1:]} at column {error.colno})"
        ) from None
    except ValueError as error:
        raise place.bad(f"expected valid JSON ({error})") from None
    except RecursionError:
        raise place.bad("the JSON is nested too deeply") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
