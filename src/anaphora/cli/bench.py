"""`anaphora bench`: measure, show, keep and compare."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console

from anaphora.bench import tables
from anaphora.bench.compare import cautions, changes
from anaphora.bench.keeping import keep, kept
from anaphora.bench.question import Question
from anaphora.bench.questions import QUESTIONS, chosen
from anaphora.bench.result import Result
from anaphora.bench.setup import Setup
from anaphora.bootstrap.system import SystemClock
from anaphora.cli.options import AsJson
from anaphora.cli.output import emit, note, say, table
from anaphora.cli.running import settings_from
from anaphora.errors import AnaphoraError, ConfigError, InvalidInput, MissingExtra

#: where results go that are measured in a checkout
CHECKOUT = Path("benchmarks")
RESULTS = CHECKOUT / "results"

Say = Callable[[str], None]


def bench(
    questions: Annotated[
        list[str] | None, typer.Argument(metavar="QUESTION", help="What to measure.", show_default="all")
    ] = None,
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only see that it works: sizes too small to say anything about speed.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of what is said in the conversations.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Keep the results here.", show_default="benchmarks/results in a checkout"
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", metavar="DIR", help="Make the databases on this disk.", show_default="a temporary folder"
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="A missed target makes the exit code 1.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only list the questions.")] = False,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="Measure nothing: show the results of a file or folder."),
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--compare", metavar="OLD NEW", help="Measure nothing: ratios of two files or folders."),
    ] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables for a page.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure how fast this version is on this machine, one question after the other.

    A missed target is shown, and is no error. Databases are made in a temporary folder and removed at the end.
    """
    asked = chosen(questions or (tuple(QUESTIONS) if listing else ()))
    show = _shower(as_markdown=as_markdown, as_json=as_json)
    if listing:
        _list(asked, as_json=as_json)
    elif compare is not None:
        _compare(*compare, names={question.name for question in asked}, as_json=as_json)
    elif source is not None:
        names = {question.name for question in asked}
        results = [result for result in kept(source) if not questions or result.question in names]
        show(results)
        _end(results, strict=strict)
    else:
        where = out or (RESULTS if CHECKOUT.is_dir() and not quick else None)
        measuring = _Measuring(quick=quick, seed=seed, out=where, folder=folder, named=bool(questions))
        results = measuring.all(asked, None if as_json or as_markdown else show)
        if as_json or as_markdown:
            show(results)
        if where is None and results:
            note("The results were not kept: --out says where.")
        _end(results, strict=strict, failed=measuring.failed)


class _Measuring:
    """One run of `anaphora bench`."""

    def __init__(self, *, quick: bool, seed: int, out: Path | None, folder: Path | None, named: bool) -> None:
        if folder is not None and not folder.is_dir():
            raise ConfigError(f"{folder}: there is no such folder for the databases")
        self._quick = quick
        self._seed = seed
        self._out = out
        self._folder = folder
        self._named = named
        self._models = settings_from().models_folder()
        self.failed = False

    def all(self, questions: Sequence[Question[Any]], show: Callable[[Sequence[Result]], None] | None) -> list[Result]:
        """The results of those that could be measured, each shown and kept as soon as it is there."""
        results: list[Result] = []
        for question in questions:
            result = self._one(question)
            if result is None:
                continue
            results.append(result)
            if show is not None:
                show([result])
            if self._out is not None:
                note(f"kept in {keep(result, self._out)}")
        return results

    def _one(self, question: Question[Any]) -> Result | None:
        """The result, or None and a line on stderr that says why not."""
        result: Result | None = None
        try:
            with _status(question.name) as tell, self._place() as place:
                setup = Setup(
                    folder=place, seed=self._seed, environment=dict(os.environ), models=self._models, say=tell
                )
                result = anyio.run(self._ask, question, setup)
        except* MissingExtra as group:
            # who asked for everything gets everything that can be had
            self._complain(question.name, group, failed=self._named)
        except* (AnaphoraError, OSError) as group:
            self._complain(question.name, group, failed=True)
        return result

    async def _ask(self, question: Question[Any], setup: Setup) -> Result:
        return await question.ask(setup, SystemClock(), quick=self._quick)

    @contextmanager
    def _place(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="anaphora-bench-", dir=self._folder) as name:
            yield Path(name)

    def _complain(self, name: str, group: BaseExceptionGroup[Exception], *, failed: bool) -> None:
        self.failed |= failed
        for leaf in _leaves(group):
            note(f"anaphora: {name}: {leaf}" if failed else f"{name}: not measured: {leaf}")


def _shower(*, as_markdown: bool, as_json: bool) -> Callable[[Sequence[Result]], None]:
    """How results are printed."""
    if as_markdown and as_json:
        raise InvalidInput("give either --markdown or --json")
    if as_json:
        return lambda results: emit({"results": [result.to_dict() for result in results]}, as_given=True)
    if as_markdown:
        return lambda results: say(tables.markdown(results))
    return _print


def _print(results: Sequence[Result]) -> None:
    for result in results:
        say(f"{result.question}: {result.asks}")
        _draw(tables.table(result))
        for line in (*result.notes, tables.described(result)):
            say(f"  {line}")
        say()


def _draw(drawn: tables.Table) -> None:
    table(drawn.columns, drawn.rows, empty="nothing to show")


def _list(questions: Sequence[Question[Any]], *, as_json: bool) -> None:
    if as_json:
        emit({"questions": [{"name": question.name, "asks": question.asks} for question in questions]})
    else:
        table(("question", "asks"), [(question.name, question.asks) for question in questions], empty="")


def _compare(old: Path, new: Path, *, names: set[str], as_json: bool) -> None:
    before, after = ([result for result in kept(path) if result.question in names] for path in (old, new))
    found, careful = list(changes(before, after)), list(cautions(before, after))
    if as_json:
        emit({"changes": [change.to_dict() for change in found], "cautions": careful}, as_given=True)
        return
    _draw(tables.comparison(found))
    for caution in careful:
        note(caution)


def _end(results: Sequence[Result], *, strict: bool, failed: bool = False) -> None:
    missed = [
        f"{result.question}: {figure.name} {figure.case}".strip() for result in results for figure in result.missed
    ]
    for line in missed:
        note(f"target missed: {line}")
    if failed or (strict and missed):
        raise typer.Exit(1)


def _leaves(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for inner in group.exceptions:
        if isinstance(inner, BaseExceptionGroup):
            yield from _leaves(inner)
        else:
            yield inner


@contextmanager
def _status(name: str) -> Iterator[Say]:
    """What is going on, on stderr: in place where somebody looks at it, else one line a question."""
    if not sys.stderr.isatty():
        note(f"{name} ...")
        yield lambda _: None
        return
    with Console(stderr=True).status(name) as status:
        yield lambda text: status.update(f"{name}: {text}")
