"""The lines of an export: the one source of its writer, its parser and its JSON Schema.

Laws: a record is one line of JSON in UTF-8; its keys stand in the order of the fields here; a field that has its
default is left out; times are RFC 3339 in UTC with microseconds. So the same records give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, NoReturn, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from anaphora.domain.document_records import DocumentRecord
from anaphora.domain.fact_records import (
    ChunkRecord,
    FactRecord,
    FactSourceRecord,
    FactVersionRecord,
    SubjectRecord,
)
from anaphora.domain.notepad_records import PageRecord
from anaphora.domain.record_fields import (
    MOST,
    Count,
    Id,
    Json,
    MethodName,
    Name,
    RecordModel,
    RoleName,
    Span,
    StatusName,
    Text,
    Time,
    TrustName,
)
from anaphora.domain.topic_records import TopicRecord
from anaphora.errors import InvalidInput

#: of the format; raised when older versions of Anaphora would misread what is written
VERSION: Final = 1

#: breaks lines for some readers; inside JSON strings they can be written by their codes
_BREAKS = str.maketrans({char: f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"})
#: characters of an explanation
_MAX_SHOWN: Final = 200


class HeaderRecord(RecordModel):
    """The first line."""

    record: Literal["export"]
    format: Literal["anaphora"]
    version: Literal[1] = Field(description="Of the format. Later ones are refused.")


class SessionRecord(RecordModel):
    """One conversation. Its messages follow, then its summaries, chunks and topics, and the moves of its readers."""

    record: Literal["session"]
    user: Name
    agent: Name
    session: Name
    strategy: Name | None = Field(default=None, description="How it is summarised; null: as configured.")
    subject: Text | None = None
    messages: Count = Field(description="How many follow, deleted ones too.")
    turn_finished: bool = Field(default=True, description="Whether the last turn has its answer.")
    created_at: Time
    updated_at: Time
    ended_at: Time | None = None


class MessageRecord(RecordModel):
    """One message as it is now. Its earlier versions follow. One that was deleted says nothing."""

    record: Literal["message"]
    id: Id
    seq: Count = Field(description="Its number in the session, from 0, without holes.")
    turn: Count = Field(description="The number of the first message of its turn.")
    role: RoleName
    name: Text | None = None
    content: Text = ""
    parts: list[Json] = Field(default_factory=list)
    metadata: Json = Field(default_factory=dict)
    tokens: Count
    source: Text
    trust: TrustName
    created_at: Time = Field(description="When it was said.")
    appended_at: Time = Field(description="When it was stored.")
    version: int = Field(default=1, ge=1, le=MOST)
    changed_at: Time | None = Field(default=None, description="When it was last edited or deleted.")
    deleted: bool = False
    erased: bool = Field(default=False, description="Nothing is kept of what it said: it has no earlier versions.")


class VersionRecord(RecordModel):
    """What the message before said in an earlier version."""

    record: Literal["version"]
    seq: Count
    version: int = Field(ge=1, le=MOST)
    name: Text | None = None
    content: Text = ""
    parts: list[Json] = Field(default_factory=list)
    metadata: Json = Field(default_factory=dict)
    tokens: Count
    changed_at: Time | None = None
    replaced_at: Time = Field(description="When the next version took its place.")
    replaced_head: Count = Field(description="How many messages the session had then.")


class PointRecord(RecordModel):
    """One statement of a summary."""

    range: Span
    elided: list[Span] = Field(default_factory=list, description="What of the range it says nothing about.")
    text: Text
    method: MethodName
    tokens: Count


class StateRecord(RecordModel):
    """A status that a summary reached, and when."""

    status: StatusName
    at: Time
    log_head: Count = Field(description="How many messages the session had then.")


class NotedRecord(RecordModel):
    """An entry of a list, and the messages that it was taken from."""

    text: Text
    range: Span


class StructureRecord(RecordModel):
    """What a summary lists beside its points."""

    topics: list[NotedRecord] = Field(default_factory=list)
    entities: list[NotedRecord] = Field(default_factory=list)
    decisions: list[NotedRecord] = Field(default_factory=list)
    open_questions: list[NotedRecord] = Field(default_factory=list)


class SummaryRecord(RecordModel):
    """One version of a summary, with its points and every status that it ever had."""

    record: Literal["summary"]
    id: Id
    strategy: Name
    version: int = Field(ge=1, le=MOST)
    base_id: Id | None = Field(default=None, description="The version that it carried on from.")
    range: Span
    status: StatusName
    method: MethodName
    model: Text | None = None
    prompt_version: Text | None = None
    trust: TrustName
    tokens: Count
    generation_ms: Count
    created_at: Time
    points: list[PointRecord] = Field(min_length=1)
    structure: StructureRecord = Field(default_factory=StructureRecord)
    states: list[StateRecord] = Field(min_length=1)


class MoveRecord(RecordModel):
    """A reader of the session went there; where it went last, it stands."""

    record: Literal["move"]
    reader: Name
    position: Count
    summary_id: Id | None = None
    at: Time
    log_head: Count = Field(description="How many messages the session had then.")


class ReceiptRecord(RecordModel):
    """What an append returned."""

    record: Literal["receipt"]
    id: Id
    user: Name
    agent: Name
    session: Name
    range: Span
    created_at: Time
    erased: bool = Field(default=False, description="The session was reset since: its messages are gone.")


class FooterRecord(RecordModel):
    """The last line: what the export holds, and the sum of all lines before."""

    record: Literal["end"]
    users: Count
    sessions: Count
    messages: Count
    versions: Count
    summaries: Count
    moves: Count
    receipts: Count
    chunks: Count = 0
    topics: Count = 0
    subjects: Count = 0
    facts: Count = 0
    fact_versions: Count = 0
    fact_sources: Count = 0
    pages: Count = 0
    documents: Count = 0
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of all lines before, each with its line feed.")


Record: TypeAlias = (
    HeaderRecord
    | SessionRecord
    | MessageRecord
    | VersionRecord
    | SummaryRecord
    | ChunkRecord
    | TopicRecord
    | MoveRecord
    | ReceiptRecord
    | SubjectRecord
    | FactRecord
    | FactVersionRecord
    | FactSourceRecord
    | PageRecord
    | DocumentRecord
    | FooterRecord
)

#: what `record` may be, in the order in which records stand
KINDS: Final = (
    "export",
    "session",
    "message",
    "version",
    "summary",
    "chunk",
    "topic",
    "move",
    "receipt",
    "subject",
    "fact",
    "fact_version",
    "fact_source",
    "page",
    "document",
    "end",
)


def header() -> HeaderRecord:
    """The header of this version."""
    return HeaderRecord(record="export", format="anaphora", version=VERSION)


def is_header(value: object) -> bool:
    """True if a JSON value is the first line of an export, of whichever version."""
    return isinstance(value, Mapping) and (value.get("record"), value.get("format")) == ("export", "anaphora")


def line_of(record: Record) -> str:
    """The record as a line, with its line feed."""
    text = json.dumps(
        record.model_dump(exclude_defaults=True), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return text.translate(_BREAKS) + "\n"


def record_of(line: str) -> Record:
    """The record of a line.

    Raises:
        InvalidInput: it is none; the message names the field, and never what it holds.

    """
    try:
        value = json.loads(line, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"expected valid JSON ({error.msg[:1].lower()}{error.msg[1:]})") from None
    except RecursionError:
        raise InvalidInput("expected JSON that is nested less deeply") from None
    except ValueError as error:
        if "digits" in str(error):  # of Python, which reads no longer ones
            raise InvalidInput("a number has too many digits") from None
        raise InvalidInput(f"expected valid JSON ({error})") from None
    if is_header(value) and type(value.get("version")) is int and value["version"] > VERSION:
        raise InvalidInput(f"the export was written by a later version of Anaphora ({value['version']}): upgrade first")
    if not isinstance(value, dict) or value.get("record") not in KINDS:
        raise InvalidInput(f"expected a record of an export: an object whose `record` is one of {', '.join(KINDS)}")
    try:
        return _adapter().validate_python(value)
    except ValidationError as error:
        raise InvalidInput(_explained(error)) from None


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a line."""
    made = _adapter().json_schema(schema_generator=_Untitled)
    del made["discriminator"]  # a word of OpenAPI, not of JSON Schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of an Anaphora export",
        **made,
    }


class _Untitled(GenerateJsonSchema):
    """Without the titles of fields, which repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's signature
        return False


@cache
def _adapter() -> TypeAdapter[Record]:
    return TypeAdapter(Annotated[Record, Field(discriminator="record")])


def _explained(error: ValidationError) -> str:
    """The first thing that is wrong, in one line, without what was given."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"][1:])
    said = first["msg"].removeprefix("Value error, ")
    return f"{place.removeprefix('.') or 'record'}: {said[:1].lower()}{said[1:]}"[:_MAX_SHOWN]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
