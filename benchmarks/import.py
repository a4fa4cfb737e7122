"""How many messages a second does an import take in?"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path

from _report import report

from anaphora.bootstrap import open_services
from anaphora.services.importing.formats import read
from anaphora.services.importing.run import IntoLog, import_conversations
from anaphora.settings import Settings

CONVERSATIONS, MESSAGES = 50, 400
TEXT = "I would like to plant apple trees behind the shed, but the soil there is heavy and wet in spring."


def write(path: Path) -> None:
    with path.open("w") as file:
        for number in range(CONVERSATIONS):
            messages = [
                {"role": "user" if at % 2 == 0 else "assistant", "content": f"{number}.{at} {TEXT}"}
                for at in range(MESSAGES)
            ]
            file.write(json.dumps({"id": f"c{number}", "user": f"u{number % 10}", "messages": messages}) + "\n")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "import.jsonl"
        write(source)
        async with open_services(Settings(db=str(Path(folder) / "bench.db"), embedder="none")) as services:
            started = time.perf_counter()
            result = await import_conversations(
                IntoLog(services.ingest), read(source), default_user="u", agent="default", tenant="default"
            )
            elapsed = time.perf_counter() - started
    report("import", {"messages": result.messages, "messages_per_second": round(result.messages / elapsed)})


asyncio.run(main())
