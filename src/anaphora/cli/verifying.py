"""`anaphora verify-erasure`: see for oneself that nothing is left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from anaphora.bootstrap.residue import verify_erasure
from anaphora.bootstrap.stores import shown
from anaphora.cli.options import AsJson, Db
from anaphora.cli.output import emit, note, plural, table
from anaphora.cli.running import database, settings_from
from anaphora.errors import InvalidInput, NotFound
from anaphora.storage.residue import Residue


def verify(
    *,
    canary: Annotated[
        list[str] | None, typer.Option("--canary", metavar="TEXT", help="A text that must not be found; repeatable.")
    ] = None,
    canary_file: Annotated[
        Path | None,
        typer.Option("--canary-file", metavar="FILE", help="A file with one such text a line, which no shell keeps."),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Look for erased texts in every table, every index and every byte of the file. Nothing is changed.

    The exit code is 1 if one is found, and 2 if it cannot be looked for.

    On a server rows are searched, not its log, its backups or its dead rows.
    """
    wanted = [*(canary or []), *_lines(canary_file)]
    settings = settings_from(db)
    try:
        database(settings)
    except NotFound as error:
        # 1 would say that something was found
        raise InvalidInput(str(error)) from None
    found = verify_erasure(settings, wanted)
    if as_json:
        emit({"clean": not found.residues, "bytes": found.bytes_too, "found": [_json(one) for one in found.residues]})
    else:
        looked = "tables, indexes and bytes" if found.bytes_too else "tables"
        table(
            ("text", "place", "as", "count", "first"),
            ((one.canary, one.place, one.form, one.count, ", ".join(map(str, one.at))) for one in found.residues),
            empty=f"Nothing was found in {looked} of {shown(settings.db)}.",
        )
        if not found.bytes_too:
            note("A server also keeps its write-ahead log, its backups and, until it is vacuumed, dead rows.")
        if found.residues:
            note(f"{plural(len({one.canary for one in found.residues}), 'text')} found.")
    if found.residues:
        raise typer.Exit(1)


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InvalidInput(f"{path}: expected UTF-8 text, one text to look for a line") from None
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or type(error).__name__}") from None


def _json(one: Residue) -> dict[str, Any]:
    return {"canary": one.canary, "place": one.place, "form": one.form, "count": one.count, "at": list(one.at)}
