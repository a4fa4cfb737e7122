"""Disks that are too small, for one process only."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

MIB = 1 << 20
_BALLAST = 24 * MIB
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_ALL, _PRIVATE = 0x4000, 0x40000

#: gives what makes room
Small = AbstractContextManager[Callable[[], None]]


@contextmanager
def small_disk(folder: Path, room: int) -> Iterator[Callable[[], None]]:
    """A disk of its own under the folder, with so many bytes left.

    It is there for this process only, and goes with it. The process must have no other thread yet.

    Raises:
        OSError: this system does not let us.

    """
    user, group = os.getuid(), os.getgid()
    _system("unshare", _NEW_MOUNTS | (_NEW_USER if user else 0))
    if user:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    _system("mount", b"none", b"/", None, _ALL | _PRIVATE, None)
    _system("mount", b"tmpfs", bytes(folder), b"tmpfs", 0, b"size=%d" % (room + _BALLAST))
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(_BALLAST))
    yield ballast.unlink


@contextmanager
def small_files(_folder: Path, room: int) -> Iterator[Callable[[], None]]:
    """No file may grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)


#: by what is too small
SMALL: Mapping[str, Callable[[Path, int], Small]] = {"disk": small_disk, "files": small_files}


def _system(name: str, *words: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*words) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
