"""Documents beside the log: list, read, add, take out."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath
from typing import Final
from uuid import UUID

import anyio
from starlette.datastructures import UploadFile
from starlette.responses import Response

from anaphora.domain.documents import Document
from anaphora.errors import InvalidInput
from anaphora.server.page.rendering import link
from anaphora.server.page.visits import Change, Question, Reading, Writing, pages

router = pages()

_MANY: Final = 50


@router.get("/documents")
async def documents_page(visit: Reading, q: Question = "", before: UUID | None = None) -> Response:
    """All of them, or those that answer a question."""
    asked = q.strip()
    result = await visit.memory.knowledge.search(asked, **visit.whose) if asked else None
    found = [] if asked else await visit.memory.knowledge.list(limit=_MANY, before=before, **visit.whose)
    older = found[-1].id if len(found) == _MANY else None
    return visit.show("documents.html", asked=asked, result=result, found=found, older=older)


@router.get("/documents/{document_id}")
async def document_page(visit: Reading, document_id: UUID) -> Response:
    """One document, whole."""
    return visit.show("document.html", document=await visit.memory.knowledge.get(document_id, **visit.whose))


@router.post("/documents")
async def add_document(change: Writing) -> Response:
    """Keep a text or a file."""
    file = change.file("file")
    if file is not None:
        document = await _kept(change, file)
    elif change.some("text") is not None:
        document = await change.memory.knowledge.add(change.text("text"), title=change.some("title"), **change.whose)
    else:
        raise InvalidInput("write a text, or choose a file")
    return change.back(link("documents", str(document.id)), f"Kept: {document.title}")


async def _kept(change: Change, file: UploadFile) -> Document:
    """What a file says. Only the end of its name counts, for its kind."""
    suffix = PurePosixPath(file.filename or "").suffix[:16]
    content = await file.read()
    with tempfile.TemporaryDirectory(prefix="anaphora-") as folder:
        path = Path(folder) / f"file{suffix if suffix[1:].isalnum() else ''}"
        await anyio.Path(path).write_bytes(content)
        return await change.memory.knowledge.add(path=path, title=change.some("title"), **change.whose)


@router.post("/documents/{document_id}/delete")
async def delete_document(change: Writing, document_id: UUID) -> Response:
    """Leave nothing of it."""
    gone = await change.memory.knowledge.delete(document_id, **change.whose)
    return change.back("/documents", "Deleted: nothing is left of it." if gone else "It was gone already.")
