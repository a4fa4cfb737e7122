"""Search in everything that is remembered, with why each thing was found."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from anaphora.domain.search import Kind
from anaphora.server.page.visits import Question, Reading, pages

router = pages()

_LIMIT: Final = 20


@router.get("/search")
async def search_page(visit: Reading, q: Question = "") -> Response:
    """Messages, facts, chunks and documents that answer."""
    asked = q.strip()
    result = await visit.memory.search(asked, kinds=tuple(Kind), limit=_LIMIT, **visit.whose) if asked else None
    documents = await visit.memory.knowledge.search(asked, limit=5, **visit.whose) if asked else None
    return visit.show("search.html", asked=asked, result=result, documents=documents)
