"""The laws of the public API hold for the blocking one: the very tests of tests/memory, on the other implementation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.memory import (
    harness,
    test_appends,
    test_backlogs,
    test_holes_of_seed_000,
    test_holes_of_seed_004,
    test_worked_examples,
)
from tests.sync import async_shaped

pytestmark = pytest.mark.anyio

MODULES = (test_appends, test_backlogs, test_holes_of_seed_000, test_holes_of_seed_004, test_worked_examples)
#: what models, logs and the demo do is not done by the API: their modules are not read to it again
OTHERS = frozenset({"test_model_faults", "test_logs", "test_demo_conversation"})
ORDER = "counts on tasks being started in order, which threads are not"
BELOW = "reaches below the public API, in the event loop of the test"
#: laws that are not about the blocking API, and why
LEFT_OUT: Mapping[str, str] = {
    "test_work_of_a_dead_process_is_done_after_its_lease": BELOW,
    "test_a_backlog_of_two_thousand_messages_drains_in_bounded_prompts": ORDER,
    "test_a_lease_far_in_the_future_holds_nobody_up": BELOW,
    "test_the_mark_depends_on_the_stores_secret_and_on_the_version": BELOW,
}


def laws(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name.startswith("test_") and callable(value)}


@pytest.fixture(autouse=True)
def on_the_blocking_api(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (harness, *MODULES):
        if hasattr(module, "Memory"):
            monkeypatch.setattr(module, "Memory", async_shaped.Memory)


def test_no_module_is_forgotten() -> None:
    read = {module.__name__.rpartition(".")[2] for module in MODULES}
    assert {path.stem for path in Path(harness.__file__).parent.glob("test_*.py")} == read | OTHERS


def test_every_law_is_read_once_and_those_left_out_are_there() -> None:
    names = [name for module in MODULES for name in laws(module)]
    assert len(names) == len(set(names))
    assert set(LEFT_OUT) <= set(names)


for _module in MODULES:
    globals().update({name: law for name, law in laws(_module).items() if name not in LEFT_OUT})
