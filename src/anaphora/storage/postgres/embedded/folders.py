"""The folder of an embedded server: whose it is, who may go there, where its socket lies, whose turn it is."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anaphora.errors import ConfigError, StoreBusy, StoreError, StoreFull, StoreReadOnly

if sys.platform != "win32":
    import fcntl
    import pwd

DATA: Final = "data"
LOG: Final = "log"
_SOCKET: Final = "socket"
_SOCKET_LINK: Final = "socket-elsewhere"
_TURN: Final = "turn.lock"
_USERS: Final = "users.lock"
_NEW_DATA: Final = "initdb-"
#: a copy of the programs that the server's user can reach
PROGRAMS: Final = "programs-"
_NEW_PROGRAMS: Final = "copying-"
#: the name of the socket, fixed by PostgreSQL for its standard port
SOCKET_NAME: Final = ".s.PGSQL.5432"
#: Where a socket may lie: with its name it must fit into 103 bytes (macOS; Linux takes 107), and clients split the
#: folder at commas and colons.
_FIT_FOR_A_SOCKET = re.compile(r"/[\w./-]{1,88}", re.ASCII)
_STEP = 0.02
#: longer than making and starting a server may take, in seconds
_TURN_PATIENCE = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user that the server runs as, when that is not the user of this process."""

    name: str
    uid: int
    gid: int


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether `condition` came to hold within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_STEP)
    return True


def account_for(folder: Path) -> Account | None:
    """Who runs the server of `folder`: None for this process's own user, which is not root.

    Raises `ConfigError` when root finds nobody to run it.
    """
    if os.geteuid() != 0:
        return None
    owner = folder.stat().st_uid if folder.exists() else 0
    try:
        entry = pwd.getpwuid(owner) if owner else pwd.getpwnam("nobody")
    except KeyError:
        who = f"user {owner}, the owner of {folder}," if owner else "user 'nobody'"
        raise ConfigError(f"PostgreSQL refuses to run as root, and {who} has no account: run as another user") from None
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)


def closed_at(path: Path, account: Account | None) -> Path | None:
    """The first folder on the way into `path` that the server's user may not enter."""
    for folder in (*reversed(path.parents), path):
        if folder.exists() and not _may_enter(folder, account):
            return folder
    return None


def _may_enter(folder: Path, account: Account | None) -> bool:
    if account is None:
        return os.access(folder, os.X_OK)
    is_now = folder.stat()
    if is_now.st_uid == account.uid:
        return bool(is_now.st_mode & stat.S_IXUSR)
    return bool(is_now.st_mode & (stat.S_IXGRP if is_now.st_gid == account.gid else stat.S_IXOTH))


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """Refusals of the file system leave this block as our errors."""
    try:
        yield
    except PermissionError as error:
        raise StoreReadOnly(f"{error.filename or folder} is not this user's: check its owner and permissions") from None
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StoreFull(f"no room left for {folder}: free some space, then try again") from error
        raise StoreError(f"{error.filename or folder} cannot be used for PostgreSQL: {error.strerror}") from error


def prepare(folder: Path, account: Account | None) -> None:
    """Make `folder` the server's own, unless it is.

    Raises `StoreError` when it holds other things or its parent is missing, `ConfigError` when the server could not
    reach it.
    """
    closed = closed_at(folder.parent, account)
    if closed is not None:
        raise ConfigError(f"{name_of(account)} runs PostgreSQL and may not enter {closed}: choose another folder")
    if not folder.parent.is_dir():
        raise StoreError(f"the folder {folder.parent} does not exist: make it first")
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file: give the path of a folder")
    folder.mkdir(mode=0o700, exist_ok=True)
    names = {path.name for path in folder.iterdir()}
    if names and names.isdisjoint({_TURN, _USERS}):
        raise StoreError(f"{folder} holds other things than a database: give the path of a new or empty folder")
    give(folder, account)
    folder.chmod(0o700)


def name_of(account: Account | None) -> str:
    """What to call the server's user in messages."""
    return f"user {account.name!r}" if account else "this user"


def give(path: Path, account: Account | None) -> None:
    """Make the server's user the owner of `path`."""
    if account is not None:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def new_data(folder: Path, account: Account | None) -> Path:
    """An empty folder for a new database, beside where it will lie; what earlier attempts left is removed."""
    for leftover in folder.glob(f"{_NEW_DATA}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh = Path(tempfile.mkdtemp(prefix=_NEW_DATA, dir=folder))
    give(fresh, account)
    return fresh


def new_programs(folder: Path) -> Path:
    """An empty folder for a copy of the programs, which everybody may read who may enter `folder`."""
    for leftover in folder.glob(f"{_NEW_PROGRAMS}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh = Path(tempfile.mkdtemp(prefix=_NEW_PROGRAMS, dir=folder))
    fresh.chmod(0o755)
    return fresh


def put_in_place(fresh: Path, folder: Path) -> None:
    """Name the finished database, for good: a power cut leaves either none or all of it."""
    fresh.rename(folder / DATA)
    for changed in (folder, folder.parent):
        descriptor = os.open(changed, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def socket_folder(folder: Path, account: Account | None) -> Path:
    """A folder for the socket that only the server's user may enter: in `folder`, or where its path is short.

    A socket's path has at most about 100 bytes. For a longer one, a folder among the temporary ones is made, and a
    link in `folder` remembers it, so that it stays the same until `forget_socket`.
    """
    near, link = folder / _SOCKET, folder / _SOCKET_LINK
    if link.is_symlink() and _is_private(link.resolve(), account):
        return link.resolve()
    link.unlink(missing_ok=True)
    if _FIT_FOR_A_SOCKET.fullmatch(str(near)):
        near.mkdir(mode=0o700, exist_ok=True)
        give(near, account)
        return near
    for base in (Path(tempfile.gettempdir()).resolve(), Path("/tmp").resolve()):  # noqa: S108 - a folder of its own is made there
        if _FIT_FOR_A_SOCKET.fullmatch(str(base / "anaphora-12345678")) and closed_at(base, account) is None:
            far = Path(tempfile.mkdtemp(prefix="anaphora-", dir=base))
            give(far, account)
            link.symlink_to(far)
            return far
    raise ConfigError(f"no folder is short enough for the socket of {folder}: set TMPDIR to a short path")


def _is_private(folder: Path, account: Account | None) -> bool:
    """Whether `folder` is still the server's: temporary folders may be swept, and their names taken by others."""
    if not folder.is_dir():
        return False
    is_now = folder.stat()
    return is_now.st_uid == (account.uid if account else os.geteuid()) and stat.S_IMODE(is_now.st_mode) == 0o700


def clear_socket(sockets: Path) -> None:
    """Remove what a dead server left of its socket."""
    for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
        (sockets / name).unlink(missing_ok=True)


def forget_socket(folder: Path, account: Account | None) -> None:
    """Remove the temporary folder that `socket_folder` made, if it did; no server may run."""
    link = folder / _SOCKET_LINK
    if link.is_symlink():
        far = link.resolve()
        link.unlink()
        if _is_private(far, account):
            clear_socket(far)
            with suppress(OSError):
                far.rmdir()


@contextmanager
def turn(folder: Path, account: Account | None) -> Iterator[None]:
    """The only one who looks at, starts or stops the server of `folder`, in any process.

    Refusals of the file system leave this block as our errors; `StoreBusy` when it is never our turn.
    """
    with told(folder), _opened(folder / _TURN, account) as descriptor:
        if not wait_until(lambda: _locked(descriptor), _TURN_PATIENCE):
            raise StoreBusy(f"another process has been starting or stopping PostgreSQL in {folder} for too long")
        yield


@contextmanager
def used(folder: Path, account: Account | None) -> Iterator[Callable[[], bool]]:
    """Be a user of the server of `folder`; gives a function that tells, in one's turn, whether nobody else is.

    Who comes after that function was asked waits for the turn, and finds what was made of the answer.
    """
    with _opened(folder / _USERS, account) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_SH)

        def is_alone() -> bool:
            alone = _locked(descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            return alone

        yield is_alone


@contextmanager
def _opened(path: Path, account: Account | None) -> Iterator[int]:
    """A lock file, made if it is missing; closing it drops the lock."""
    with told(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if account is not None:
            os.fchown(descriptor, account.uid, account.gid)
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Whether the lock is now held alone; if not, it is not held at all."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
