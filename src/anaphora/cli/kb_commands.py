"""The commands of `anaphora kb`: their names, where they are, and what lists say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anaphora.cli.lazy import Entry, LazyGroup


class KnowledgeBase(LazyGroup):
    """The commands of `anaphora kb`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "add": Entry(
            module="kb",
            function="add",
            help="Keep the text of a file (plain text, Markdown, HTML, PDF), or a text.",
            example="anaphora kb add handbook.pdf --user alice --type manual",
        ),
        "list": Entry(
            module="kb",
            function="list_documents",
            help="List documents, newest first.",
            example="anaphora kb list --user alice",
        ),
        "search": Entry(
            module="kb",
            function="search",
            help="Find passages of documents by their words and by what they mean.",
            example='anaphora kb search "how long do tokens live?" --user alice',
        ),
        "show": Entry(
            module="kb",
            function="show",
            help="Show a document.",
            example="anaphora kb show 1f0c9a2b --user alice",
        ),
        "delete": Entry(
            module="kb",
            function="delete",
            help="Delete a document for good.",
            example="anaphora kb delete 1f0c9a2b --user alice --yes",
        ),
    }
