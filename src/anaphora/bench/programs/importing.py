"""Import a file when told to go, as `anaphora import` does."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from anaphora.bench.child import hear, serve, tell
from anaphora.bench.filling import warm_up
from anaphora.bench.setup import plain_settings
from anaphora.bootstrap import Services, open_services
from anaphora.services.importing.formats import read
from anaphora.services.importing.into_log import IntoLog
from anaphora.services.importing.run import import_conversations


async def import_file(services: Services, file: Path) -> tuple[int, float]:
    """How many messages came in, and how long it took, in seconds."""
    started = time.perf_counter()
    report = await import_conversations(
        IntoLog(services.ingest), read(file), default_user="importer", agent="default", tenant="default"
    )
    return report.messages, time.perf_counter() - started


async def _import_when_told(told: Mapping[str, Any]) -> Mapping[str, Any]:
    async with open_services(plain_settings(Path(told["db"]))) as services:
        warm_up(services)
        tell({"ready": True})
        await anyio.to_thread.run_sync(hear)
        messages, seconds = await import_file(services, Path(told["file"]))
    return {"messages": messages, "seconds": seconds}


def work(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Told `db` and `file`; answers `ready`, then `messages` and `seconds`."""
    return anyio.run(_import_when_told, told)


if __name__ == "__main__":
    sys.exit(serve(work))
