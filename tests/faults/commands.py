"""Programs that are the command line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.faults.disks import SMALL
from tests.faults.programs import LEASE, Told, note

from anaphora.cli import main

#: the numbers of `settings_for`, as a person would set them
ENVIRONMENT: Mapping[str, str] = {
    "ANAPHORA_EMBEDDER": "none",
    "ANAPHORA_ENCODING": "cl100k_base",
    "ANAPHORA_ROLLING_PAIRS__WINDOW_PAIRS": "1",
    "ANAPHORA_ROLLING_PAIRS__MIN_MESSAGES_FOR_SUMMARY": "4",
    "ANAPHORA_ROLLING_PAIRS__SUMMARISE_AFTER": "2",
    "ANAPHORA_WORKER__LEASE_SECONDS": str(LEASE),
    "ANAPHORA_WORKER__MAX_ATTEMPTS": "2",
    "ANAPHORA_WORKER__BACKOFF_SECONDS": "0",
    "ANAPHORA_WORKER__MAX_BACKOFF_SECONDS": "0",
    "ANAPHORA_WORKER__BATCH_MESSAGES": "4",
    "ANAPHORA_WORKER__REDO_SECONDS": "0",
}


def import_when_full(told: Told) -> None:
    """Import a file where room runs out, and once more when there is room."""
    folder = Path(told.db).parent
    os.environ.update({**ENVIRONMENT, "ANAPHORA_DB": told.db})
    with SMALL[told.small](folder, told.count) as make_room:
        note(f"code {main(told.words)}")
        make_room()
        note(f"code {main(told.words)}")
        shutil.copytree(folder, Path(told.keep) / "room")


def anaphora(told: Told) -> None:
    """One command, in its folder, with its settings in the environment."""
    os.chdir(told.folder or ".")
    os.environ.update({**ENVIRONMENT, "ANAPHORA_DB": told.db, **told.environment})
    raise SystemExit(main(told.words))


PROGRAMS: Mapping[str, Callable[[Told], None]] = {program.__name__: program for program in (anaphora, import_when_full)}
