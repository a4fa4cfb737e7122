"""One zygote and a few prepared databases for all fault tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.nursery import Nursery, open_nursery
from tests.faults.programs import BACKLOG


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with open_nursery(tmp_path_factory.mktemp("notes")) as opened:
        yield opened


@pytest.fixture(scope="session")
def prepared(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Databases by how many messages wait in them."""
    folder = tmp_path_factory.mktemp("prepared")
    made = {}
    for count in (0, 6, BACKLOG):
        made[count] = folder / f"{count}.db"
        nursery.run("fill", db=str(made[count]), count=count)
        assert not Path(f"{made[count]}-wal").exists(), "closing leaves one file"
    return made


@pytest.fixture
def database(prepared: dict[int, Path], tmp_path: Path) -> Callable[[int], Path]:
    """Makes the test's own copy of a prepared database."""

    def make(count: int) -> Path:
        return Path(shutil.copy(prepared[count], tmp_path / "m.db"))

    return make
