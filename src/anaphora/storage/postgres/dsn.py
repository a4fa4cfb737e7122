"""Where a PostgreSQL server is: the URL as libpq knows it, what asyncpg takes of it, and how it may be shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from anaphora.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMES = frozenset({"postgresql", "postgres"})
#: what libpq knows and asyncpg does by itself, or what makes no difference to it
_WITHOUT_EFFECT = frozenset(
    {"client_encoding", "fallback_application_name", "gssencmode", "keepalives", "keepalives_count"}
    | {"keepalives_idle", "keepalives_interval", "sslcompression", "tcp_user_timeout"}
)
#: what libpq knows and asyncpg cannot do: to go on without it would be to promise what is not kept
_REFUSED = frozenset({"channel_binding", "load_balance_hosts", "replication", "require_auth", "service", "sslcrldir"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dsn:
    """A server and a database on it.

    Attributes:
        url: what asyncpg is given; it may hold a password: never show it.
        connect_timeout: seconds that connecting may take; None for the default.
        shown: the same place for people, without any secret.

    """

    url: str = field(repr=False)
    connect_timeout: float | None
    shown: str

    @classmethod
    def parse(cls, text: str) -> Dsn:
        """The place behind `postgresql://user:password@host:port/database?sslmode=…` (or `postgres://`).

        Raises:
            ConfigError: it cannot be read, or asks for something that cannot be done; it names the parameter and never
                shows a password.

        """
        try:
            parts = urlsplit(text)
            pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise ConfigError("the PostgreSQL URL cannot be read: write postgresql://user@host/database") from None
        driver = parts.scheme.partition("+")[0]
        if driver not in SCHEMES:
            raise ConfigError("a PostgreSQL URL begins with postgresql:// or postgres://")
        given = dict(pairs)
        refused = sorted(_REFUSED & given.keys())
        if refused:
            raise ConfigError(f"the PostgreSQL parameter {refused[0]!r} is not supported: leave it out of the URL")
        timeout = _seconds(given.pop("connect_timeout", None))
        kept = {name: value for name, value in given.items() if name not in _WITHOUT_EFFECT}
        # not urlunsplit: it leaves the slashes out where there is no host
        url = f"postgresql://{parts.netloc}{parts.path}{'?' if kept else ''}{urlencode(kept, quote_via=quote)}"
        return cls(url=url, connect_timeout=timeout, shown=_shown(parts.netloc, parts.path, kept))


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    if not text.isdigit():
        raise ConfigError("the PostgreSQL parameter connect_timeout must be a whole number of seconds")
    return max(2.0, float(text)) if int(text) else None


def _shown(netloc: str, path: str, parameters: Mapping[str, str]) -> str:
    """User, host and database; of the parameters only those that say where it is."""
    credentials, _, host = netloc.rpartition("@")
    user = credentials.partition(":")[0] or parameters.get("user", "")
    where = host or parameters.get("host", "")
    database = path.lstrip("/") or parameters.get("dbname", "") or parameters.get("database", "")
    return f"postgresql://{unquote(user)}{'@' if user else ''}{unquote(where)}/{unquote(database)}"


#: what every connection is told about itself
SERVER_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "application_name": "anaphora",
        "client_encoding": "UTF8",
        "DateStyle": "ISO",
        "TimeZone": "UTC",
        # a process that died inside a transaction must not hold its locks for longer than this
        "idle_in_transaction_session_timeout": "60s",
    }
)
