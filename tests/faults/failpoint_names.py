"""The failpoints of the package, read from its source, and the commits that have none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "anaphora"
_CALLS = frozenset({"failpoint", "_failpoint"})
#: where each commit must be followed by a failpoint: what the worker does, and what callers wait for
WORKING = ("worker", "services")
_COMMITS = ("self.store.write(", "self.store.append(")


class Unreadable(AssertionError):
    """A failpoint whose name cannot be read from the source."""


def failpoints(folder: Path = PACKAGE) -> list[str]:
    """The names of all failpoints below a folder, sorted."""
    found: set[str] = set()
    for path in sorted(folder.rglob("*.py")):
        found |= names_in(path.read_text(encoding="utf-8"), where=path.name)
    return sorted(found)


def names_in(source: str, *, where: str = "") -> set[str]:
    """The names that the calls in one module pass: literals, or f-strings whose variables are set to literals."""
    tree = ast.parse(source)
    return {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _last_name(node.func) in _CALLS
        for name in _read(node, tree, where=where)
    }


def silent_commits(source: str) -> list[int]:
    """Lines that commit through `self.store` and reach no failpoint before the next one or the end of the function."""
    found: list[int] = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.AsyncFunctionDef):
            continue
        pending: int | None = None
        for line, what in sorted(_events(node)):
            if what == "write":
                found += [pending] if pending is not None else []
                pending = line
            else:
                pending = None
        found += [pending] if pending is not None else []
    return found


def working_sources() -> Iterator[Path]:
    """The modules whose commits must not be silent."""
    for name in WORKING:
        path = PACKAGE / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _events(function: ast.AsyncFunctionDef) -> Iterator[tuple[int, str]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Await) and ast.unparse(node.value).startswith(_COMMITS):
            yield node.lineno, "write"
        elif isinstance(node, ast.Call) and _last_name(node.func) in _CALLS:
            yield node.lineno, "failpoint"


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _read(call: ast.Call, tree: ast.Module, *, where: str) -> Iterator[str]:
    first = call.args[0] if len(call.args) == 1 else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        yield first.value
        return
    if isinstance(first, ast.JoinedStr):
        texts = [""]
        for part in first.values:
            texts = [text + more for text in texts for more in _values(part, tree)]
        if texts:
            yield from texts
            return
    raise Unreadable(f"{where}:{call.lineno} {ast.unparse(call)}: name a failpoint by a literal")


def _values(part: ast.expr, tree: ast.Module) -> list[str]:
    """What a part of an f-string may be; nothing if its variable is not set to literals."""
    if isinstance(part, ast.Constant):
        return [str(part.value)]
    if not isinstance(part, ast.FormattedValue) or not isinstance(part.value, ast.Name):
        return []
    name = part.value.id
    return sorted(
        text
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(_last_name(target) == name for target in node.targets)
        for text in _literals(node.value)
    )


def _literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
