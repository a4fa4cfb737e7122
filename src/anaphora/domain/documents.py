"""Documents: what is kept beside the log, whole and in chunks, each in a namespace."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias
from uuid import UUID

from anaphora.domain.keys import SeqRange, checked_id, checked_text
from anaphora.domain.messages import Trust
from anaphora.errors import InvalidInput

#: an exact list of names: two are the same only if they are equal part by part, and none is a part of another
Namespace: TypeAlias = tuple[str, ...]
#: a flat JSON object: values are strings, numbers, truth values, null, lists of those; or an object of strings
Metadata: TypeAlias = Mapping[str, Any]

MAX_NAMESPACE_PARTS: Final = 8
MAX_TITLE_CHARS: Final = 500
MAX_TYPE_CHARS: Final = 100
MAX_METADATA_BYTES: Final = 64 << 10
MAX_METADATA_NAMES: Final = 100
#: whole numbers that every JSON reader and every database takes for the same
MAX_WHOLE: Final = 2**53 - 1

#: what a document is if nobody says otherwise
DOCUMENT: Final = "document"
#: what an archived stretch of a session is (seed 001)
CONVERSATION: Final = "conversation"
#: where such a document comes from: it was made with the summary of what was said before
ARCHIVE: Final = "archive"

_NAME: Final = re.compile(r"[^\W\d][\w-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document, as its namespace keeps it."""

    id: UUID
    namespace: Namespace
    #: a name by which it is replaced; without one it is known by what it says
    key: str | None = None
    title: str
    doc_type: str = DOCUMENT
    metadata: Metadata
    #: SHA-256 of the content, in hexadecimal digits
    content_hash: str
    #: None where it was not asked for: a list tells no contents
    content: str | None
    tokens: int
    #: into how many chunks it is cut
    chunks: int
    trust: Trust = Trust.OTHER
    #: where it came from: "api", "file", "archive", ...
    source: str = "api"
    #: the session, and the messages of it, that it was made of: it goes with them
    session_id: UUID | None = None
    range: SeqRange | None = None
    #: counts up from 1 with each change
    version: int = 1
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChunk:
    """A piece of a document, whole sentences of it: what is searched."""

    document_id: UUID
    #: from 0, in the order of the text
    number: int
    text: str
    tokens: int
    #: characters of the content, half-open; neighbours may share some
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkVector:
    """What a passage of a chunk means: a chunk has one or more, numbered from 0."""

    number: int
    part: int = 0
    vector: Sequence[float]


class Outcome(StrEnum):
    """What became of a document that was handed in."""

    NEW = "new"
    #: it is there already, word for word
    SAME = "same"
    REPLACED = "replaced"


def user_namespace(user: str) -> Namespace:
    """Where a user's own documents are."""
    return checked_namespace(("user", user))


def conversations_of(user: str) -> Namespace:
    """Where archived sessions of a user are."""
    return checked_namespace(("conversations", user))


def owner_of(namespace: Namespace) -> str | None:
    """Whose documents a namespace holds; None for one that belongs to no user."""
    return namespace[1] if len(namespace) == 2 and namespace[0] in {"user", "conversations"} else None


def checked_namespace(parts: Sequence[str]) -> Namespace:
    """The namespace, if every store can hold it: 1 to 8 identifiers, taken as they are.

    Raises:
        InvalidInput: one text instead of a list, none or too many parts, or a part that is no identifier.

    """
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise InvalidInput('a namespace is a list of names, such as ["team", "docs"], not one text')
    if not 1 <= len(parts) <= MAX_NAMESPACE_PARTS:
        raise InvalidInput(f"a namespace has 1 to {MAX_NAMESPACE_PARTS} parts, not {len(parts)}")
    return tuple(checked_id(part, f"part {at} of the namespace") for at, part in enumerate(parts, 1))


def namespace_text(namespace: Namespace) -> str:
    """The namespace as JSON: no two have the same text, whatever stands in their parts."""
    return json.dumps(list(namespace), ensure_ascii=False, separators=(",", ":"))


def namespace_from(text: str) -> Namespace:
    """The namespace that `namespace_text` wrote."""
    return tuple(json.loads(text))


def hash_of(content: str) -> str:
    """By which a content is known again."""
    return hashlib.sha256(content.encode()).hexdigest()


def checked_title(title: str) -> str:
    """The title, if it can be stored.

    Raises:
        InvalidInput: it is empty, too long, or no valid text.

    """
    checked_text(title, "the title")
    if not title.strip():
        raise InvalidInput("the title must not be empty")
    if len(title) > MAX_TITLE_CHARS:
        raise InvalidInput(f"the title is longer than {MAX_TITLE_CHARS} characters")
    return title


def checked_type(doc_type: str) -> str:
    """The type of a document, if it can be stored.

    Raises:
        InvalidInput: it is empty, too long, or no valid text.

    """
    checked_text(doc_type, "doc_type")
    if not doc_type.strip():
        raise InvalidInput("doc_type must not be empty")
    if len(doc_type) > MAX_TYPE_CHARS:
        raise InvalidInput(f"doc_type is longer than {MAX_TYPE_CHARS} characters")
    return doc_type


def is_name(text: str) -> bool:
    """Whether a value of the metadata can be called so: a letter, then up to 63 letters, digits, `_`, `-`."""
    return _NAME.fullmatch(text) is not None


def checked_metadata(metadata: Metadata) -> Metadata:
    """The metadata, if every store can hold it and look things up in it.

    Raises:
        InvalidInput: it is no flat object, a name or a value is not as it should be, or it is too large.

    """
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata must be an object, not {type(metadata).__name__}")
    if len(metadata) > MAX_METADATA_NAMES:
        raise InvalidInput(f"metadata has more than {MAX_METADATA_NAMES} names")
    checked = {_checked_name(name): _checked_value(name, value) for name, value in metadata.items()}
    size = len(json.dumps(checked, ensure_ascii=False).encode())
    if size > MAX_METADATA_BYTES:
        raise InvalidInput(f"metadata has {size} bytes: {MAX_METADATA_BYTES} are allowed")
    return checked


def checked_scalar(value: object, what: str) -> str | int | float | bool | None:
    """A single value, if every database takes it for the same.

    Raises:
        InvalidInput: it is something else, or a number beyond what JSON readers agree upon.

    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return checked_text(value, what)
    if isinstance(value, int):
        if abs(value) > MAX_WHOLE:
            raise InvalidInput(f"{what} is a whole number beyond 2^53: write it as text")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{what} is not a finite number")
        return value
    raise InvalidInput(f"{what} must be a text, a number, true, false or null, not {type(value).__name__}")


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not is_name(name):
        raise InvalidInput(f"a name of the metadata is a letter, then letters, digits, _ and -: {str(name)[:80]!r}")
    return name


def _checked_value(name: str, value: object) -> object:
    what = f"metadata {name!r}"
    if isinstance(value, list | tuple):
        return [checked_scalar(entry, f"an entry of {what}") for entry in value]
    if isinstance(value, Mapping):
        if not all(isinstance(entry, str) for entry in value.values()):
            raise InvalidInput(f"{what} is an object with something else than texts in it")
        return {_checked_name(inner): checked_text(entry, what) for inner, entry in value.items()}
    return checked_scalar(value, what)
