"""Documents of your own, and the archived sessions: add, find, change, take out.

There is no namespace in any of this: whose documents are meant is the principal's to say, and what an application keeps
in namespaces of its own is not reached from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, TypeAdapter, ValidationError

from anaphora.domain.documents import MAX_TYPE_CHARS, Document
from anaphora.domain.keys import MAX_LIMIT
from anaphora.domain.search import DocumentResult
from anaphora.errors import InvalidInput, NotFound
from anaphora.server.bodies import uploaded
from anaphora.server.deps import Remembered
from anaphora.server.gate import Reader, Writer
from anaphora.server.problems import documented

router = APIRouter(prefix="/knowledge", tags=["knowledge"])

#: results of one search
_MOST_HITS: Final = 200
_FIELDS: Final = {
    "title": "None: what the file calls itself, or how it begins.",
    "doc_type": "What kind of document it is.",
    "metadata": "A flat JSON object, to filter by.",
    "key": "A name: added again under it, the document is replaced.",
}
_METADATA: Final = TypeAdapter(dict[str, JsonValue])

Kind = Annotated[str | None, Query(max_length=MAX_TYPE_CHARS, description="Only of this kind.")]
Where = Annotated[
    str | None,
    Query(max_length=4000, description="Only those whose metadata it holds for.", examples=['author = "Ann"']),
]


class DocumentIn(BaseModel):
    """A text to keep: the arguments of `KnowledgeView.add`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"text": "Bake at 220 degrees.", "title": "Bread", "metadata": {"author": "Ann"}}]
        },
    )

    text: str
    title: str | None = None
    doc_type: str = "document"
    metadata: dict[str, JsonValue] | None = None
    key: str | None = None


class DocumentEdit(BaseModel):
    """What becomes of a document; what is not given stays. Metadata is replaced whole."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"title": "Bread with seeds"}]})

    text: str | None = None
    title: str | None = None
    doc_type: str | None = None
    metadata: dict[str, JsonValue] | None = None


class Question(BaseModel):
    """What is looked for: the arguments of `KnowledgeView.search`."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"query": "How hot is the oven?"}]})

    query: str = Field(min_length=1)
    doc_type: str | None = None
    where: str | None = Field(default=None, examples=['author = "Ann" and tags contains "bread"'])
    limit: StrictInt = Field(default=10, ge=1, le=_MOST_HITS)


@router.get("")
async def list_documents(
    memory: Remembered,
    principal: Reader,
    doc_type: Kind = None,
    where: Where = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
    before: Annotated[UUID | None, Query(description="Those that came before this one.")] = None,
) -> Sequence[Document]:
    """Documents without their contents, the last that were added first."""
    return await memory.knowledge.list(
        user=principal.person, doc_type=doc_type, where=where, limit=limit, before=before, tenant=principal.tenant
    )


@router.post("", status_code=HTTPStatus.CREATED)
async def add_document(memory: Remembered, principal: Writer, document: DocumentIn) -> Document:
    """Keep a text; what is there already, word for word, is not kept twice."""
    return await memory.knowledge.add(**document.model_dump(), user=principal.person, tenant=principal.tenant)


@router.post(
    "/files",
    status_code=HTTPStatus.CREATED,
    responses=documented(HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "required": ["file"],
                        "properties": {
                            "file": {"type": "string", "format": "binary"},
                            **{name: {"type": "string", "description": text} for name, text in _FIELDS.items()},
                        },
                        "additionalProperties": False,
                    }
                }
            },
        }
    },
)
async def add_file(memory: Remembered, principal: Writer, request: Request) -> Document:
    """Keep the text of a file: text, Markdown, HTML or PDF, known by the ending of its name or by how it begins."""
    most = memory.settings.knowledge.max_bytes
    async with uploaded(request, most, known=frozenset(_FIELDS)) as form:
        said: dict[str, Any] = {name: value for name, value in form.fields.items() if name != "metadata"}
        metadata = form.fields.get("metadata")
        if metadata is not None:
            said["metadata"] = _object(metadata)
        return await memory.knowledge.add(path=form.path, **said, user=principal.person, tenant=principal.tenant)


@router.post("/search")
async def search_documents(memory: Remembered, principal: Reader, question: Question) -> DocumentResult:
    """The pieces of documents that answer a question, by their words and by what they mean, best first."""
    return await memory.knowledge.search(**question.model_dump(), user=principal.person, tenant=principal.tenant)


@router.get("/{document}")
async def show_document(memory: Remembered, principal: Reader, document: UUID) -> Document:
    """A document with its content."""
    return await memory.knowledge.get(document, user=principal.person, tenant=principal.tenant)


@router.patch("/{document}")
async def edit_document(memory: Remembered, principal: Writer, document: UUID, edit: DocumentEdit) -> Document:
    """Change what a document says, or what is said of it."""
    return await memory.knowledge.update(document, **edit.model_dump(), user=principal.person, tenant=principal.tenant)


@router.delete("/{document}", status_code=HTTPStatus.NO_CONTENT)
async def delete_document(memory: Remembered, principal: Writer, document: UUID) -> None:
    """Leave nothing of a document: not its text, its words, nor what it means."""
    if not await memory.knowledge.delete(document, user=principal.person, tenant=principal.tenant):
        raise NotFound(f"there is no document {document} in this namespace")


def _object(text: str) -> dict[str, JsonValue]:
    try:
        return _METADATA.validate_json(text)
    except (ValidationError, UnicodeEncodeError):
        raise InvalidInput('metadata: expected a JSON object, such as {"author": "Ann"}') from None
