"""The tools behind `make check` find what they are made to find."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tools import lock, size_gate

PYPROJECT = """
[build-system]
requires = ["hatchling"]
[project]
name = "thing"
version = "1"
requires-python = ">=3.11"
dependencies = ["anyio>=4"]
[dependency-groups]
dev = ["pytest"]
"""
ENTRY = "anyio==4.1 \\\n    --hash=sha256:00\n"


def stamped(text: str) -> str:
    return f"{lock.STAMP}{lock.fingerprint(PYPROJECT)}\n{text}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (ENTRY, "does not belong"),
        (stamped(""), "without a version"),
        (stamped(ENTRY + "attrs>=2 \\\n    --hash=sha256:00\n"), "without a version"),
        (stamped(ENTRY + "attrs==2\n"), "without a hash"),
        (stamped("--extra-index-url file:/srv/wheels\n" + ENTRY), "address of an index"),
        (stamped("anyio @ https://example.org/anyio-4.1.whl ==4.1 --hash=sha256:00\n"), "address of an index"),
    ],
)
def test_a_lock_that_is_stale_loose_or_bound_to_one_machine_is_found(text: str, fault: str) -> None:
    found = lock.faults(text, expected=lock.fingerprint(PYPROJECT))
    assert any(fault in line for line in found), found


def test_a_good_lock_has_no_fault() -> None:
    assert lock.faults(stamped(ENTRY), expected=lock.fingerprint(PYPROJECT)) == []


@pytest.mark.parametrize(
    "change",
    [
        ('"anyio>=4"', '"anyio>=5"'),
        ('"pytest"', '"pytest", "ruff"'),
        (">=3.11", ">=3.12"),
        ('"hatchling"', '"flit_core"'),
        ("[dependency-groups]", '[project.optional-dependencies]\ncli = ["rich"]\n[dependency-groups]'),
    ],
)
def test_every_change_of_a_dependency_changes_the_fingerprint(change: tuple[str, str]) -> None:
    assert lock.fingerprint(PYPROJECT.replace(*change)) != lock.fingerprint(PYPROJECT)


@pytest.mark.parametrize("change", [('"thing"', '"other"'), ("[project]", "# a remark\n[project]")])
def test_other_changes_leave_the_fingerprint_alone(change: tuple[str, str]) -> None:
    assert lock.fingerprint(PYPROJECT.replace(*change)) == lock.fingerprint(PYPROJECT)


def test_what_the_package_can_use_is_pinned_for_the_checks_and_the_tests() -> None:
    project = tomllib.loads((lock.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = {line.split("==")[0] for line in lock.pinned((lock.ROOT / lock.LOCKS[0].path).read_text(encoding="utf-8"))}
    optional = [need for extra, needs in project["optional-dependencies"].items() if extra != "bench" for need in needs]
    named = {re.split(r"[\[><=; ]", need)[0] for need in optional}
    assert named - pins == {"anaphora"}


def function(lines: int) -> str:
    return "def work():\n" + "    pass\n" * (lines - 1)


def test_a_function_of_sixty_lines_passes_and_one_more_line_fails() -> None:
    assert list(size_gate.measure(function(60), name="a.py")) == []
    (finding,) = size_gate.measure(function(61), name="a.py")
    assert (finding.where, finding.hard) == ("a.py:1", True)


@pytest.mark.parametrize(("lines", "hard"), [(400, []), (401, [False]), (600, [False]), (601, [True])])
def test_a_file_over_400_lines_is_named_and_one_over_600_fails(lines: int, hard: list[bool]) -> None:
    assert [finding.hard for finding in size_gate.measure("x = 1\n" * lines, name="a.py")] == hard


def test_the_size_gate_looks_into_nested_folders_and_fails_by_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "small.py").write_text(function(10), encoding="utf-8")
    assert size_gate.main([str(tmp_path)]) == 0
    (tmp_path / "deep" / "large.py").write_text("async " + function(90), encoding="utf-8")
    assert size_gate.main([str(tmp_path)]) == 1
    assert "work has 90 lines" in capsys.readouterr().out
