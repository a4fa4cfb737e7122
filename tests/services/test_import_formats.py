from __future__ import annotations

import json
import time
import tracemalloc
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from anaphora.domain.messages import NewMessage, Role, tool_calls, tool_results
from anaphora.errors import InvalidInput, UnknownName
from anaphora.services.importing.formats import BadFile, Format, ImportedConversation, detect, read

DATA = Path(__file__).parent.parent / "data"

SAMPLES = {
    "openai-tools.json": Format.OPENAI,
    "finetune.jsonl": Format.OPENAI,
    "chat-log.jsonl": Format.OPENAI,
    "sharegpt.json": Format.SHAREGPT,
    "locomo.json": Format.LOCOMO,
}


def written(folder: Path, content: object, name: str = "chat.json") -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        path.write_text(json.dumps(content), encoding="utf-8")
    return path


def said(conversation: ImportedConversation) -> list[str]:
    return [message.content for message in conversation.messages]


@pytest.mark.parametrize(("name", "expected"), SAMPLES.items())
def test_the_format_is_seen_from_the_content(name: str, expected: Format) -> None:
    assert detect(DATA / name) is expected
    assert list(read(DATA / name)) == list(read(DATA / name, expected))


def test_a_file_that_fits_two_formats_is_refused_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, [{"messages": [], "conversations": []}])
    with pytest.raises(BadFile, match=r"chat\.json: the file could be openai or sharegpt: .*locomo"):
        detect(path)


@pytest.mark.parametrize("content", [[], [1], {"text": "hello"}, '"hello"'])
def test_a_file_that_fits_no_format_is_refused_with_the_formats(tmp_path: Path, content: object) -> None:
    with pytest.raises(BadFile, match=r"chat\.json: .*openai, sharegpt, locomo"):
        read(written(tmp_path, content))


def test_an_unknown_format_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="'openai'"):
        read(DATA / "finetune.jsonl", "openia")


def test_openai_messages_keep_text_tools_times_and_lose_picture_data() -> None:
    trip, other = read(DATA / "openai-tools.json")
    assert (trip.user, trip.session, trip.turns, trip.where) == ("alice", "trip", "single", "[0]")
    assert trip.started_at == datetime(2024, 5, 8, 11, 56, tzinfo=UTC)
    system, question, call, result, old_call, old_result, answer = trip.messages
    assert (system.role, system.created_at) == (Role.SYSTEM, trip.started_at)
    assert question == NewMessage(
        role=Role.USER,
        name="Alice",
        content="Where is this?\nAnd how warm?",
        parts=({"type": "image"},),
        metadata={"device": "phone"},
        created_at=datetime(2024, 5, 8, 11, 56, 40, tzinfo=UTC),
    )
    assert call.content == ""
    assert call.parts == ({"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Rome"}},)
    assert (result.role, result.content) == (Role.TOOL, "24 C")
    assert result.parts == ({"type": "tool_result", "id": "c1", "content": "24 C"},)
    assert tool_calls(old_call.parts)[0]["id"] == tool_results(old_result.parts)[0]["id"]
    assert old_result.role is Role.TOOL
    assert answer.created_at == question.created_at
    assert (other.user, other.session) == (None, "openai-tools-3")


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: {"messages": m}, lambda m: [{"messages": m}], lambda m: [m]])
def test_every_wrapping_of_openai_messages_is_the_same_conversation(tmp_path: Path, wrap: Any) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    (only,) = read(written(tmp_path, wrap(messages)))
    assert (only.session, said(only)) == ("chat-1", ["Hi", "Hello"])


def test_json_lines_of_conversations_are_sessions_of_their_own() -> None:
    first, second = read(DATA / "finetune.jsonl")
    assert (first.user, first.session, first.where, said(first)) == (None, "finetune-1", "line 1", ["One", "Two"])
    assert (second.user, second.session, second.where, said(second)) == ("bob", "7", "line 3", ["Three"])


def test_json_lines_of_messages_are_one_conversation() -> None:
    (only,) = read(DATA / "chat-log.jsonl")
    assert (only.session, said(only)) == ("chat-log-1", ["Good morning", "Good morning!", "A line\u2028in a line"])
    assert {message.created_at for message in only.messages} == {datetime(2024, 5, 8, 8, tzinfo=UTC)}


def test_a_time_without_a_zone_is_utc_wherever_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, [{"role": "user", "content": "x", "created_at": "2024-05-08 08:00"}])
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        (only,) = read(path)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert only.started_at == datetime(2024, 5, 8, 8, tzinfo=UTC)


def test_messages_on_lines_go_to_the_user_and_session_that_they_name(tmp_path: Path) -> None:
    rows = [("a", "s"), ("b", "s"), ("a", "s"), ("a", "t")]
    lines = [{"role": "user", "content": str(n), "user": u, "session": s} for n, (u, s) in enumerate(rows)]
    found: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for piece in read(written(tmp_path, lines)):
        found[piece.user, piece.session] += said(piece)
    assert found == {("a", "s"): ["0", "2"], ("b", "s"): ["1"], ("a", "t"): ["3"]}


def test_json_lines_are_known_without_their_extension(tmp_path: Path) -> None:
    path = written(tmp_path, (DATA / "finetune.jsonl").read_text(encoding="utf-8"), "export.json")
    assert [c.session for c in read(path)] == ["export-1", "7"]


def test_sharegpt_speakers_become_roles_and_calls_find_their_results() -> None:
    first, second = read(DATA / "sharegpt.json")
    assert first.session == "QWJhYvA_0"
    assert [m.role for m in first.messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    (call,) = tool_calls(first.messages[2].parts)
    (result,) = tool_results(first.messages[3].parts)
    assert (call["name"], call["arguments"]) == ("clock", {"zone": "UTC"})
    assert (result["id"], result["content"]) == (call["id"], "14:00")
    assert (second.session, said(second)) == ("sharegpt-2", ["Hi", "Hello"])


def test_locomo_sessions_come_by_number_with_names_times_and_captions() -> None:
    second, tenth = read(DATA / "locomo.json")
    assert [(c.user, c.session, c.conversation, c.turns) for c in (second, tenth)] == [
        ("conv-1", "session_2", "conv-1", "own"),
        ("conv-1", "session_10", "conv-1", "own"),
    ]
    assert second.messages[0] == NewMessage(
        role=Role.USER,
        name="Ann",
        content="Look at this! [shares a photo: a cat on a mat]",
        metadata={"dia_id": "D2:1", "img_url": ["https://example.org/cat.jpg"]},
        created_at=datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
    )
    assert second.messages[1].created_at == datetime(2023, 5, 8, 13, 56, 1, tzinfo=UTC)
    assert tenth.started_at == datetime(2024, 1, 1, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "where", "problem"),
    [
        ([{"role": "user", "content": "x"}, {"role": "boss", "content": "x"}], "[1].role", "expected one of system"),
        ([{"messages": [{"role": "user", "content": "a\x00b"}]}], "[0].messages[0].content", "NUL"),
        ([{"messages": [{"role": "user", "content": "\ud800"}]}], "[0].messages[0].content", "surrogate"),
        ([{"messages": [{"role": "user", "content": " "}]}], "[0].messages[0].content", "expected some text"),
        ([{"messages": [{"role": "user", "content": 3}]}], "[0].messages[0].content", "not a number"),
        ([{"messages": [{"role": "user", "content": [{"type": "smell"}]}]}], "[0].messages[0].content[0].type", "text"),
        ([{"messages": ["hello"]}], "[0].messages[0]", "expected a message as a JSON object, not a string"),
        ([{"messages": {}}], "[0].messages", "expected the messages of a conversation as a JSON array"),
        ([{"messages": [{"role": "user", "content": "x", "created_at": "May"}]}], "[0].messages[0].created_at", "ISO"),
        ([{"messages": [{"role": "user", "content": "x", "created_at": True}]}], "[0].messages[0].created_at", "ISO"),
        ([{"messages": [{"role": "user", "content": "x", "timestamp": 1e300}]}], "[0].messages[0].timestamp", "ISO"),
        ([{"messages": [{"role": "user", "content": "x", "metadata": [1]}]}], "[0].messages[0].metadata", "object"),
        ([{"messages": [{"role": "user", "content": "x", "metadata": {"k": "\x00"}}]}], "[0].messages[0]", "NUL"),
        ([{"messages": [{"role": "user", "content": "x", "name": 5}]}], "[0].messages[0].name", "expected name"),
        ([{"messages": [{"role": "assistant", "tool_calls": [{}]}]}], "[0].messages[0].tool_calls[0].id", "null"),
        ({"messages": [{"role": "user", "content": "x"}], "user": " "}, "user", "empty"),
        ([{"conversations": [{"from": "alien", "value": "x"}]}], "[0].conversations[0].from", "not 'alien'"),
        ([{"conversations": [{"from": "gpt", "value": ""}]}], "[0].conversations[0].value", "expected some text"),
        ([{"sample_id": None, "conversation": {"session_1": []}}], "[0].sample_id", "not null"),
        (
            [{"sample_id": "c", "conversation": {"session_1": [], "session_1_date_time": "13:00"}}],
            "[0].conversation.session_1_date_time",
            "1:56 pm on 8 May, 2023",
        ),
        (
            [{"sample_id": "c", "conversation": {"session_1": [{"speaker": "Ann", "text": ""}]}}],
            "[0].conversation.session_1[0].text",
            "expected some text",
        ),
    ],
)
def test_a_bad_value_is_named_by_file_and_json_path(tmp_path: Path, content: object, where: str, problem: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(BadFile) as caught:
        list(read(path))
    assert (caught.value.file, caught.value.where) == (str(path), where)
    assert str(caught.value).startswith(f"{path}: {where}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, InvalidInput)


@pytest.mark.parametrize(
    ("content", "name", "where", "problem"),
    [
        (b"\xff\xfe{\x00", "chat.json", "line 1", "UTF-8"),
        (b'{"role": "user", "content": "x"}\n{"role": "user", "content": "\xe4"}\n', "chat.jsonl", "line 2", "UTF-8"),
        (b'[\n  {"role": "user",\n  "content": }]', "chat.json", "line 3", "valid JSON"),
        (b'{"role": "user", "content": NaN}', "chat.jsonl", "line 1", "NaN"),
        (b'[{"messages": ' + b"[" * 100_000, "chat.json", "", "nested too deeply"),
        (b"", "chat.json", "", "empty"),
        (b"\xef\xbb\xbf \n\n", "chat.jsonl", "", "empty"),
    ],
)
def test_what_is_no_json_text_is_named_by_its_line(
    tmp_path: Path, content: bytes, name: str, where: str, problem: str
) -> None:
    path = written(tmp_path, content, name)
    with pytest.raises(BadFile, match=problem) as caught:
        list(read(path))
    assert (caught.value.file, caught.value.where) == (str(path), where)


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    for name in ("finetune.jsonl", "sharegpt.json"):
        path = written(tmp_path, b"\xef\xbb\xbf" + (DATA / name).read_bytes(), name)
        assert [said(c) for c in read(path)] == [said(c) for c in read(DATA / name)]


def test_a_folder_and_a_missing_file_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="not a folder"):
        read(tmp_path)
    with pytest.raises(BadFile, match="no such file"):
        read(tmp_path / "gone.json")


@pytest.mark.parametrize("bad", ["{oops", '{"role": "boss", "content": "x"}', "[]"])
def test_what_stood_before_a_bad_line_is_read_before_the_error(tmp_path: Path, bad: str) -> None:
    good = [json.dumps({"role": "user", "content": str(n)}) for n in range(16)]
    stream = read(written(tmp_path, "\n".join([*good, bad, good[0]]), "log.jsonl"))
    assert said(next(stream)) == [str(n) for n in range(16)]
    with pytest.raises(BadFile) as caught:
        next(stream)
    assert caught.value.where.startswith("line 17")


@pytest.mark.parametrize("shape", ["messages", "conversations"])
def test_a_long_json_lines_file_is_never_in_memory_at_once(tmp_path: Path, shape: str) -> None:
    message = {"role": "user", "content": "x" * 1000}
    line = json.dumps(message if shape == "messages" else {"messages": [message]}) + "\n"
    path = written(tmp_path, line * 8000, "long.jsonl")
    tracemalloc.start()
    try:
        total = sum(len(piece.messages) for piece in read(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == 8000
    assert peak < path.stat().st_size / 2
