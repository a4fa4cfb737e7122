"""Alembic without an ini file."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import command
from alembic.config import Config


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
    command.upgrade(made, "head")
