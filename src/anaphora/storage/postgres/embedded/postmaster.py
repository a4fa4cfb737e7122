"""The first process of a server: found, started and ended, and never mistaken for another.

Its number stands in `postmaster.pid`. A number says little: a power cut leaves the file behind, and by then the
number may be any other program's, or the server of another folder. So a process is taken for ours only if its
command names our folder and bears our mark; only such a one is ever sent a signal.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from anaphora.errors import StoreBusy, StoreError
from anaphora.storage.postgres.embedded import folders
from anaphora.storage.postgres.embedded.folders import Account, wait_until
from anaphora.storage.postgres.embedded.processes import children_of, command_of
from anaphora.storage.postgres.embedded.programs import Programs, failure, last_word

StopMode = Literal["fast", "immediate"]

#: how long a start or a stop may take, in seconds
PATIENCE: Final = 60.0
_STEP = 0.05
#: how long a dead server may still be seen, and one left while it starts is waited for, in seconds
_MOMENT = 5.0
#: the first of our servers' settings
MARK: Final = "cluster_name=anaphora"
_STATUS_LINE = 7
#: why a start fails that may succeed a moment later: the last processes of a dead server are still leaving
_PASSES = ("lock file", "shared memory block")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A running server of ours."""

    pid: int
    #: it takes connections
    ready: bool
    #: it has the settings that were asked for
    as_asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Postmaster:
    """How the server of one folder is run. Each method belongs into a turn of `folders.turn`."""

    folder: Path
    sockets: Path
    programs: Programs
    account: Account | None
    #: each as `name=value`
    settings: tuple[str, ...]

    @property
    def _data(self) -> Path:
        return self.folder / folders.DATA

    @property
    def _mark(self) -> tuple[str, ...]:
        return ("-D", str(self._data), "-c", MARK)

    @property
    def _options(self) -> tuple[str, ...]:
        return (*self._mark, *(word for setting in self.settings for word in ("-c", setting)))

    def found(self) -> Found | None:
        """The running server of the folder, if any.

        Raises `StoreError` when a server that is not ours may be running there.
        """
        try:
            lines = (self._data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return None
        # PostgreSQL puts a minus before the number of a server that has one client and no socket
        number = lines[0].strip().removeprefix("-") if lines else ""
        pid = int(number) if number.isascii() and number.isdecimal() else 0
        command = command_of(pid) if pid else ""
        if self._is_ours(command):
            ready = len(lines) > _STATUS_LINE and lines[_STATUS_LINE].strip() == "ready"
            return Found(pid=pid, ready=ready, as_asked=command.endswith(" ".join(self._options)))
        is_server = Path(command.partition(" ")[0]).name == "postgres"
        if is_server and (f" -D {self._data}" in command or " -D /" not in command):
            raise StoreError(f"process {pid}, which Anaphora did not start, may be using {self._data}: stop it first")
        return None

    def _is_ours(self, command: str) -> bool:
        return "/postgres " + " ".join(self._mark) in command

    def bring_up(self, *, alone: bool) -> None:
        """Return when a server with our settings is ready; `alone` allows to restart one that has others.

        Raises `StoreError` when it does not start, or has other settings and users; `StoreBusy` when it takes longer
        than `PATIENCE`: it goes on, and may be ready later.
        """
        deadline = time.monotonic() + PATIENCE
        reason = "it is still starting"
        while True:
            found = self.found()
            if found is not None and not found.as_asked:
                if not alone:
                    raise StoreError(f"{self.folder} is in use with other settings: use the same, or close it there")
                self.halt("fast")
            elif found is None:
                reason = self._launch() or reason
            elif found.ready:
                return
            if time.monotonic() > deadline:
                raise StoreBusy(f"PostgreSQL in {self.folder} is not ready ({reason}): try again later")
            time.sleep(_STEP)

    def halt(self, mode: StopMode) -> None:
        """Stop the server, if it runs; raises `StoreBusy` when that takes longer than `PATIENCE`."""
        found = self.found()
        if found is None:
            return
        os.kill(found.pid, signal.SIGINT if mode == "fast" else signal.SIGQUIT)
        if not wait_until(lambda: not self._is_ours(command_of(found.pid)), PATIENCE):
            raise StoreBusy(f"PostgreSQL in {self.folder} is still stopping after {PATIENCE:.0f} s: try again later")

    def end(self) -> bool:
        """Stop the server, and say whether none runs now: one that does not become ready is left to go on."""

        def is_settled() -> bool:
            found = self.found()
            return found is None or found.ready

        if not wait_until(is_settled, _MOMENT):
            return False
        self.halt("fast")
        return True

    def kill(self) -> None:
        """Kill the server and all its processes."""
        found = self.found()
        if found is None:
            return
        # once stopped, it neither starts nor reaps a child: no number in the list can become another process's
        os.kill(found.pid, signal.SIGSTOP)
        doomed = [found.pid, *children_of(found.pid)]
        for pid in doomed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not wait_until(lambda: not any(map(command_of, doomed)), _MOMENT):
            raise StoreBusy(f"killed processes of PostgreSQL in {self.folder} are still there: try again later")

    def _launch(self) -> str | None:
        """Try to start the server; None when it started, or the reason why it did not yet.

        Raises `StoreError` with the reason when trying again would not help.
        """
        if not wait_until(lambda: not self._answers(), _MOMENT):
            raise StoreError(f"{self.folder} is served from another container, or by another path: close it there")
        # whatever process of its user has a number in them by now, the server would take it for a server
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        folders.clear_socket(self.sockets)
        log = self.folder / folders.LOG
        size = log.stat().st_size if log.exists() else 0
        # pg_ctl hands its words to a shell: so the log goes without its path, the options quoted, and the folder of
        # the data, beside being an option, by the environment
        command = [str(self.programs.folder / "pg_ctl"), "start", "--wait", f"--timeout={PATIENCE:.0f}"]
        command += [f"--log={folders.LOG}", f"--options={shlex.join(self._options)}"]
        said = failure(command, data=self._data, account=self.account)
        if said is None or self.found() is not None:
            return None
        reason = _written(log, since=size) or last_word(said)
        if not any(passing in reason for passing in _PASSES):
            raise StoreError(f"PostgreSQL did not start ({reason}): see {log}")
        return reason

    def _answers(self) -> bool:
        """Whether any server listens on the socket, be it one whose process cannot be seen from here."""
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(str(self.sockets / folders.SOCKET_NAME))
            except OSError:
                return False
            return True


def _written(log: Path, *, since: int) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as stream:
        stream.seek(since)
        return last_word(stream.read().decode("utf-8", "replace"))
