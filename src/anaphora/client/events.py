"""Server-sent events, as they are read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a stream."""

    #: empty: it says nothing but its id
    kind: str = ""
    data: str = ""
    #: the last that was given
    id: str = ""


async def events(lines: AsyncIterable[str]) -> AsyncGenerator[Event]:
    """The events of a stream of lines (WHATWG HTML, 9.2.6), those too that have an id and no data."""
    kind, data, mark, begun = "", list[str](), "", False
    async for line in lines:
        if line == "":
            if begun:
                yield Event(kind=kind, data="\n".join(data), id=mark)
            kind, data, begun = "", [], False
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            kind = value
        elif field == "data":
            data.append(value)
            begun = True
        elif field == "id":
            mark = value
            begun = True
