"""Break the decisions and the claims on purpose, one small change at a time, and see whether the tests notice.

mutmut changes what stands inside functions. What stands outside them, such as the statements of the job table and the
defaults of the strategies, it leaves alone: those are changed here, one operator, condition or number at a time.
Everything happens in a copy of the project in a temporary folder.

    python tools/mutants.py                      all modules, about half an hour
    python tools/mutants.py coverage strategies  some of them, by a part of their path
    python tools/mutants.py --list               their names
    python tools/mutants.py --keep FOLDER        work there and leave it behind, for `mutmut browse`

What survives is shown, with the reason if mutants_explained.toml has one. Ends with 1 when in one of the modules fewer
changes were noticed than should be.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anaphora.testing.conformance.store_laws.editing import EditingLaws
from anaphora.testing.conformance.store_laws.jobs import JobLaws
from anaphora.testing.conformance.store_laws.leases import LeaseLaws

ROOT = Path(__file__).resolve().parent.parent
MUTMUT = "mutmut>=3.8"
#: per cent of the changes of a module that tests must notice
ENOUGH = 85
DECISIONS = ("tests/domain", "tests/rules", "tests/strategies")
CLAIMS = (
    "tests/storage/test_claims.py",
    *(
        f"tests/conformance/test_sqlite.py::TestSqlite::{law}"
        for law in sorted(JobLaws.law_names() | LeaseLaws.law_names() | EditingLaws.law_names())
    ),
)
#: which tests should notice a change of which module: fast ones, close to it
TESTS = {
    "domain/keys.py": DECISIONS,
    "domain/plans.py": DECISIONS,
    "rules/assembly.py": DECISIONS,
    "rules/batching.py": DECISIONS,
    "rules/coverage.py": DECISIONS,
    "rules/points.py": DECISIONS,
    "rules/topics/shown.py": DECISIONS,
    "rules/triggers.py": DECISIONS,
    "strategies/rolling_pairs.py": DECISIONS,
    "strategies/sliding_window.py": DECISIONS,
    "strategies/topics.py": DECISIONS,
    "storage/jobs.py": CLAIMS,
}
#: for each module: a piece of a change, and why no test can notice it or should
EXPLAINED = ROOT / "tools" / "mutants_explained.toml"
#: what a test run needs beside the code
COPIED = ("src", "tests", "pyproject.toml")
#: the first example that fails is enough, however large it is
PROFILE = """
from hypothesis import Phase, settings

settings.register_profile("mutants", derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate])
"""
#: exit codes of pytest under mutmut that mean that nobody noticed: all passed, or no test came by
SURVIVED = (0, 5, 33)
#: how many times as long as usual tests may take before a change counts as noticed: a busy machine is no reason
SLOWER = 60
#: seconds that one changed statement may keep the tests busy
PATIENCE = 300

OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
}
TAKEN_FOR = {"_QUEUED": "_RUNNING", "_RUNNING": "_QUEUED", "_DONE": "_FAILED", "_FAILED": "_DONE"}
#: calls whose arguments are conditions or values, each of which can be forgotten
FORGETFUL = ("where", "and_", "or_", "values", "by_keys")


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What became of the changes of one module."""

    total: int
    #: what nobody noticed, as a diff or a line that says what was changed
    survivors: Sequence[str] = field(default_factory=list)

    @property
    def killed(self) -> int:
        """How many were noticed."""
        return self.total - len(self.survivors)

    @property
    def share(self) -> float:
        """How many of a hundred were noticed."""
        return 100 * self.killed / self.total if self.total else 100.0


class Workshop:
    """A copy of the project in which anything may be broken, and a Python with mutmut beside this one's packages."""

    def __init__(self, folder: Path) -> None:
        self.copy = folder / "project"
        home = folder / "venv"
        self._bin = home / "bin"
        venv.create(home, with_pip=False)
        site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
        beside = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
        (site / "beside.pth").write_text("\n".join(beside) + "\n", encoding="utf-8")
        (site / "mutants_profile.py").write_text(PROFILE, encoding="utf-8")
        pip: list[str | Path] = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            self._bin / "python",
            "--disable-pip-version-check",
        ]
        subprocess.run([*pip, "install", "--quiet", MUTMUT], check=True)
        self.copy.mkdir()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, self.copy / name)

    def source(self, module: str) -> Path:
        """The file of a module in the copy."""
        return self.copy / "src" / "anaphora" / module

    def mutmut(self, modules: Sequence[str], tests: Sequence[str], children: int) -> dict[str, Tally]:
        """Let mutmut change the functions of these modules."""
        shutil.rmtree(self.copy / "mutants", ignore_errors=True)
        settings = {
            "source_paths": ["src"],
            "only_mutate": [f"src/anaphora/{module}" for module in modules],
            "pytest_add_cli_args": ["-p", "mutants_profile"],
            "pytest_add_cli_args_test_selection": list(tests),
            "timeout_multiplier": [str(SLOWER)],
        }
        lines = [f"{name}=\n    " + "\n    ".join(values) for name, values in settings.items()]
        (self.copy / "setup.cfg").write_text("\n".join(["[mutmut]", *lines, ""]), encoding="utf-8")
        self._run("mutmut", "run", "--max-children", str(children), check=True)
        return {module: self._judged(module) for module in modules}

    def statements(self, module: str, tests: Sequence[str]) -> Tally:
        """Change what stands outside of the functions of a module, and run the tests for each change."""
        path = self.source(module)
        original = path.read_text(encoding="utf-8")
        changes = list(changed(original))
        survivors = []
        try:
            for what, text in changes:
                path.write_text(text, encoding="utf-8")
                show(f"{module}: {what}")
                if self._passes(tests):
                    survivors.append(what)
        finally:
            path.write_text(original, encoding="utf-8")
        return Tally(total=len(changes), survivors=survivors)

    def check(self, tests: Sequence[str]) -> None:
        """Stop unless the tests pass while nothing is broken."""
        if not self._passes(tests):
            sys.exit(f"mutants: {' '.join(tests)}: fails while nothing is broken: mend that first")

    def _passes(self, tests: Sequence[str]) -> bool:
        arguments = ("-x", "-q", "-p", "mutants_profile", *tests)
        try:
            run = self._run("python", "-m", "pytest", *arguments, quiet=True)
        except subprocess.TimeoutExpired:
            return False
        return run.returncode == 0

    def _run(
        self, program: str, *arguments: str, check: bool = False, quiet: bool = False
    ) -> subprocess.CompletedProcess[bytes]:
        surroundings = {**os.environ, "HYPOTHESIS_PROFILE": "mutants", "PYTHONDONTWRITEBYTECODE": "1"}
        if quiet:
            surroundings["PYTHONPATH"] = str(self.copy / "src")
        return subprocess.run(
            [self._bin / program, *arguments],
            cwd=self.copy,
            env=surroundings,
            check=check,
            capture_output=quiet,
            timeout=PATIENCE if quiet else None,
        )

    def _judged(self, module: str) -> Tally:
        meta = self.copy / "mutants" / "src" / "anaphora" / f"{module}.meta"
        codes: dict[str, int | None] = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
        unclear = [name for name, code in codes.items() if code is None]
        if unclear:
            sys.exit(f"mutants: {len(unclear)} changes of {module} were not tried: {unclear[0]}, ...")
        return Tally(total=len(codes), survivors=[self._diff(name) for name, code in codes.items() if code in SURVIVED])

    def _diff(self, name: str) -> str:
        run = subprocess.run(
            [self._bin / "mutmut", "show", name], cwd=self.copy, check=True, capture_output=True, text=True
        )
        lines = run.stdout.splitlines()
        return "\n".join([name, *(line for line in lines if line[:1] in {"-", "+"} and line[:3] not in {"---", "+++"})])


def changed(source: str) -> Iterator[tuple[str, str]]:
    """Every change of a statement outside of functions: in one line what was changed, and the whole source with it."""
    tree = ast.parse(source)
    for statement in outside(tree):
        for node in ast.walk(statement.value or ast.Pass()):
            for change in changes(node):
                before = {name: getattr(node, name) for name in change}
                old = ast.unparse(statement)
                for name, value in change.items():
                    setattr(node, name, value)
                new = ast.unparse(statement)
                if new != old:
                    yield f"line {statement.lineno}: {difference(old, new)}", ast.unparse(tree)
                for name, value in before.items():
                    setattr(node, name, value)


def outside(tree: ast.Module) -> Iterator[ast.Assign | ast.AnnAssign]:
    """The assignments of a module and of its classes."""
    for body in (tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))):
        yield from (statement for statement in body if isinstance(statement, ast.Assign | ast.AnnAssign))


def changes(node: ast.AST) -> Iterator[dict[str, Any]]:
    """Each small change of a node, as the fields that it gets."""
    if isinstance(node, ast.Compare):
        yield from ({"ops": [OPPOSITES[type(op)]()]} for op in node.ops if type(op) in OPPOSITES)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPPOSITES:
        yield {"op": OPPOSITES[type(node.op)]()}
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield {"value": not node.value}
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield from ({"value": node.value + by} for by in (1, -1))
    elif isinstance(node, ast.Name) and node.id in TAKEN_FOR:
        yield {"id": TAKEN_FOR[node.id]}
    elif isinstance(node, ast.JoinedStr):
        for at, part in enumerate(node.values):
            if isinstance(part, ast.FormattedValue):
                yield {"values": [*node.values[:at], ast.Constant("?"), *node.values[at + 1 :]]}
    elif isinstance(node, ast.Tuple) and any(isinstance(part, ast.Compare | ast.Starred) for part in node.elts):
        yield from ({"elts": rest} for rest in without_one(node.elts))
    elif isinstance(node, ast.Dict):
        pairs = without_one(list(zip(node.keys, node.values, strict=True)))
        yield from ({"keys": [k for k, _ in rest], "values": [v for _, v in rest]} for rest in pairs)
    elif isinstance(node, ast.Call):
        yield from call_changes(node)


def call_changes(call: ast.Call) -> Iterator[dict[str, Any]]:
    """A call with an argument forgotten, with `or` for `and`, or left out of its chain of calls."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in FORGETFUL:
        needed = 2 if name == "by_keys" else 0
        yield from ({"args": [*call.args[:needed], *rest]} for rest in without_one(call.args[needed:]))
        yield from ({"keywords": rest} for rest in without_one(call.keywords))
    if name == "by_keys" and isinstance(call.args[1], ast.Tuple):
        keys = call.args[1]
        for rest in without_one(keys.elts):
            yield {"args": [call.args[0], ast.Tuple(elts=rest, ctx=ast.Load()), *call.args[2:]]}
    if isinstance(call.func, ast.Attribute):
        if name in {"and_", "or_"}:
            other = "or_" if name == "and_" else "and_"
            yield {"func": ast.Attribute(value=call.func.value, attr=other, ctx=ast.Load())}
        inner = call.func.value
        if isinstance(inner, ast.Call):
            yield {"func": inner.func, "args": inner.args, "keywords": inner.keywords}


def without_one(parts: Sequence[Any]) -> Iterator[list[Any]]:
    """The parts, once without each of them."""
    return ([*parts[:at], *parts[at + 1 :]] for at in range(len(parts)))


def difference(old: str, new: str) -> str:
    """The words that differ between two lines, with a few of those before them."""
    before, after = old.split(), new.split()
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    (_, i1, _, j1, _), (_, _, i2, _, j2) = changed[0], changed[-1]
    return f"{before[0]} ... {' '.join(before[max(1, i1 - 3) : i2])} -> {' '.join(after[max(1, j1 - 3) : j2])}"


def show(line: str) -> None:
    """Say what is being tried."""
    print(line, flush=True)


def report(found: Iterable[tuple[str, Tally]]) -> int:
    """Print what survived and the figures; 1 when somewhere too much did."""
    reasons: dict[str, dict[str, str]] = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))
    rows = list(found)
    known = dict.fromkeys((name for name, _ in rows), 0)
    for name, tally in rows:
        pieces = reasons.get(name.partition(",")[0], {})
        for survivor in tally.survivors:
            why = next((why for piece, why in pieces.items() if piece in survivor), None)
            known[name] += why is not None
            print(f"\n{name}: nobody noticed{'' if why is None else f', because {why}'}\n{survivor}")
    print(f"\n{'module':<52}{'noticed':>8}{'of':>6}{'%':>8}{'explained':>11}{'not':>5}")
    for name, tally in rows:
        rest = len(tally.survivors) - known[name]
        print(f"{name:<52}{tally.killed:>8}{tally.total:>6}{tally.share:>8.1f}{known[name]:>11}{rest:>5}")
    return int(any(tally.share < ENOUGH for _, tally in rows))


def main() -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(description="Break the code on purpose and see whether the tests notice.")
    parser.add_argument("modules", nargs="*", help="parts of the paths of modules; all of them if none is given")
    parser.add_argument("--list", action="store_true", help="the modules that can be broken")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work in this folder and leave it behind")
    parser.add_argument("--children", type=int, default=1, help="how many changes are tried at a time (default: 1)")
    arguments = parser.parse_args()
    chosen = [m for m in TESTS if not arguments.modules or any(part in m for part in arguments.modules)]
    if arguments.list or not chosen:
        print("\n".join(TESTS))
        return int(not chosen)
    with tempfile.TemporaryDirectory(prefix="anaphora-mutants-") as folder:
        return report(judge(Workshop(arguments.keep or Path(folder)), chosen, arguments.children))


def judge(workshop: Workshop, chosen: Sequence[str], children: int) -> Iterator[tuple[str, Tally]]:
    """Break the chosen modules, and say what became of it."""
    for tests in dict.fromkeys(TESTS[module] for module in chosen):
        workshop.check(tests)
        modules = [module for module in chosen if TESTS[module] == tests]
        yield from workshop.mutmut(modules, tests, children).items()
        yield from ((f"{module}, outside of functions", workshop.statements(module, tests)) for module in modules)


if __name__ == "__main__":
    sys.exit(main())
