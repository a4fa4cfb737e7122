"""A text in the editor of whoever sits there."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from anaphora.errors import InvalidInput

#: where nothing is chosen
_EDITOR: Final = "notepad" if os.name == "nt" else "vi"


def edited(text: str) -> str | None:
    """What becomes of the text in `$VISUAL` or `$EDITOR`; None if it was closed without being saved.

    Raises:
        InvalidInput: the editor cannot be started, or failed.

    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _EDITOR
    with tempfile.TemporaryDirectory(prefix="anaphora-") as folder:
        file = Path(folder) / "notepad.md"
        file.write_text(text, encoding="utf-8")
        # an editor may keep the time that a file had: far from now, so that a save is seen
        os.utime(file, (0, 0))
        try:
            run = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603 -- the user's own choice
        except (OSError, ValueError) as error:
            raise InvalidInput(f"the editor {editor!r} cannot be started ({error}): set EDITOR") from None
        if run.returncode:
            raise InvalidInput(f"the editor {editor!r} failed: nothing was changed")
        return file.read_text(encoding="utf-8") if file.stat().st_mtime else None
