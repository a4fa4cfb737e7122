"""`anaphora eval compactions`: what each compaction costs and keeps, on the same conversations."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from anaphora.bootstrap.providers import embedder_from
from anaphora.cli.options import AsJson
from anaphora.cli.output import emit, note, plural, say, table
from anaphora.cli.running import settings_from
from anaphora.demo.script import Script, ScriptMessage, load
from anaphora.domain.messages import NewMessage, Role
from anaphora.errors import InvalidInput
from anaphora.evals import locomo
from anaphora.evals.cases import Case
from anaphora.evals.compactions import BUDGETS, STRATEGIES, evaluate, joined
from anaphora.services.importing.values import ImportedConversation
from anaphora.settings import Settings

File = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="LoCoMo, as JSON or JSON lines.", show_default="the conversation of the demo"),
]
Scripted = Annotated[bool, typer.Option("--scripted", help="A model double writes the summaries; else sentences.")]
Only = Annotated[list[str] | None, typer.Option("--only", metavar="NAME", help="Only this strategy; may be repeated.")]
Turns = Annotated[int | None, typer.Option("--turns", metavar="N", help="Of the demo only the first turns.")]
NoEmbedder = Annotated[bool, typer.Option("--no-embedder", help="Find by words alone.")]


def compactions(
    file: File = None,
    *,
    scripted: Scripted = False,
    only: Only = None,
    turns: Turns = None,
    no_embedder: NoEmbedder = False,
    as_json: AsJson = False,
) -> None:
    """Play the same conversations through every compaction: what prompts cost, and where messages are.

    No language model is asked. Everything is made in a temporary folder.
    """
    if file is not None and turns is not None:
        raise InvalidInput("--turns cuts the conversation of the demo: leave it out, or the file")
    strategies = _chosen(only or ())
    cases = [joined(case) for case in locomo.cases(file)] if file is not None else [_demo(turns)]
    settings = _settings(settings_from(), no_embedder=no_embedder)
    embedder = embedder_from(settings)
    if embedder is None and settings.embedder != "none":
        note("there is no embedder: words alone are compared; `anaphora models pull` fetches it")

    async def work(folder: Path) -> dict[str, Any]:
        return await evaluate(
            settings, cases, folder, embedder=embedder, scripted=scripted, strategies=strategies, tell=note
        )

    with tempfile.TemporaryDirectory(prefix="anaphora-eval-") as folder:
        document = anyio.run(work, Path(folder))
    if as_json:
        emit(document, as_given=True)
    else:
        _print(document)


def _chosen(names: Sequence[str]) -> Sequence[str]:
    unknown = [name for name in names if name not in STRATEGIES]
    if unknown:
        raise InvalidInput(f"there is no strategy {unknown[0]!r}: there are {', '.join(STRATEGIES)}")
    return [name for name in STRATEGIES if not names or name in names]


def _settings(settings: Settings, *, no_embedder: bool) -> Settings:
    """Those of the user, but for language models; a database that is thrown away does not wait for its disk."""
    changes: dict[str, Any] = {
        "model": None,
        "memory_model": None,
        "tasks": {},
        "agents": {},
        "rerank_provider": "",
        "rerank_model": None,
        "durability": "normal",
    }
    return settings.model_copy(update=changes | ({"embedder": "none"} if no_embedder else {}))


def _demo(turns: int | None) -> Case:
    """The demo's conversation; its questions are asked by the demo itself."""
    script: Script = load() if turns is None else load().cut(turns)
    sessions = (
        ImportedConversation(
            user=script.user,
            session=session.session,
            started_at=session.messages[0].created_at,
            messages=tuple(map(_message, session.messages)),
            turns="turn",
            where="",
            file="",
            source="demo",
        )
        for session in script.sessions
    )
    return Case(user=script.user, sessions=tuple(sessions), questions=(), where="")


def _message(message: ScriptMessage) -> NewMessage:
    return NewMessage(role=Role(message.role), content=message.content, created_at=message.created_at)


def _print(document: Mapping[str, Any]) -> None:
    found: Mapping[str, Mapping[str, Any]] = document["strategies"]
    columns = ("strategy", "tokens", "p95", "verbatim", "summarised", "elided")
    keys = ("verbatim", "summarised", "elided")
    calls = ("model calls",) if document["model"] else ()
    rows = [
        (
            name,
            f"{each['tokens_mean']:.0f}",
            each["tokens_p95"],
            *(f"{each[key]:.1%}" for key in keys),
            *((each["model_calls"],) if calls else ()),
        )
        for name, each in found.items()
    ]
    table((*columns, *calls), rows, empty="")
    if document["questions"]:
        say()
        asked = [f"{name}@{budget}" for name in ("coverage", "word_by_word") for budget in BUDGETS]
        table(
            ("strategy", *asked),
            [(name, *(f"{each[key]:.4f}" for key in asked)) for name, each in found.items()],
            empty="",
        )
    say()
    some = next(iter(found.values()))
    say(
        f"{plural(some['turns'], 'turn')} of {plural(document['messages'], 'message')}, "
        f"{plural(document['questions'], 'question')}; the whole history would be "
        f"{some['tokens_full_history_mean']:,.0f} tokens a turn, a prompt may have {document['budget']:,}"
    )
    say(f"model: {document['model'] or 'none'}; embedder: {document['embedder'] or 'none'}")
