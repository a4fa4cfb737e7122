"""`anaphora kb`: documents beside the log."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from anaphora.bootstrap import Services
from anaphora.cli.ids import document_id, short_id
from anaphora.cli.kb_view import document_json, found_json, show_document, show_documents, show_found
from anaphora.cli.options import AnyUser, AsJson, Db, Limit, Tenant
from anaphora.cli.output import clean, emit, note, plural, say
from anaphora.cli.running import Access, run, settings_from
from anaphora.domain.documents import Document
from anaphora.errors import InvalidInput
from anaphora.memory import KnowledgeView, Memory

T = TypeVar("T")

Namespace = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        metavar="NAME",
        show_default=False,
        help="Instead of a user: the names of a namespace, one after the other; to be repeated.",
    ),
]
Type = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Only documents of this type.")]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="FILTER",
        help='Only where the metadata says so: author = "Ann" and (tags contains "api" or not exists draft).',
    ),
]
DocumentId = Annotated[
    str, typer.Argument(metavar="ID", help="The id of the document, or at least six digits of either end.")
]


def add(
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", show_default=False, help="Plain text, Markdown, HTML or PDF; - reads stdin."),
    ] = None,
    *,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="What it says, instead of a file.")] = None,
    user: AnyUser = None,
    namespace: Namespace = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TITLE", help="Else what the file says.")] = None,
    doc_type: Annotated[str, typer.Option("--type", metavar="TYPE", help="What kind of document it is.")] = "document",
    metadata: Annotated[
        str | None, typer.Option("--metadata", metavar="JSON", help="A flat JSON object, to filter by.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="NAME", help="Added again under it, the document is replaced.")
    ] = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Keep a document; what is there already, word for word, is not kept twice."""
    if (file is None) == (text is None):
        raise InvalidInput("say what to add: a file, - for stdin, or --text")
    said = sys.stdin.read() if file == "-" else text
    given = _metadata(metadata)

    async def work(services: Services) -> tuple[Document, bool, int]:
        began = services.clock.now()
        document = await Memory(services).knowledge.add(
            said,
            path=None if said is not None else Path(file or ""),
            user=user,
            namespace=namespace,
            title=title,
            doc_type=doc_type,
            metadata=given,
            key=key,
        )
        return document, document.updated_at < began, await services.jobs.due()

    document, same, due = run(work, settings_from(db, tenant=tenant), Access.CREATE)
    if as_json:
        emit({**document_json(document), "content": None, "due": due})
        return
    what = f"{plural(document.tokens, 'token')} in {plural(document.chunks, 'chunk')}"
    say(f"{short_id(document.id)} {'was there already' if same else 'is kept'}: {document.title} ({what}).")
    if due:
        note(f"{plural(due, 'job')} queued: `anaphora worker --drain` does them.")


def list_documents(
    *,
    user: AnyUser = None,
    namespace: Namespace = None,
    doc_type: Type = None,
    where: Filter = None,
    limit: Limit = 20,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """List documents of a user (archived sessions too) or of a namespace, newest first."""
    found = _run(
        lambda kb: kb.list(user=user, namespace=namespace, doc_type=doc_type, where=where, limit=limit),
        Access.READ,
        db,
        tenant,
    )
    if as_json:
        emit({"documents": [document_json(one) for one in found]})
    else:
        show_documents(found)


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question; nothing in it is search syntax.")],
    *,
    user: AnyUser = None,
    namespace: Namespace = None,
    doc_type: Type = None,
    where: Filter = None,
    limit: Limit = 10,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Find passages of documents by their words and by what they mean, best first."""
    found = _run(
        lambda kb: kb.search(query, user=user, namespace=namespace, doc_type=doc_type, where=where, limit=limit),
        Access.READ,
        db,
        tenant,
    )
    if as_json:
        emit({"hits": [found_json(hit) for hit in found], "degraded": list(found.degraded)})
    else:
        show_found(found)


def show(
    document: DocumentId,
    *,
    user: AnyUser = None,
    namespace: Namespace = None,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show a document, whole."""
    found = _run(_named(document, user, namespace), Access.READ, db, tenant)
    if as_json:
        emit(document_json(found))
    else:
        show_document(found)


def delete(
    document: DocumentId,
    *,
    user: AnyUser = None,
    namespace: Namespace = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    db: Db = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Delete a document for good: its text, its words, and what it means."""
    if not yes and not sys.stdin.isatty():
        raise InvalidInput("delete leaves nothing of a document: add --yes where nobody can be asked")
    found = _run(_named(document, user, namespace), Access.READ, db, tenant)
    if not yes:
        typer.confirm(clean(f"Delete {found.title!r} for good?"), abort=True, err=True)
    _run(lambda kb: kb.delete(found.id, user=user, namespace=namespace), Access.WRITE, db, tenant)
    if as_json:
        emit({"id": found.id, "deleted": True})
    else:
        say(f"{short_id(found.id)} is deleted: nothing of it is left.")


def _named(given: str, user: str | None, namespace: list[str] | None) -> Callable[[KnowledgeView], Awaitable[Document]]:
    """Who finds the document that somebody named."""

    async def look(kb: KnowledgeView) -> Document:
        uid = await document_id(kb, given, user=user, namespace=namespace)
        return await kb.get(uid, user=user, namespace=namespace)

    return look


def _metadata(text: str | None) -> Mapping[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"--metadata is not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise InvalidInput('--metadata must be a JSON object, such as {"author": "Ann"}')
    return value


def _run(work: Callable[[KnowledgeView], Awaitable[T]], access: Access, db: str | None, tenant: str | None) -> T:
    async def with_services(services: Services) -> T:
        return await work(Memory(services).knowledge)

    return run(with_services, settings_from(db, tenant=tenant), access)
