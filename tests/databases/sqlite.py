"""New databases in files: the empty one is made once by the migrations, and copied."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from anaphora.storage.migrations import run
from anaphora.storage.sqlite.engine import Database, Durability


def fresh(path: Path) -> Path:
    """The path of a database; one that nobody has opened yet, if there was none.

    Making the schema takes longer than most tests do. What is the store's own, its secret, is made when it is opened.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_template(), path)
        path.chmod(0o600)
    return path


@cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="anaphora-template-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    database = Database(path=folder / "empty.db", durability=Durability.NORMAL, read_only=False)
    connection = database.writer(timeout=5)
    try:
        with connection.begin():
            run.upgrade(connection)
    finally:
        connection.close()
    return folder / "empty.db"
