"""A process that opens a database for writing, and so brings it to the newest revision: as much of that as it is told.

    python -m tests.storage.postgres.upgrading URL [die AT | wait FILE]

It counts the statements from the first on that keeps others away. `die` kills it after that many of them; `wait`
makes it say `waits` before the first that changes the schema, and stand still until the file is there.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from anaphora.bootstrap.maintenance import migrate
from anaphora.settings import Settings

ALONE = "pg_advisory_xact_lock"
CHANGES = ("ALTER", "CREATE", "DROP", "INSERT", "UPDATE", "DELETE")
_PATIENCE = 60.0


class Statements:
    """What was sent since the others were kept away."""

    def __init__(self, what: str, where: str) -> None:
        self.count = 0
        #: those that change the schema
        self.changes = 0
        self._over = False
        self._what = what
        self._where = where

    def before(self, *call: Any) -> None:
        """A statement is about to be sent."""
        statement: str = call[2]
        if self.count and not self._over and statement.lstrip().startswith(CHANGES):
            self.changes += 1
            if self._what == "wait" and self.changes == 1:
                self._stand_still()

    def after(self, *call: Any) -> None:
        """A statement was answered."""
        statement: str = call[2]
        if self._over or not (self.count or ALONE in statement):
            return
        self.count += 1
        if self._what == "die" and self.count == int(self._where):
            print(f"dies after {' '.join(statement.split())[:60]}", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

    def commit(self, *_: Any) -> None:
        """What comes after the upgrade is not part of it."""
        self._over = self.count > 0

    def _stand_still(self) -> None:
        print("waits", flush=True)
        deadline = time.monotonic() + _PATIENCE
        while not Path(self._where).exists() and time.monotonic() < deadline:
            time.sleep(0.01)


def main(url: str, what: str = "", where: str = "") -> None:
    """Migrate, and say between which revisions, with how many statements, and with how many changes."""
    statements = Statements(what, where)
    sa.event.listen(sa.Engine, "before_cursor_execute", statements.before)
    sa.event.listen(sa.Engine, "after_cursor_execute", statements.after)
    sa.event.listen(sa.Engine, "commit", statements.commit)
    before, after = migrate(Settings(db=url, embedder="none", busy_timeout=_PATIENCE))
    print(f"{before} {after} {statements.count} {statements.changes}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
