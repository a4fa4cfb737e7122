"""`anaphora demo`: the shipped conversation through the memory, with what a person needs to see."""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console

from anaphora.cli.demo_view import WIDEST, LineView, LiveView, Outcome, View, closing
from anaphora.cli.options import AsJson, Strategy
from anaphora.cli.output import emit
from anaphora.demo import plot
from anaphora.demo.replay import Finding, Replay
from anaphora.demo.script import Script, load
from anaphora.domain.jobs import JobState
from anaphora.errors import ConfigError
from anaphora.memory import Memory
from anaphora.settings import Settings
from anaphora.settings import load as load_settings

#: seconds between two turns with --live
PACE = 0.25

WITHOUT_MODEL = (
    "No language model: summaries are chosen sentences (extractive), so most of the past is declared elided "
    "and found by search.\nPlug one in: --model ollama:llama3.2, or ANAPHORA_MODEL=openai:gpt-4.1-mini."
)


def demo(
    *,
    db: Annotated[
        str | None, typer.Option("--db", metavar="PATH", help="Keep the database.", show_default="a temporary folder")
    ] = None,
    strategy: Strategy = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Writes the summaries, such as ollama:llama3.2.")
    ] = None,
    svg: Annotated[Path, typer.Option("--svg", metavar="PATH", help="Where the picture goes.")] = Path(
        "anaphora-demo.svg"
    ),
    turns: Annotated[
        int | None, typer.Option("--turns", metavar="N", help="Only the first turns.", show_default="all")
    ] = None,
    live: Annotated[bool, typer.Option("--live/--fast", help="At a pace for reading, or as fast as it goes.")] = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="Afterwards show it on the review page, on this machine alone.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take a long conversation through the memory, turn by turn, and show what it costs with and without.

    At every turn the account of the conversation is checked: each message is summarised, verbatim or declared elided.
    """
    script = load() if turns is None else load().cut(turns)
    if not svg.absolute().parent.is_dir():
        raise ConfigError(f"{svg}: there is no such folder for the picture")
    if svg.is_dir():
        raise ConfigError(f"{svg}: that is a folder: name a file for the picture")
    console = Console(highlight=False)
    with _database(db) as path:
        settings = load_settings(db=path, strategy=strategy, model=model)
        summariser = settings.memory_model_for().model
        if not as_json:
            _introduce(console, script, summariser)
        view = None if as_json else (LiveView if console.is_terminal else LineView)(console, script)
        outcome = anyio.run(_run, settings, script, view, PACE if live else 0.0, svg, db)
        _write(outcome)
        if as_json:
            emit(to_json(outcome), as_given=True)
        else:
            console.print(closing(outcome, min(console.width, WIDEST)))
        if not outcome.ok:
            raise typer.Exit(1)
        if serve:
            # imported here: the demo itself needs nothing of a server
            serving = importlib.import_module("anaphora.cli.serving")
            serving.serve_to(settings, script.user)


@contextmanager
def _database(db: str | None) -> Iterator[str]:
    if db is not None:
        yield db
        return
    with tempfile.TemporaryDirectory(prefix="anaphora-demo-") as folder:
        yield str(Path(folder) / "demo.db")


def _introduce(console: Console, script: Script, model: str | None) -> None:
    console.print(f"[bold]{script.title}[/bold]: {script.description}", soft_wrap=not console.is_terminal)
    if model is None:
        console.print(WITHOUT_MODEL, style="yellow", markup=False, soft_wrap=not console.is_terminal)
    else:
        console.print(f"Summaries are written by {model}.", markup=False)
    console.print()


async def _run(
    settings: Settings, script: Script, view: View | None, pause: float, svg: Path, db: str | None
) -> Outcome:
    started = time.monotonic()
    async with Memory.open(settings=settings) as memory:
        replay = Replay(memory, script, pause=pause)
        with view or nullcontext():
            async for step in replay.run():
                if view is not None:
                    view.step(step)
        return Outcome(
            script=script,
            strategy=settings.strategy,
            model=settings.memory_model_for().model,
            totals=replay.totals(),
            measures=replay.measures,
            versions=replay.versions,
            findings=await replay.ask(),
            svg=svg,
            db=db,
            waiting=await _waiting(memory),
            seconds=time.monotonic() - started,
        )


async def _waiting(memory: Memory) -> str | None:
    """Why background work did not get done, if it did not."""
    jobs = await memory.jobs.list(states=[JobState.QUEUED, JobState.RUNNING, JobState.FAILED])
    reasons = [job.reason for job in jobs if job.reason]
    return f"{len(reasons)} summaries: {reasons[0]}" if reasons else None


def _write(outcome: Outcome) -> None:
    by = f"summaries by {outcome.model}" if outcome.model else "extractive summaries, no model"
    picture = plot.svg(outcome.measures, outcome.totals, title=outcome.script.title, note=by)
    try:
        outcome.svg.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{outcome.svg}: the picture cannot be written: {error.strerror}") from None


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Everything that the run measured, as JSON types."""
    return {
        "title": outcome.script.title,
        "user": outcome.script.user,
        "strategy": outcome.strategy,
        "model": outcome.model,
        "ok": outcome.ok,
        "totals": outcome.totals.to_dict(),
        "turns": [asdict(measure) for measure in outcome.measures],
        "versions": [asdict(version) for version in outcome.versions],
        "questions": [_found(finding) for finding in outcome.findings],
        "waiting": outcome.waiting,
        "svg": str(outcome.svg),
        "db": outcome.db,
        "seconds": round(outcome.seconds, 3),
    }


def _found(finding: Finding) -> dict[str, Any]:
    question = finding.question
    return {
        "kind": question.kind,
        "question": question.question,
        "answer": question.answer,
        "search": question.search,
        "rank": finding.rank,
        "found": [
            {"session": session, "seq": m.seq, "created_at": m.created_at.isoformat(), "content": m.content}
            for session, m in finding.found
        ],
    }
