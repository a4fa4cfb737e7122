"""One zygote and a few prepared databases for all fault tests, which run on every kind of database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.databases.chosen import POSTGRES, SQLITE
from tests.faults.nursery import Nursery, open_nursery
from tests.faults.places import OnServer, Place, Places, open_places
from tests.faults.programs import BACKLOG
from tests.faults.servers import own_server

__all__ = ["own_server"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each test once for every kind of database, unless it says for which."""
    if "places" not in metafunc.fixturenames:
        return
    if any(mark.args[0] == "places" for mark in metafunc.definition.iter_markers("parametrize")):
        return
    only = metafunc.definition.get_closest_marker("sqlite_only") is not None
    kinds = [SQLITE] if only else [SQLITE, POSTGRES]
    metafunc.parametrize("places", kinds, indirect=True, scope="session", ids=str)


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with open_nursery(tmp_path_factory.mktemp("notes")) as opened:
        yield opened


@pytest.fixture(scope="session")
def places(request: pytest.FixtureRequest, nursery: Nursery) -> Iterator[Places]:
    """Makes databases of the kind that the test is run on."""
    with open_places(request.param) as made:
        if isinstance(made, OnServer):
            first = made.create()
            nursery.run("fill", db=str(first), count=0)
            made.use_as_template(first)
        yield made


@pytest.fixture(scope="session")
def prepared(places: Places, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Mapping[int, Place]:
    """Databases by how many messages wait in them."""
    made = {}
    for count in (0, 6, BACKLOG):
        made[count] = places.new(tmp_path_factory.mktemp("prepared"))
        nursery.run("fill", db=str(made[count]), count=count)
    places.keep()
    return made


@pytest.fixture
def new(places: Places, tmp_path: Path) -> Iterator[Callable[..., Place]]:
    """Makes databases that nobody has used yet."""
    yield lambda **how: places.new(tmp_path, **how)
    places.drop()


@pytest.fixture
def database(prepared: Mapping[int, Place], places: Places, tmp_path: Path) -> Iterator[Callable[[int], Place]]:
    """Makes the test's own copy of a prepared database."""
    yield lambda count: places.copy(prepared[count], tmp_path)
    places.drop()
