"""For the conftest of a folder whose tests run on every database, but for those that are about one of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.databases.chosen import POSTGRES, SQLITE, on


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each test once for every database; those about a file only on that."""
    if metafunc.definition.get_closest_marker("sqlite_only") is None:
        metafunc.parametrize("database_kind", [SQLITE, POSTGRES], indirect=True, ids=str)


@pytest.fixture(autouse=True)
def database_kind(request: pytest.FixtureRequest) -> Iterator[None]:
    """The databases of folders are of the kind that the test is run on."""
    with on(getattr(request, "param", SQLITE)):
        yield
