"""Importing Anaphora, or asking it for help, touches nothing: no network, no file, no heavy package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

PROBE = """
import json, os, sys
seen = []
LOUD = {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen",
        "os.system", "os.mkdir", "os.rename", "os.remove", "sqlite3.connect"}
def watch(event, args):
    if event in LOUD:
        seen.append(f"{event} {args!r}")
    elif event == "open" and isinstance(args[0], str) and not args[0].startswith("/dev/"):
        if isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            seen.append(f"open for writing {args[0]!r}")
sys.addaudithook(watch)
"""
REPORT = """
print(json.dumps({"seen": seen, "modules": sorted(sys.modules)}), file=sys.stderr)
"""
IMPORT = "import anaphora"
HELP = """
from anaphora.cli import main
sys.argv = ["anaphora", "--help"]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""
HEAVY = frozenset({"alembic", "fastapi", "numpy", "onnxruntime", "openai", "pydantic_ai", "tokenizers", "uvicorn"})


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """What a fresh interpreter did while it ran some lines."""

    stdout: str
    seen: list[str]
    modules: set[str]
    files: list[str]


def run(lines: str, *, home: Path) -> Quiet:
    """Run `lines` in a fresh interpreter whose home and working folder is `home`."""
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "error",
    }
    command = [sys.executable, "-c", PROBE + lines + REPORT]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stderr.splitlines()[-1])
    files = [path.relative_to(home).as_posix() for path in home.rglob("*")]
    return Quiet(stdout=done.stdout, seen=report["seen"], modules=set(report["modules"]), files=files)


@pytest.mark.parametrize("lines", [IMPORT, HELP], ids=["import", "help"])
def test_it_writes_nothing_and_calls_nobody(lines: str, tmp_path: Path) -> None:
    quiet = run(lines, home=tmp_path)
    assert (quiet.seen, quiet.files) == ([], [])


@pytest.mark.parametrize(
    ("lines", "heavy"), [(IMPORT, HEAVY | {"rich", "typer"}), (HELP, HEAVY)], ids=["import", "help"]
)
def test_it_loads_no_heavy_package(lines: str, heavy: frozenset[str], tmp_path: Path) -> None:
    assert run(lines, home=tmp_path).modules & heavy == set()


def test_importing_prints_nothing(tmp_path: Path) -> None:
    assert run(IMPORT, home=tmp_path).stdout == ""


def test_help_names_the_program(tmp_path: Path) -> None:
    assert "anaphora" in run(HELP, home=tmp_path).stdout


def test_the_probe_sees_a_write_and_a_call(tmp_path: Path) -> None:
    loud = "\nimport pathlib, socket\npathlib.Path('note').write_text('x')\nsocket.getaddrinfo('127.0.0.1', 1)\n"
    quiet = run(loud, home=tmp_path)
    assert quiet.files == ["note"]
    assert [line.split(" ")[0] for line in quiet.seen] == ["open", "socket.getaddrinfo"]
