"""Forks the clients and the workers of a storm: one that is killed is replaced in no time.

Run as `python -m tests.chaos.zygote`; `{"run": PROGRAM, "out": PATH, "told": {...}}` starts one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import anyio
from tests.chaos.client import client
from tests.chaos.told import Told
from tests.forking import forked, redirect, serve

from anaphora.cli import main

_LATE = (
    "anaphora.cli.operating",
    "anaphora.cli.working",
    "anaphora.models.chat",
    "anaphora.storage.migrations.run",
    "anaphora.storage.postgres.store",
    "anaphora.storage.postgres.upkeep",
    "anyio._backends._asyncio",
    "openai.resources.chat.completions",
    "sqlalchemy.dialects.postgresql",
)


def command(told: Told) -> int:
    """One command of ours."""
    os.environ.update(told.environment)
    return main(told.words)


def start(asked: Mapping[str, Any]) -> int:
    """A client, or a command."""
    told = Told(**asked["told"])

    def body() -> int:
        redirect(asked["out"], asked["out"])
        if asked["run"] != "client":
            return command(told)
        anyio.run(client, told)
        return 0

    return forked(body)


if __name__ == "__main__":
    serve(_LATE, start)
