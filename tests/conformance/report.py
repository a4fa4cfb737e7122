"""The conformance report: every law with what became of it on every database.

`make conformance` writes it to docs/reference/conformance.md; any other run that asks all laws says how many were kept.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from anaphora.testing.conformance.laws import Laws
from anaphora.testing.conformance.memory import MemoryConformance
from anaphora.testing.conformance.store import StoreConformance

#: by suite: what its laws are about, and by test class the database it runs on
SUITES: Mapping[type[Laws], tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        StoreConformance: ("The store", {"TestSqlite": "SQLite", "TestPostgres": "PostgreSQL"}),
        MemoryConformance: ("The memory", {"TestOnSqlite": "SQLite", "TestOnPostgres": "PostgreSQL"}),
    }
)
_FOLDER = "tests/conformance/"
_KEPT, _BROKEN, _LEFT_OUT, _NOT_ASKED = "kept", "**broken**", "left out", "not asked"

_HEAD = """\
# Conformance

Every law that a store and a memory keep, and what became of it when it was last asked of each database:
`make conformance` asks all of them and writes this page. A number in brackets counts the cases of a law that has
several. [Writing a store](../how-to/writing-a-store.md) says how to ask them of a store of your own.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--conformance-report", metavar="FILE", help="write every law with its results there")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Report(config.getoption("--conformance-report")), "conformance-report")


@dataclass(eq=False)
class Report:
    """What became of each law: outcomes of its cases, by test class and law."""

    path: str | None
    outcomes: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid.startswith(_FOLDER) and (report.when == "call" or report.outcome != "passed"):
            _, _, rest = report.nodeid.partition("::")
            name, _, law = rest.partition("::")
            self.outcomes[name, law.partition("[")[0]].append(report.outcome)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not all(self._is_whole(suite) for suite in SUITES):
            return
        for suite, (title, classes) in SUITES.items():
            laws = laws_of(suite)
            kept = ", ".join(
                f"{sum(self.verdict(name, law).startswith(_KEPT) for law in laws)} of {len(laws)} on {database}"
                for name, database in classes.items()
            )
            terminalreporter.write_line(f"conformance: {title.lower()}: laws kept: {kept}")
        if self.path is not None:
            Path(self.path).write_text(self.page(), encoding="utf-8")
            terminalreporter.write_line(f"conformance: written to {self.path}")

    def _is_whole(self, suite: type[Laws]) -> bool:
        return all(self.outcomes.get((name, law)) for name in SUITES[suite][1] for law in laws_of(suite))

    def verdict(self, name: str, law: str) -> str:
        """What became of a law on one database."""
        found = self.outcomes.get((name, law), [])
        if not found:
            return _NOT_ASKED
        cases = f" ({len(found)})" if len(found) > 1 else ""
        if "failed" in found:
            return _BROKEN + cases
        return (_LEFT_OUT if "skipped" in found else _KEPT) + cases

    def page(self) -> str:
        """The report as a page of the documentation."""
        return "\n".join([_HEAD, *self._sections()])

    def _sections(self) -> Iterator[str]:
        for suite, (title, classes) in SUITES.items():
            laws = laws_of(suite)
            yield f"## {title}: {len(laws)} laws\n"
            for heading, names in grouped(suite, laws):
                yield f"### {heading}\n"
                yield f"| law | {' | '.join(classes.values())} |"
                yield f"|---|{'---|' * len(classes)}"
                for law in names:
                    yield f"| {plain(law)} | {' | '.join(self.verdict(name, law) for name in classes)} |"
                yield ""


def laws_of(suite: type[Laws]) -> Sequence[str]:
    """The laws of a suite, by name."""
    return sorted(suite.law_names() - Laws.law_names())


def plain(law: str) -> str:
    """The name of a law as a sentence."""
    return law.removeprefix("test_").replace("_", " ")


def grouped(suite: type[Laws], laws: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """The laws under what the module that they stand in says of itself."""
    for part in suite.__mro__:
        own = [law for law in laws if law in vars(part)]
        if own:
            said = inspect.getdoc(inspect.getmodule(part)) or part.__name__
            yield said.splitlines()[0].rstrip("."), own
