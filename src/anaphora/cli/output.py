"""What commands print: tables and text for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TextIO
from uuid import UUID

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anaphora.domain.keys import SeqRange

#: columns of a table that no terminal limits
_WIDTH = 4_000
#: characters of a cell; JSON has all of them
_LONGEST = 300


def emit(document: Mapping[str, Any], *, as_given: bool = False) -> None:
    """Print one JSON document: sorted keys (or the order given), on one line unless a person looks at it."""
    text = json.dumps(
        document,
        ensure_ascii=not _writes_unicode(sys.stdout),
        sort_keys=not as_given,
        indent=2 if sys.stdout.isatty() else None,
        default=_plain,
    )
    sys.stdout.write(text + "\n")


def say(text: str = "") -> None:
    """Print a line of text, made harmless."""
    sys.stdout.write(clean(text) + "\n")


def note(text: str) -> None:
    """Print a line on stderr: what is not the answer itself."""
    sys.stderr.write(clean(text) + "\n")
    sys.stderr.flush()


def clean(text: str) -> str:
    """The text with its control characters shown instead of obeyed, so that no message can play with a terminal."""
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf"} or char == "\u200d" else _shown(char)
        for char in text
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """Print a table, numbers to the right. On a terminal long cells are folded; elsewhere a row is one line."""
    made = [tuple(cell(value) for value in row) for row in rows]
    if not made:
        say(empty)
        return
    watched = sys.stdout.isatty()
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for at, column in enumerate(columns):
        numbers = all(_is_number(row[at]) for row in made)
        drawn.add_column(
            column, justify="right" if numbers else "left", no_wrap=not watched or column == "id", overflow="fold"
        )
    for row in made:
        drawn.add_row(*(Text(clean(value)) for value in row))
    Console(file=sys.stdout, width=None if watched else _WIDTH, highlight=False).print(drawn)


def cell(value: object) -> str:
    """A value as it stands in a table."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:,.1f}"
        case int():
            return f"{value:,}"
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
        case _:
            return textwrap.shorten(str(value), _LONGEST, placeholder=" ...")


def plural(count: int, noun: str) -> str:
    """`1 job`, `2,000 jobs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(",", "").replace(".", "", 1).isdigit()


def _shown(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _writes_unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "").startswith("utf")


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case UUID():
            return str(value)
        case SeqRange():
            return [value.start, value.stop]
        case Mapping():
            return dict(value)
        case _:
            raise TypeError(f"{type(value).__name__} is not JSON")
