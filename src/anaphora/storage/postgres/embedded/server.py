"""One folder's server: opened, shared, stopped by whoever leaves last."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from anaphora.errors import ConfigError
from anaphora.storage.postgres.embedded import folders, programs
from anaphora.storage.postgres.embedded.postmaster import Postmaster, StopMode

_DEFAULTS = MappingProxyType(
    {
        "max_connections": "100",
        "shared_buffers": "128MB",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_checkpoints": "off",
        # what people said must not reach the log: no statement that failed, and no detail of why
        "log_min_messages": "log",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
    }
)
_DURABILITY = ("fsync", "full_page_writes", "synchronous_commit")
_PORT = "5432"
#: what the safety of the folder and finding the server again hang on
_FIXED = MappingProxyType(
    {"listen_addresses": "", "port": _PORT, "unix_socket_permissions": "0700", "logging_collector": "off"}
)
_RESERVED = frozenset(
    {*_FIXED, "cluster_name", "config_file", "data_directory", "external_pid_file", "hba_file", "ident_file"}
    | {"log_destination", "unix_socket_directories", "unix_socket_group"}
)
_SETTING = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z0-9_]+)?", re.ASCII)
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The server of one folder, shared by all who opened it; its address stays the same over stops and starts.

    Every method but `dsn` blocks, and raises `StoreError` when the folder or its server cannot be used.
    """

    #: holds the data, the log, the locks, and the socket unless its path would be too long
    folder: Path
    _postmaster: Postmaster = field(repr=False)

    def dsn(self, database: str = "postgres", *, user: str = "postgres") -> str:
        """The address of a database, as libpq, asyncpg and SQLAlchemy read it; there is no secret in it."""
        where = f"host={quote(str(self._postmaster.sockets), safe='')}&port={_PORT}"
        return f"postgresql://{quote(user, safe='')}@/{quote(database, safe='')}?{where}"

    def is_running(self) -> bool:
        """Whether the server lives; one that is starting or stopping does."""
        return self._postmaster.found() is not None

    def start(self) -> None:
        """Start the server again, unless it runs; returns when it is ready.

        Raises `StoreError` with its last word when it does not start, `StoreBusy` when that takes over 60 s.
        """
        with self._turn():
            self._postmaster.bring_up(alone=False)

    def stop(self, *, mode: StopMode = "fast") -> None:
        """Stop the server, for all who use it; nothing happens when it does not run.

        `fast` ends all connections and tidies up, `immediate` leaves that to the next start. Raises `StoreBusy` when
        that takes over 60 s.
        """
        with self._turn():
            self._postmaster.halt(mode)

    def kill(self) -> None:
        """Kill the server and all its processes: what its clients see of a power cut."""
        with self._turn():
            self._postmaster.kill()

    def _turn(self) -> AbstractContextManager[None]:
        return folders.turn(self.folder, self._postmaster.account)


@contextmanager
def embedded(folder: Path, *, durable: bool = True, settings: Mapping[str, str] = _NONE) -> Iterator[Server]:
    """A running PostgreSQL with pgvector whose data live in `folder`; it stops when the last of its users leaves.

    It blocks, for about a second with a new folder: in async code, enter and leave it in a thread.

    Args:
        folder: a new or empty one, or one opened so before; its parent must exist. Only its owner can read it.
        durable: what was committed survives a power cut. Without it, it survives the death of the processes only,
            and a power cut may cost the whole database: for tests.
        settings: settings of the server by name, over the defaults (max_connections 100, shared_buffers 128MB).
            Who comes while others are here must ask for the same, and for the same durability.

    Raises:
        MissingExtra: no wheel with the programs is installed.
        ConfigError: a setting that cannot be set, a folder that the server may not enter, or Windows.
        StoreError: the folder cannot be used, or the server did not start; `StoreBusy` when that takes over 60 s:
            it goes on, and may be ready later.

    """
    if sys.platform == "win32":
        raise ConfigError("PostgreSQL without a server runs on Linux and macOS: here, give the address of a server")
    found = programs.find()
    chosen = _chosen(settings, durable=durable)
    with folders.told(folder):
        folder = folder.resolve()
        account = folders.account_for(folder)
        folders.prepare(folder, account)
    with folders.used(folder, account) as is_alone:
        with folders.turn(folder, account), folders.told(folder):
            found = programs.within_reach(found, account, folder)
            if not (folder / folders.DATA).exists():
                programs.make_data(folder, found, account, durable=durable)
            sockets = folders.socket_folder(folder, account)
        all_settings = (*chosen, f"unix_socket_directories={sockets}")
        postmaster = Postmaster(folder=folder, sockets=sockets, programs=found, account=account, settings=all_settings)
        try:
            with folders.turn(folder, account):
                postmaster.bring_up(alone=is_alone())
            yield Server(folder=folder, _postmaster=postmaster)
        finally:
            with folders.turn(folder, account):
                if is_alone() and postmaster.end():
                    folders.forget_socket(folder, account)


def _chosen(settings: Mapping[str, str], *, durable: bool) -> tuple[str, ...]:
    """All settings but where the socket is, each as `name=value`; raises `ConfigError` for one that cannot be set."""
    given = {name.lower(): value for name, value in settings.items()}
    for name, value in given.items():
        if _SETTING.fullmatch(name) is None or name in _RESERVED or "\0" in value:
            raise ConfigError(f"the setting {name!r} of PostgreSQL cannot be set here: leave it out")
    durability = dict.fromkeys(_DURABILITY, "on" if durable else "off")
    return tuple(f"{name}={value}" for name, value in sorted({**_DEFAULTS, **durability, **given, **_FIXED}.items()))
