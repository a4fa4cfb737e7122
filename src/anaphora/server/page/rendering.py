"""Templates: everything that is shown is escaped, and written the same way on every page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Trust
from anaphora.server.page.pieces import pieces

_AUTHORS: Final = {
    Trust.OWNER_CONFIRMED: "you confirmed it",
    Trust.OWNER_SAID: "you said it",
    Trust.ASSISTANT: "the assistant said it",
    Trust.TOOL: "a tool said it",
    Trust.OTHER: "somebody else said it",
}
_DEGRADED: Final = {
    "model": "No model wrote the summary: its points are chosen sentences, and more is left out than need be.",
    "summary": "What the summary should speak for had no room.",
    "stale": "The summary was made before a correction, and is being made again.",
    "embedder": "There is no embedder: what is relevant was found by words alone.",
    "rerank": "What should have put the best first did not answer.",
}


class Written(str):
    """Text of ours that is HTML already: it holds nothing that anybody said."""

    __slots__ = ()

    def __html__(self) -> str:
        """As templates put it in."""
        return str(self)


def when(moment: datetime) -> Written:
    """A moment as people read it, with the exact one for machines."""
    return Written(f'<time datetime="{moment.isoformat()}">{moment.day} {moment:%b %Y, %H:%M}</time>')


def day(moment: date) -> Written:
    """A day as people read it."""
    return Written(f'<time datetime="{moment:%Y-%m-%d}">{moment.day} {moment:%B %Y}</time>')


def number(value: float) -> str:
    """A number with its thousands apart."""
    return f"{value:,}"


def many(count: int, one: str, several: str | None = None) -> str:
    """A count of things."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def percent(part: float) -> str:
    """A share, 0 to 1, as a whole number of hundredths."""
    return f"{part:.0%}".replace("%", " %")


def messages_of(span: SeqRange) -> str:
    """Which messages a range holds."""
    last = span.stop - 1
    return f"message {span.start}" if span.start == last else f"messages {span.start}\u2013{last}"


def author(trust: Trust) -> str:
    """Who stands for something."""
    return _AUTHORS[trust]


def degraded(what: str) -> str:
    """What is not as it should be, in a sentence."""
    return _DEGRADED.get(what, what)


def words(name: str) -> str:
    """The name of a value as words."""
    return str(name).replace("_", " ")


def link(*segments: str, **query: object) -> str:
    """A path of these segments, each encoded, with those of the query that are given."""
    path = "/" + "/".join(quote(str(segment), safe="") for segment in segments)
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def session_link(key: SessionKey, *more: str, **query: object) -> str:
    """Where a session is shown, or a part of it."""
    return link("sessions", key.agent, key.session, *more, **query)


def place(key: SessionKey, seq: int) -> str:
    """Where a message of a session is shown."""
    return f"{session_link(key, at=seq)}#m{seq}"


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("anaphora.server.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "when": when,
        "day": day,
        "number": number,
        "percent": percent,
        "messages_of": messages_of,
        "author": author,
        "degraded": degraded,
        "words": words,
    }
    made.globals |= {"link": link, "session_link": session_link, "place": place, "many": many, "pieces": pieces}
    return made


_ENVIRONMENT: Final = _environment()


def render(template: str, values: Mapping[str, Any]) -> str:
    """The page."""
    return _ENVIRONMENT.get_template(template).render(values)
