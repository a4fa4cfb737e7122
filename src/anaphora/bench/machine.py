"""What the figures were measured on: the machine without its name, and the versions of what ran."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable, Mapping
from importlib import metadata

import sqlalchemy as sa

import anaphora


def machine() -> Mapping[str, str | int | float | None]:
    """System, architecture, cores that this process may use, and memory in GiB; None for what cannot be known.

    `load` is how many processes wanted to run in the last minute: more than nothing, and the figures are of a machine
    that had other things to do.
    """
    return {
        "system": platform.system(),
        "arch": platform.machine(),
        "cores": _cores(),
        "memory_gib": _memory(),
        "load": _load(),
    }


def versions(packages: Iterable[str] = ()) -> Mapping[str, str]:
    """The versions of Anaphora and what it stands on, and of the named packages that are installed."""
    found = {
        "anaphora": anaphora.__version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "sqlalchemy": sa.__version__,
    }
    for package in packages:
        version = installed(package)
        if version is not None:
            found[package] = version
    return found


def installed(package: str) -> str | None:
    """The version of an installed package, by its name in the package index; None if it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cores() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 1)
    except (AttributeError, OSError):
        return None


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None
