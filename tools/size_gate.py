"""Keep files and functions small enough to be read at one sitting.

A file over 400 lines is named; a file over 600 lines, or a function over 60, fails the check.

    python tools/size_gate.py [FOLDER ...]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

FILE_SOFT = 400
FILE_HARD = 600
FUNCTION_HARD = 60
FOLDERS = ("src", "tests", "tools", "benchmarks")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One place that is larger than it should be; `hard` ones fail the check."""

    where: str
    what: str
    hard: bool


def measure(source: str, *, name: str) -> Iterator[Finding]:
    """Every place in one file's `source` that is too large.

    Lines of a function are counted from `def` to its end, its docstring included and its decorators left out.
    """
    lines = len(source.splitlines())
    if lines > FILE_SOFT:
        hard = lines > FILE_HARD
        limit = FILE_HARD if hard else FILE_SOFT
        yield Finding(where=name, what=f"{lines} lines, more than {limit}: split it", hard=hard)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            if size > FUNCTION_HARD:
                what = f"{node.name} has {size} lines, more than {FUNCTION_HARD}: split it"
                yield Finding(where=f"{name}:{node.lineno}", what=what, hard=True)


def sources(folders: Iterable[str]) -> Iterator[Path]:
    """Every Python file below `folders`, in order of name."""
    for folder in folders:
        yield from sorted(Path(folder).rglob("*.py"))


def main(folders: Iterable[str]) -> int:
    """Print what is too large below `folders`; 1 when something is over a hard limit."""
    found = [
        finding
        for path in sources(folders)
        for finding in measure(path.read_text(encoding="utf-8"), name=path.as_posix())
    ]
    for finding in found:
        print(f"{'too large' if finding.hard else 'large'}: {finding.where}: {finding.what}")
    return int(any(finding.hard for finding in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or FOLDERS))
