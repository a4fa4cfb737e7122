"""Options that commands share, and how their values are read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

import typer

from anaphora.domain.keys import checked_id
from anaphora.domain.moments import AsOf

_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}
_MAX_SECONDS = 10 * 365 * 86400.0
#: more digits than any number of messages has
_DIGITS = 18


def duration(text: str | float) -> float:
    """Seconds in a duration such as `30s`, `5m`, `2h`, `1d` or `90` (seconds)."""
    if isinstance(text, float):
        return text
    found = _DURATION.fullmatch(text.strip().lower())
    seconds = float(found["number"]) * _SECONDS[found["unit"]] if found else -1.0
    if not 0 <= seconds <= _MAX_SECONDS:
        raise typer.BadParameter(f"{text!r} is not a duration: write 30s, 5m, 2h or 1d")
    return seconds


def moment(text: str | None) -> AsOf | None:
    """The moment that `--as-of` names: a number of messages, or a time in ISO 8601 (UTC if it names no zone)."""
    if text is None:
        return None
    if text.isascii() and text.isdecimal() and len(text) < _DIGITS:
        return int(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no moment: write a number of messages, or a time such as 2026-05-08T13:56Z"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def named(param: typer.CallbackParam, value: str | None) -> str | None:
    """The name that was given, if it can be one of a user, an agent, a tenant, a session or a subject.

    Raises:
        InvalidInput: it is empty, too long, or not UTF-8.

    """
    return value if value is None else checked_id(value, param.name or "a name")


def named_or_empty(param: typer.CallbackParam, value: str | None) -> str | None:
    """The same, but that an empty one says something of its own."""
    return value and named(param, value)


Db = Annotated[str | None, typer.Option("--db", metavar="PATH", help="The database file; else ./anaphora.db.")]
Tenant = Annotated[
    str | None, typer.Option("--tenant", metavar="NAME", help="Whose store, where several share one.", callback=named)
]
Agent = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="With which agent; else `default`.", callback=named)
]
AnyAgent = Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only with this agent.", callback=named)]
User = Annotated[str, typer.Option("--user", metavar="NAME", help="Whose memory.", callback=named)]
AnyUser = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only of this user.", callback=named)]
SessionName = Annotated[
    str, typer.Option("--session", metavar="NAME", help="Which of the user's conversations.", callback=named)
]
AnySession = Annotated[
    str | None, typer.Option("--session", metavar="NAME", help="Only this conversation.", callback=named)
]
Then = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="MOMENT",
        help="As it was: when so many messages were there, or at a time such as 2026-05-08.",
    ),
]
Strategy = Annotated[
    str | None,
    typer.Option("--strategy", metavar="NAME", help="How new sessions are summarised; else rolling_pairs."),
]
Limit = Annotated[int, typer.Option("--limit", metavar="N", help="How many at most.")]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        parser=duration,
        metavar="DURATION",
        show_default="5m",
        help="How long to wait at most, such as 30s.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Verbose = Annotated[
    int,
    typer.Option(
        "-v",
        "--verbose",
        count=True,
        show_default=False,
        help="Log to stderr, ids and numbers only; -vv for more.",
    ),
]
