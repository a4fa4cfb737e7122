"""`anaphora export`: everything that is remembered, as JSON lines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import mkstemp
from typing import IO, Annotated

import typer

from anaphora.bootstrap import Services
from anaphora.cli.options import AnyAgent, AnySession, AnyUser, AsJson, Db, Tenant
from anaphora.cli.output import emit, note, plural, say
from anaphora.cli.running import Access, database, run, settings_from
from anaphora.domain import records
from anaphora.errors import InvalidInput, NotFound
from anaphora.ports.exchange import Scope
from anaphora.services.tally import Tally

_STDOUT = Path("-")


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; - is standard output.")] = _STDOUT,
    *,
    user: AnyUser = None,
    agent: AnyAgent = None,
    session: AnySession = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Write the JSON Schema of the lines instead.")] = False,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Write everything that is remembered: messages with all their versions, summaries, and who read how far.

    One JSON object a line; `anaphora import` puts it back, here or elsewhere. The file appears when it is whole, and
    only its owner can read it.
    """
    if schema:
        with _written(file, force=force) as out:
            out.write(f"{json.dumps(records.schema(), ensure_ascii=False, indent=2)}\n".encode())
        return
    settings = settings_from(db, tenant=tenant)
    place = database(settings)
    if any(_is_same(file, Path(f"{place}{suffix}")) for suffix in ("", "-wal", "-shm")):
        raise InvalidInput(f"{file} is the database itself: choose another name")
    scope = Scope(tenant=settings.tenant, user=user, agent=agent, session=session)

    async def work(services: Services) -> Tally:
        if scope != Scope(tenant=scope.tenant) and not await services.export.finds(scope):
            raise NotFound("there is no such conversation: `anaphora sessions list` shows those that are there")
        tally = Tally()
        with _written(file, force=force) as out:
            async with aclosing(services.export.lines(scope, tally=tally)) as lines:
                async for line in lines:
                    out.write(line.encode())
        return tally

    tally = run(work, settings, Access.READ)
    told = (
        f"Exported {plural(tally.messages, 'message')} and {plural(tally.summaries, 'version')} of summaries in "
        f"{plural(tally.sessions, 'session')} of {plural(tally.users, 'user')}."
    )
    if file == _STDOUT:
        note(told)
    elif as_json:
        emit({"file": str(file), **asdict(tally)}, as_given=True)
    else:
        say(told)


@contextmanager
def _written(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Standard output; or a new file, which has its name when it is whole and on disk."""
    if path == _STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():
        raise InvalidInput(f"{path} is no regular file: choose another name")
    if path.exists() and not force:
        raise InvalidInput(f"{path} exists: choose another name, or --force to replace it")
    descriptor, name = mkstemp(prefix=".export-", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
