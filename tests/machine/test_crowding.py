"""Few facts are kept, whatever is said and done: the machine of `reading` with room for five."""

from __future__ import annotations

import pytest
from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test
from tests.databases.chosen import SQLITE, on
from tests.machine.crowding import Crowding
from tests.machine.test_machine import TEN

#: what never happened proves nothing
WANTED = frozenset({"set aside", "kept beside what is set aside", "pin", "confirm", "late"})


@pytest.mark.timeout(600)
def test_what_is_pinned_confirmed_or_added_is_never_set_aside() -> None:
    Crowding.seen.clear()
    with on(SQLITE):
        for number in range(6):
            run_state_machine_as_test(seed(f"Crowding {number}")(Crowding), settings=TEN)
            if number and all(Crowding.seen[what] for what in WANTED):
                break
    assert not {what for what in WANTED if not Crowding.seen[what]}
