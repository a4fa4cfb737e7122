"""Where a server is: as libpq writes it, and as it may be shown."""

from __future__ import annotations

import pytest

from anaphora.errors import ConfigError
from anaphora.storage.postgres.dsn import Dsn

SECRET = "hunter2"  # noqa: S105 - nobody's


@pytest.mark.parametrize(
    ("given", "url", "shown"),
    [
        ("postgresql://h/d", "postgresql://h/d", "postgresql://h/d"),
        ("postgres://u@h:5433/d", "postgresql://u@h:5433/d", "postgresql://u@h:5433/d"),
        ("postgresql+asyncpg://u@h/d", "postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://u:hunter2@h/d", "postgresql://u:hunter2@h/d", "postgresql://u@h/d"),
        ("postgresql://u%40x:hunter2@h/d", "postgresql://u%40x:hunter2@h/d", "postgresql://u@x@h/d"),
        ("postgresql:///d?host=/tmp", "postgresql:///d?host=%2Ftmp", "postgresql:///tmp/d"),
        ("postgresql://h/d?sslmode=require", "postgresql://h/d?sslmode=require", "postgresql://h/d"),
        ("postgresql://h/d?user=u&password=hunter2", "postgresql://h/d?user=u&password=hunter2", "postgresql://u@h/d"),
        ("postgresql://h/d?keepalives=1&gssencmode=disable", "postgresql://h/d", "postgresql://h/d"),
    ],
)
def test_a_url_is_taken_as_libpq_takes_it_and_shown_without_its_password(given: str, url: str, shown: str) -> None:
    dsn = Dsn.parse(given)
    assert (dsn.url, dsn.shown) == (url, shown)
    assert SECRET not in repr(dsn)


@pytest.mark.parametrize(
    ("parameter", "seconds"),
    [("", None), ("?connect_timeout=0", None), ("?connect_timeout=1", 2), ("?connect_timeout=30", 30)],
)
def test_connecting_takes_as_long_as_the_url_says_and_never_less_than_two_seconds(
    parameter: str, seconds: float | None
) -> None:
    dsn = Dsn.parse(f"postgresql://h/d{parameter}")
    assert dsn.connect_timeout == seconds
    assert "connect_timeout" not in dsn.url


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://u:hunter2@h/d", "begins with postgresql://"),
        ("postgresql://u:hunter2@[::1/d", "cannot be read"),
        ("postgresql://u:hunter2@h/d?sslmode", "cannot be read"),
        ("postgresql://u:hunter2@h/d?connect_timeout=soon", "connect_timeout must be"),
        ("postgresql://u:hunter2@h/d?channel_binding=require", "channel_binding"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line_without_the_password(url: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        Dsn.parse(url)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)
