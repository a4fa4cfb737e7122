"""What ships as a law states it, can fail, keeps to the API, is collected once, and is never left out in silence."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.conformance import report

from anaphora.testing import conformance
from anaphora.testing.conformance import memory_laws, store_laws
from anaphora.testing.conformance.laws import Laws
from anaphora.testing.conformance.memory import MemoryConformance
from anaphora.testing.conformance.store import StoreConformance

#: what a law must not know: how a store or a memory is built
FORBIDDEN = ("anaphora.storage", "anaphora.services", "anaphora.worker", "sqlalchemy", "sqlite3", "tests")
SUITES = [StoreConformance, MemoryConformance]
#: what `make conformance` wrote last
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "conformance.md"


def modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, prefix=f"{package.__name__}."):
        yield importlib.import_module(found.name)


def classes_of_laws(package: ModuleType) -> Iterator[type[Laws]]:
    """The classes that a package defines with laws of their own."""
    for module in modules(package):
        for _, cls in inspect.getmembers(module, inspect.isclass):
            if issubclass(cls, Laws) and cls.__module__ == module.__name__ and own_laws(cls):
                yield cls


def own_laws(cls: type[Laws]) -> list[str]:
    return [name for name in vars(cls) if name.startswith("test_")]


def law(suite: type[Laws], name: str) -> str:
    return inspect.cleandoc(getattr(suite, name).__doc__ or "")


@pytest.mark.parametrize("suite", SUITES)
def test_every_law_says_in_one_line_what_it_states(suite: type[Laws]) -> None:
    assert [name for name in suite.law_names() if not re.fullmatch(r"[^\n]{10,110}[.]", law(suite, name))] == []


@pytest.mark.parametrize("suite", SUITES)
def test_every_law_can_fail(suite: type[Laws]) -> None:
    checks = re.compile(r"\bassert |pytest\.raises\(|\bcheck_|\bawait soon\(")
    assert [name for name in suite.law_names() if not checks.search(inspect.getsource(getattr(suite, name)))] == []


@pytest.mark.parametrize(("package", "suite"), [(store_laws, StoreConformance), (memory_laws, MemoryConformance)])
def test_every_law_that_is_written_is_collected_under_a_name_of_its_own(package: ModuleType, suite: type[Laws]) -> None:
    written = list(classes_of_laws(package))
    assert [cls.__name__ for cls in written if not issubclass(suite, cls)] == []
    every: list[type[Laws]] = [Laws, *written]
    names = Counter(name for cls in every for name in own_laws(cls))
    assert [name for name, count in names.items() if count > 1] == [], "one of them would hide the other"
    assert set(names) == suite.law_names()


def test_the_laws_know_nothing_of_how_a_store_is_built() -> None:
    found = []
    for module in (*modules(store_laws), *modules(memory_laws)):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{module.__name__}: {name}" for name in names if name.startswith(FORBIDDEN)]
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                found.append(f"{module.__name__}: {ast.unparse(node)}")
    assert found == []


@pytest.mark.parametrize("suite", SUITES)
def test_nothing_is_left_out_of_what_ships(suite: type[Laws]) -> None:
    assert suite.left_out == {}


THIRD_PARTY = """
from contextlib import asynccontextmanager
from anaphora.storage.sqlite.store import open_sqlite
from anaphora.testing.conformance.store_laws.appends import AppendLaws
from tests.conformance.broken_logs import CountsFromOne

class Opens:
    @asynccontextmanager
    async def open_store(self, folder, **how):
        async with open_sqlite(folder / "m.db", **how) as store:
            yield CountsFromOne(store, folder)

class TestHonest(Opens, AppendLaws):
    left_out = {"test_the_clock_orders_nothing": "our clock is always right"}

class TestMistaken(Opens, AppendLaws):
    left_out = {"test_no_such_law": "because", "test_the_clock_orders_nothing": "another reason"}

class TestSilent(Opens, AppendLaws):
    left_out = {"test_the_clock_orders_nothing": " "}
"""


def test_what_is_left_out_is_shown_and_a_broken_law_shows_what_it_saw(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(THIRD_PARTY, encoding="utf-8")
    some = "test_the_clock_orders or test_numbers_go_on or test_what_is_left_out"
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir=.", "-k"]
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run([*command, some], cwd=tmp_path, env=here, capture_output=True, text=True, check=False)
    said = [line for line in run.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "SKIPPED"))]
    meta, numbers = "test_what_is_left_out_is_a_law_and_has_a_reason", "test_numbers_go_on_from_append_to_append"
    assert {line.split(" - ")[0] for line in said if not line.startswith("SKIPPED")} == {
        f"PASSED test_mine.py::TestHonest::{meta}",
        f"FAILED test_mine.py::TestMistaken::{meta}",
        f"FAILED test_mine.py::TestSilent::{meta}",
        *(f"FAILED test_mine.py::{name}::{numbers}" for name in ("TestHonest", "TestMistaken", "TestSilent")),
    }, run.stdout
    assert [
        line for line in said if line.startswith("SKIPPED") and line.endswith("left out: our clock is always right")
    ]
    assert "SeqRange(start=1, stop=3)" in run.stdout, "the assertion does not say what it compared"


def test_a_suite_that_opens_nothing_is_an_error_and_not_nothing() -> None:
    for suite, method in ((StoreConformance, "open_store"), (MemoryConformance, "open_memory")):
        with pytest.raises(TypeError, match=method):
            type("TestUnfinished", (suite,), {})


WITHOUT_PYTEST = """
import sys

class NoPytest:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pytest", "_pytest"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoPytest())
import anaphora.testing, anaphora.testing.scripted
try:
    import anaphora.testing.conformance
except ModuleNotFoundError:
    print("needs pytest")
"""


def test_the_doubles_can_be_used_without_pytest() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT_PYTEST], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "needs pytest\n"
    assert conformance.__doc__


def test_the_page_has_every_law_and_says_that_it_is_kept_on_every_database() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    shown = {cells[0]: cells[1:] for cells in (re.split(r" *\| *", line.strip("| ")) for line in lines)}
    for suite, (_, databases) in report.SUITES.items():
        for law in report.laws_of(suite):
            verdicts = shown.get(report.plain(law), [])
            assert len(verdicts) == len(databases), f"{law}: run `make conformance`"
            assert all(verdict.split(" ")[0] == "kept" for verdict in verdicts), law
