"""Rules for our source that no linter knows; each finding is `file:line what`."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "anaphora"

Rule = Callable[[ast.AST], str | None]

READS_THE_ENVIRONMENT = ("settings/", "cli/", "server/")
IMPORTS_LATE = ("bootstrap.py", "bootstrap/", "cli/")
#: the worker's loop; what an embedder of one's own raises, what no log may hold, what is raised of a broken tokenizer
CATCHES_ALL = ("worker/loop.py", "services/retrieve.py", "server/observing.py", "models/onnx_files.py")
RUNS_DATA_AS_CODE = frozenset({"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"})
TAKES_SQL = frozenset({"text", "execute", "executemany", "executescript", "exec_driver_sql"})


def findings(rule: Rule, nodes: Iterable[ast.AST], *, where: str) -> Iterator[str]:
    for node in nodes:
        found = rule(node)
        if found is not None:
            yield f"{where}:{getattr(node, 'lineno', 0)} {found}"


@cache
def source() -> Mapping[str, Sequence[ast.AST]]:
    """All nodes of each file of the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def offences(rule: Rule, *, but: tuple[str, ...] = ()) -> list[str]:
    """What `rule` finds in the package, outside the files and folders named in `but`."""
    return [
        found
        for where, nodes in source().items()
        if not where.startswith(but)
        for found in findings(rule, nodes, where=where)
    ]


def called(node: ast.AST) -> str:
    """The last name of what a call calls, or nothing."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def imported(node: ast.AST) -> set[str]:
    """The top-level packages that an import statement names."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
        return {node.module.partition(".")[0]}
    return set()


def environment(node: ast.AST) -> str | None:
    names = {"environ", "environb", "getenv", "getenvb", "putenv"}
    if isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node.value) == "os":
        return f"os.{node.attr}"
    if isinstance(node, ast.ImportFrom) and node.module == "os" and names & {a.name for a in node.names}:
        return ast.unparse(node)
    return None


def data_as_code(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        return name if name in {"eval", "exec", "compile", "__import__"} else None
    return ", ".join(sorted(imported(node) & RUNS_DATA_AS_CODE)) or None


def is_constant(node: ast.expr) -> bool:
    """Whether a text is made of literals, CONSTANTS and values of enums only."""
    if isinstance(node, ast.BinOp):
        return is_constant(node.left) and is_constant(node.right)
    if isinstance(node, ast.JoinedStr):
        return all(is_constant(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return re.fullmatch(r"(\w+\.)*_?[A-Z][A-Z0-9_]*(\.value)?", ast.unparse(node.value)) is not None
    return isinstance(node, ast.Constant)


def built_sql(node: ast.AST) -> str | None:
    if called(node) not in TAKES_SQL or not isinstance(node, ast.Call) or not node.args:
        return None
    first = node.args[0]
    glued = isinstance(first, ast.JoinedStr | ast.BinOp) and not is_constant(first)
    return ast.unparse(first) if glued or called(first) in {"format", "join"} else None


def late_import(node: ast.AST) -> str | None:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    late = [ast.unparse(inner) for inner in ast.walk(node) if isinstance(inner, ast.Import | ast.ImportFrom)]
    return "; ".join(late) or None


def broad_except(node: ast.AST) -> str | None:
    """A handler that takes every error; one that passes it on at its end only cleans up."""
    if not isinstance(node, ast.ExceptHandler):
        return None
    last = node.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return None
    caught = "" if node.type is None else ast.unparse(node.type)
    return f"except {caught}" if re.search(r"\b(Base)?Exception\b|^$", caught) else None


def stub(node: ast.AST) -> str | None:
    raised = isinstance(node, ast.Raise) and node.exc is not None and ast.unparse(node.exc)
    return raised if raised and "NotImplemented" in raised else None


RULES = {
    "the environment is read in settings, cli and server only": (environment, READS_THE_ENVIRONMENT),
    "only bootstrap and cli import late": (late_import, IMPORTS_LATE),
    "only the worker loop and the seams to what is not ours catch everything": (broad_except, CATCHES_ALL),
    "data is never run as code": (data_as_code, ()),
    "SQL is never glued together": (built_sql, ()),
    "nothing is a stub": (stub, ()),
}


@pytest.mark.parametrize("law", RULES)
def test_the_source_keeps_the_law(law: str) -> None:
    rule, but = RULES[law]
    assert offences(rule, but=but) == []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (environment, "import os\nos.environ['HOME']"),
        (environment, "from os import getenv"),
        (data_as_code, "import pickle"),
        (data_as_code, "from marshal import loads"),
        (data_as_code, "eval('1')"),
        (built_sql, "text(f'select {name}')"),
        (built_sql, "connection.exec_driver_sql('pragma ' + name)"),
        (built_sql, "sa.text('select {}'.format(name))"),
        (late_import, "async def f():\n    import json"),
        (broad_except, "try:\n    pass\nexcept (OSError, Exception):\n    pass"),
        (broad_except, "try:\n    pass\nexcept:\n    pass"),
        (stub, "raise NotImplementedError('later')"),
    ],
)
def test_each_rule_sees_what_it_forbids(rule: Rule, source: str) -> None:
    assert len(list(findings(rule, ast.walk(ast.parse(source)), where="x.py"))) == 1


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (built_sql, "text('select 1')"),
        (built_sql, "text(f\"status = '{SummaryStatus.COMPLETED.value}'\")"),
        (built_sql, "connection.execute(select(table))"),
        (data_as_code, "re.compile('a')"),
        (broad_except, "try:\n    pass\nexcept OSError:\n    pass"),
        (broad_except, "try:\n    pass\nexcept BaseException:\n    undo()\n    raise"),
    ],
)
def test_no_rule_sees_what_is_allowed(rule: Rule, source: str) -> None:
    assert list(findings(rule, ast.walk(ast.parse(source)), where="x.py")) == []


def test_every_imported_package_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {normal(re.split(r"[\[<>=!~; ]", entry)[0]) for group in listed for entry in group}
    sold_by = metadata.packages_distributions()
    used = {
        name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imported(node)
    }
    foreign = used - sys.stdlib_module_names - {"anaphora"}
    undeclared = {name for name in foreign if not declared & {normal(dist) for dist in sold_by.get(name, [name])}}
    assert undeclared == set()


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_no_file_holds_a_leftover_marker_or_a_path_of_one_machine() -> None:
    marker = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|(?<![\w.])/(home|root|Users|work|farm)/\w")  # not this line
    suffixes = {".py", ".md", ".toml", ".json", ".html", ".cfg", ".yml"}
    folders = [ROOT / name for name in ("src", "tests", "tools", "docs", "benchmarks", "requirements")]
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in suffixes]
    found = [
        f"{path.relative_to(ROOT)}:{number} {line.strip()}"
        for path in [*paths, ROOT / "Makefile", ROOT / "pyproject.toml", *ROOT.glob("*.md")]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if marker.search(line) and not line.endswith("# not this line")
    ]
    assert found == []


def test_every_test_can_fail_and_none_is_switched_off() -> None:
    checks = re.compile(r"raises|assert|check|verify|expect|run_state_machine|warns|fail")
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        source = path.read_text(encoding="utf-8")
        if re.search(r"pytest\.(mark\.)?(skip|xfail|importorskip)\w*\(", source):
            found.append(f"{where} switches a test off")
        for node in ast.walk(ast.parse(source)):
            is_test = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
            if is_test and not any(isinstance(n, ast.Assert) or checks.search(called(n)) for n in ast.walk(node)):
                found.append(f"{where} {getattr(node, 'name', '')} asserts nothing")
    assert found == []
