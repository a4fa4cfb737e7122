"""The server that fault tests stop and kill."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.faults.places import OnServer, Places

from anaphora.storage.postgres.embedded import Server


@pytest.fixture
def own_server(places: Places) -> Iterator[Server]:
    """It runs again at the end."""
    assert isinstance(places, OnServer)
    if places.own is None:
        pytest.fail("this test stops its server: let it have its own, without ANAPHORA_TEST_DSN")
    try:
        yield places.own
    finally:
        places.own.start()
