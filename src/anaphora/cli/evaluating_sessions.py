"""`anaphora eval sessions`: whole sessions, end to end, and which points of them hold."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any

import anyio
import typer

from anaphora.bootstrap.providers import embedder_from
from anaphora.cli.options import AsJson
from anaphora.cli.output import emit, note, plural, say, table
from anaphora.cli.running import settings_from
from anaphora.cli.scratch import scratch
from anaphora.errors import InvalidInput
from anaphora.evals.sessions.run import chosen, evaluate
from anaphora.settings import Settings


class Remembers(Enum):
    """Whether there is a memory."""

    ON = "on"
    OFF = "off"


Db = Annotated[
    str | None,
    typer.Option("--db", metavar="PATH", help="The database: a file or postgresql://; else a temporary file."),
]
Model = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="A real model, such as openai:gpt-4.1-mini.")
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="Where the model is, if not at its provider.")
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="WORD", help="Only scenarios with this word in their names; may be repeated."),
]
WithMemory = Annotated[Remembers, typer.Option("--memory", help="`off`: each question is asked alone.")]
NoEmbedder = Annotated[bool, typer.Option("--no-embedder", help="Find by words alone.")]


def sessions(
    *,
    model: Model = None,
    base_url: BaseUrl = None,
    only: Only = None,
    memory: WithMemory = Remembers.ON,
    no_embedder: NoEmbedder = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Play test sessions from the first word to the last, and check what must hold at each point of them.

    A scripted model answers, which knows nothing but its prompt; --model names a real one. The exit code is 1 where a
    point fails. The database is a temporary file, unless --db names one.
    """
    if base_url is not None and model is None:
        raise InvalidInput("--base-url needs --model: the scripted model is at no URL")
    scenarios = chosen(only or ())
    with scratch(db) as place:
        settings = _settings(settings_from(place), model, base_url, no_embedder=no_embedder)
        embedder = embedder_from(settings)
        if embedder is None and settings.embedder != "none":
            note("there is no embedder: words alone are compared; `anaphora models pull` fetches it")
        remembers = memory is Remembers.ON

        async def work() -> dict[str, Any]:
            return await evaluate(settings, embedder=embedder, tell=note, remembers=remembers, scenarios=scenarios)

        document = anyio.run(work)
    if as_json:
        emit(document, as_given=True)
    else:
        _print(document)
    if document["totals"]["failed"]:
        raise typer.Exit(1)


def _settings(settings: Settings, model: str | None, base_url: str | None, *, no_embedder: bool) -> Settings:
    """Those of the user, with topics and facts after each turn; a model is asked only if one is named here."""
    changes: dict[str, Any] = {
        "model": model,
        "base_url": base_url or settings.base_url,
        "memory_model": None,
        "tasks": {},
        "agents": {},
        "instructions": None,
        "strategy": "topics",
        "extraction": "turn",
        "rerank_provider": "",
        "rerank_model": None,
    }
    return settings.model_copy(update=changes | ({"embedder": "none"} if no_embedder else {}))


def _print(document: Mapping[str, Any]) -> None:
    rows = [
        (each["scenario"], each["name"], "holds" if each["ok"] else "FAILS", each["detail"])
        for each in document["points"]
    ]
    table(("scenario", "point", "result", "what is wrong"), rows, empty="")
    totals = document["totals"]
    say()
    say(
        f"{plural(totals['points'], 'point')} in {plural(len(document['scenarios']), 'scenario')}: "
        f"{totals['ok']} hold, {totals['failed']} fail"
    )
    say(f"model: {document['model']}; embedder: {document['embedder'] or 'none'}; memory: {document['memory']}")
