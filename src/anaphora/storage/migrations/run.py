"""Alembic without an ini file."""

from __future__ import annotations

import threading
from typing import Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

#: Alembic keeps the migration that runs in a global: two threads would write into each other's databases
_ONE_AT_A_TIME: Final = threading.Lock()


def config() -> Config:
    """Where the migrations are."""
    made = Config()
    made.set_main_option("script_location", "anaphora.storage:migrations")
    made.set_main_option("path_separator", "os")
    return made


def upgrade(connection: sa.Connection) -> None:
    """Bring the schema to the newest revision, inside the transaction that the connection is in."""
    made = config()
    made.attributes["connection"] = connection
    with _ONE_AT_A_TIME:
        command.upgrade(made, "head")
