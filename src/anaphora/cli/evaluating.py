"""`anaphora eval`: what is found again, how well facts are told from junk, and where topics are seen to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from anaphora.bootstrap import Services
from anaphora.bootstrap.providers import embedder_from
from anaphora.cli.options import AsJson
from anaphora.cli.output import emit, note, plural, say, table
from anaphora.cli.running import Access, run, settings_from
from anaphora.cli.scratch import scratch
from anaphora.evals import gate as gate_file
from anaphora.evals import locomo as locomo_file
from anaphora.evals import neutral
from anaphora.evals import segmentation as dialogues_file
from anaphora.evals.archived import PROMPTS, archiving
from anaphora.evals.cases import Case
from anaphora.evals.figures import BUDGETS, DEPTHS
from anaphora.evals.measure import evaluate
from anaphora.services.settings import TOPICS
from anaphora.settings import RollingPairsSettings, Settings
from anaphora.strategies.topics import Topics

#: messages that no session has
_NEVER = 1 << 40
#: what the numbers of LoCoMo's categories stand for
_LOCOMO = {"1": "1 multi-hop", "2": "2 temporal", "3": "3 open-domain", "4": "4 single-hop"}
_ENDS = ("pk", "windowdiff", "f1", "precision", "recall")
#: what prompts of archived conversations and facts have
_ARCHIVED = ("coverage", "facts", "verbatim")
_NO_EMBEDDER = "there is no embedder: words alone are compared; `anaphora models pull` fetches it"
_FIGURES = (*(f"recall@{depth}" for depth in DEPTHS), *(f"coverage@{budget}" for budget in BUDGETS))

File = Annotated[Path, typer.Argument(metavar="FILE", help="JSON or JSON lines.", show_default=False)]
Db = Annotated[
    str | None,
    typer.Option("--db", metavar="PATH", help="The database: a file or postgresql://; else a temporary file."),
]
ArchiveOnly = Annotated[
    bool,
    typer.Option("--archive-only", help="Ask again with no messages: of archived conversations and facts alone."),
]
NoEmbedder = Annotated[bool, typer.Option("--no-embedder", help="Find by words alone.")]


def locomo(
    file: File,
    *,
    archive_only: ArchiveOnly = False,
    no_embedder: NoEmbedder = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Measure what is found again on LoCoMo: its conversations are imported, its questions asked.

    The database is a temporary file, unless --db names one; that must not know the users of the file.
    """
    asking = _Asking(no_embedder=no_embedder, archive_only=archive_only, db=db)
    _evaluate(locomo_file.cases(file), _LOCOMO, asking, as_json=as_json)


def recall(
    file: File,
    *,
    archive_only: ArchiveOnly = False,
    no_embedder: NoEmbedder = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Measure what is found again on conversations and questions of your own, in the neutral format.

    The database is a temporary file, unless --db names one; that must not know the users of the file.
    """
    asking = _Asking(no_embedder=no_embedder, archive_only=archive_only, db=db)
    _evaluate(neutral.cases(file), {}, asking, as_json=as_json)


def gate(file: File, *, as_json: AsJson = False) -> None:
    """Measure how well the gate tells facts from junk, on candidates that are labelled.

    No model is asked, and nothing is remembered.
    """
    figures = gate_file.evaluate(gate_file.read(file))
    if as_json:
        emit(figures, as_given=True)
        return
    rows = [(kind, *_counted(values)) for kind, values in {"all": figures, **figures["by_kind"]}.items()]
    table(("kind", "rows", "true facts", "kept", "junk", "junk accepted", "review"), rows, empty="")
    say()
    say(
        f"true facts kept: {_percent(figures['kept_share'])}; junk accepted: {_percent(figures['junk_accepted_share'])}"
    )
    if figures["wrong"]:
        say()
        wrong = [(row["id"], row["keep"], row["outcome"], row["reason"]) for row in figures["wrong"]]
        table(("id", "keep", "outcome", "reason"), wrong, empty="")


def segmentation(file: File, *, no_embedder: NoEmbedder = False, as_json: AsJson = False) -> None:
    """Measure how well topic shifts are found, on dialogues with marked topics.

    No model is asked, and nothing is remembered.
    """
    dialogues = dialogues_file.read(file)
    settings = settings_from()
    embedder = None if no_embedder else embedder_from(settings)
    if embedder is None and not no_embedder and settings.embedder != "none":
        note(_NO_EMBEDDER)
    strategy = settings.strategies().get(TOPICS)
    limits = strategy.limits if isinstance(strategy, Topics) else None
    figures = dialogues_file.evaluate(dialogues, embedder, note, limits)
    if as_json:
        emit(figures, as_given=True)
        return
    systems = {"anaphora": figures, **figures["baselines"]}
    rows = [(name, *(_share(values[key]) for key in _ENDS)) for name, values in systems.items()]
    table(("system", *_ENDS), rows, empty="")
    say()
    say(plural(figures["dialogues"], "dialogue"))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _counted(values: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(values[name] for name in ("rows", "true_facts", "kept", "junk", "junk_accepted", "review"))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """How questions are asked, and on which database."""

    no_embedder: bool
    archive_only: bool
    db: str | None


def _evaluate(cases: Sequence[Case], titles: Mapping[str, str], asking: _Asking, *, as_json: bool) -> None:
    async def work(services: Services) -> dict[str, Any]:
        if services.retrieve.embedder is None and services.settings.embedder != "none":
            note(_NO_EMBEDDER)
        return await evaluate(services, cases, note, archive_only=asking.archive_only)

    with scratch(asking.db) as place:
        figures = run(work, _settings(place, asking), Access.CREATE)
    if as_json:
        emit(figures, as_given=True)
    else:
        _print(figures, titles)


def _settings(db: str, asking: _Asking) -> Settings:
    """Those of the user, but for language models, one that reranks among them, and summaries.

    A measurement sends nothing to anybody, and a session in which nothing was said shows no summary of another.
    """
    changes: dict[str, Any] = {"model": None, "memory_model": None, "tasks": {}, "agents": {}}
    settings = settings_from(db)
    if asking.no_embedder or settings.reranker() is not None:
        changes |= {"rerank_provider": "", "rerank_model": None}
    changes |= {"strategy": "rolling_pairs", "rolling_pairs": RollingPairsSettings(min_messages_for_summary=_NEVER)}
    if asking.archive_only:
        changes |= archiving(settings)
    return settings.model_copy(update=changes | ({"embedder": "none"} if asking.no_embedder else {}))


def _print(figures: Mapping[str, Any], titles: Mapping[str, str]) -> None:
    archived = figures.get("archive_only")
    systems = {"anaphora": figures, **({"archive only": archived} if archived else {}), **figures["baselines"]}
    table(("system", *_FIGURES), [(name, *_cells(values)) for name, values in systems.items()], empty="")
    say()
    rows = [
        (titles.get(name, name), values["questions"], *_cells(values))
        for name, values in figures["by_category"].items()
    ]
    table(("category", "questions", *_FIGURES), rows, empty="")
    if archived:
        say()
        rows = [(name, *(f"{archived[f'{name}@{budget}']:.4f}" for budget in PROMPTS)) for name in _ARCHIVED]
        table(("archive only", *map(str, PROMPTS)), rows, empty="")
        say(
            f"{plural(archived['documents'], 'document')}, which speak of {archived['messages_archived']:.1%} of all "
            "messages; a document that is shown counts for every message of its range"
        )
    say()
    search, embed = figures["search_ms"], figures["embed_ms"]
    say(
        f"{plural(figures['questions'], 'question')}; a search took {search['p50']:.1f} ms at the median (p99 "
        f"{search['p99']:.1f} ms), {search['with_question_p50']:.1f} ms with the question's vector"
    )
    if embed is not None:
        say(f"embedding a message took {embed:.1f} ms")


def _cells(values: Mapping[str, float]) -> list[str | None]:
    return [f"{values[name]:.4f}" if name in values else None for name in _FIGURES]
