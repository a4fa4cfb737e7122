"""`anaphora import`: other people's chat files into the log."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from anaphora.bootstrap import Services
from anaphora.cli.options import Agent, AsJson, Db, Strategy, Tenant, named
from anaphora.cli.output import emit, plural, say
from anaphora.cli.running import Access, run, settings_from
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Message, NewMessage, Receipt
from anaphora.errors import InvalidInput
from anaphora.ports.clock import Clock
from anaphora.services.importing import formats
from anaphora.services.importing.exported import verified
from anaphora.services.importing.into_log import IntoLog
from anaphora.services.importing.run import ImportReport, import_conversations
from anaphora.services.importing.run import Progress as Report
from anaphora.services.importing.sources import file_source
from anaphora.settings import Settings


def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON or JSON lines.")],
    *,
    format_name: Annotated[
        str, typer.Option("--format", metavar="NAME", help="auto, openai, sharegpt, locomo or anaphora.")
    ] = "auto",
    user: Annotated[
        str | None,
        typer.Option(
            "--user", metavar="NAME", help="Whose conversations they are, if the file is silent.", callback=named
        ),
    ] = None,
    agent: Agent = None,
    strategy: Strategy = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Import conversations from a file: OpenAI-style, ShareGPT or LoCoMo; or put an export of Anaphora back.

    Importing again appends only what is new; an import that was interrupted goes on where it stopped. No worker runs:
    the summaries are made by `anaphora worker`, or while you chat.
    """
    settings = settings_from(db, tenant=tenant, agent=agent, strategy=strategy)
    if formats.choose(file, format_name) is formats.Format.ANAPHORA:
        if agent is not None or strategy is not None:
            raise InvalidInput("an export says with which agent, and how it is summarised: no --agent, no --strategy")
        _tell(*_restored(file, settings, user), as_json=as_json)
        return
    conversations = formats.read(file, format_name)

    async def work(services: Services) -> tuple[ImportReport, int]:
        with _progress(file) as progress:
            report = await import_conversations(
                _Log(IntoLog(services.ingest), strategy),
                conversations,
                default_user=user,
                agent=settings.agent,
                tenant=settings.tenant,
                progress=progress,
            )
        return report, await services.jobs.live()

    _tell(*run(work, settings, Access.CREATE), as_json=as_json)


def _restored(file: Path, settings: Settings, user: str | None) -> tuple[ImportReport, int]:
    source = file_source(file)
    verified(source)  # nothing is made for a file that is no export

    async def work(services: Services) -> tuple[ImportReport, int]:
        with _progress(file) as progress:
            report = await services.restore.restore(source, tenant=settings.tenant, user=user, progress=progress)
        return report, await services.jobs.live()

    return run(work, settings, Access.CREATE)


def _tell(report: ImportReport, jobs: int, *, as_json: bool) -> None:
    if as_json:
        counts = {
            "conversations": report.conversations,
            "sessions": report.sessions,
            "messages": report.messages,
        }
        if report.erased:
            counts["erased"] = report.erased
        emit(counts, as_given=True)
        return
    held = f" ({plural(report.held, 'message')} already there)" if report.held else ""
    say(
        f"Imported {plural(report.messages, 'message')} of {plural(report.sessions, 'session')} in "
        f"{plural(report.conversations, 'conversation')}{held}."
    )
    if report.erased:
        entries = "entry" if report.erased == 1 else "entries"
        say(f"{report.erased:,} erased {entries} skipped: what was erased here is not brought in again.")
    if jobs:
        say(f"{plural(jobs, 'job')} queued: `anaphora worker` works on them.")


@dataclass(frozen=True, slots=True)
class _Log:
    """The log, where new sessions get the strategy that was asked for."""

    log: IntoLog
    strategy: str | None

    @property
    def clock(self) -> Clock:
        """The time for resting between large appends."""
        return self.log.clock

    async def append(
        self,
        key: SessionKey,
        messages: Sequence[NewMessage],
        *,
        turns: str,
        source: str,
        idempotency_key: str | None,
        marks: Sequence[str],
    ) -> Receipt:
        how: dict[str, Any] = {"idempotency_key": idempotency_key, "marks": marks, "strategy": self.strategy}
        return await self.log.service.append(key, messages, turns=turns, source=source, **how)

    def keyed(self, key: SessionKey, source: str, digest: str) -> str:
        return self.log.keyed(key, source, digest)

    async def imported(self, key: SessionKey, source: str, *, upto: int | None = None) -> Message | None:
        return await self.log.imported(key, source, upto=upto)


@contextmanager
def _progress(file: Path) -> Iterator[Report | None]:
    """A bar on stderr, if somebody looks at it. How much is to come is not known: files are read as they are needed."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[done]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(file.name, total=None, done="")

        def show(report: ImportReport) -> None:
            bar.update(task, done=f"{plural(report.messages, 'message')}, {plural(report.sessions, 'session')}")

        yield show
