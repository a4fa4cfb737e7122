from __future__ import annotations

import base64
import http.client
import json
import math
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
import pytest

from anaphora.errors import InvalidInput
from anaphora.models.prompted import request as in_words
from anaphora.testing import faults
from anaphora.testing.faults import Reply
from anaphora.testing.model_server import ScriptedModelServer

SCHEMA = {"title": "points", "type": "object"}
HELLO = [{"role": "user", "content": "hello there"}]


def fetch(server: ScriptedModelServer, path: str, body: Any = None, *, timeout: float = 5.0) -> tuple[int, str]:
    """Status and body of an answer."""
    place = urlsplit(server.base_url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=timeout)
    with closing(connection):
        connection.request("GET" if body is None else "POST", place.path + path, json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read().decode()


def ask(server: ScriptedModelServer, timeout: float = 5.0, **body: Any) -> Any:
    """The parsed answer, or the status of an error."""
    wanted = {"model": "scripted", "messages": HELLO} | body
    status, answer = fetch(server, "/chat/completions", wanted, timeout=timeout)
    return json.loads(answer) if status == 200 else status


def text(server: ScriptedModelServer, **body: Any) -> str:
    return str(ask(server, **body)["choices"][0]["message"]["content"])


def native(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": schema["title"], "schema": schema}}


def test_without_a_script_it_repeats_what_was_said() -> None:
    with ScriptedModelServer() as server:
        assert text(server) == "You said: hello there"


def test_a_script_sees_the_request_and_decides() -> None:
    with ScriptedModelServer(lambda request: request.last_user_text.upper()) as server:
        assert text(server) == "HELLO THERE"


def test_a_script_may_answer_with_a_whole_reply_or_a_fault() -> None:
    replies: Iterator[Reply | faults.Fault] = iter([Reply(text="cut", finish_reason="length"), faults.ServerError(503)])
    with ScriptedModelServer(lambda _: next(replies)) as server:
        assert ask(server)["choices"][0]["finish_reason"] == "length"
        assert ask(server) == 503


def test_a_schema_is_answered_by_its_responder_natively_and_in_words() -> None:
    with ScriptedModelServer(responders={"points": lambda _: '{"points": []}'}) as server:
        assert text(server, response_format=native(SCHEMA)) == '{"points": []}'
        assert text(server, messages=[{"role": "system", "content": in_words(SCHEMA)}, *HELLO]) == '{"points": []}'


def test_a_schema_that_nobody_answers_is_refused_loudly() -> None:
    with ScriptedModelServer() as server:
        assert ask(server, response_format=native(SCHEMA)) == 400


def test_a_stream_is_server_sent_events_with_usage_and_an_end() -> None:
    with ScriptedModelServer() as server:
        wanted = {"messages": HELLO, "stream": True, "stream_options": {"include_usage": True}}
        _, answer = fetch(server, "/chat/completions", wanted)
    events = [line.removeprefix("data: ") for line in answer.split("\n\n") if line]
    assert events.pop() == "[DONE]"
    chunks = [json.loads(event) for event in events]
    assert chunks.pop()["usage"]["total_tokens"] > 0
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks) == "You said: hello there"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"


def test_it_lists_its_models() -> None:
    with ScriptedModelServer(models=["a", "b"]) as server:
        _, answer = fetch(server, "/models")
    assert [model["id"] for model in json.loads(answer)["data"]] == ["a", "b"]


def test_another_path_is_not_found() -> None:
    with ScriptedModelServer() as server:
        assert fetch(server, "/images", {})[0] == 404


def test_every_request_is_kept_in_order_with_its_time() -> None:
    before = time.monotonic()
    with ScriptedModelServer() as server:
        for temperature in (0.1, 0.2):
            ask(server, temperature=temperature)
        first, second = server.requests
    assert [first.body["temperature"], second.body["temperature"]] == [0.1, 0.2]
    assert before <= first.at <= second.at <= time.monotonic()


def test_queued_faults_come_first_and_once_then_the_steady_one() -> None:
    with ScriptedModelServer() as server:
        server.fault = faults.ServerError(503)
        server.fail_next(faults.RateLimited(), times=2)
        server.fail_next(faults.BadKey())
        assert [ask(server) for _ in range(5)] == [429, 429, 401, 503, 503]
        server.fault = None
        assert text(server)


def test_random_faults_are_the_same_for_the_same_seed() -> None:
    def run(seed: int) -> list[bool]:
        server.reset()
        server.fail_sometimes(faults.ServerError(), probability=0.5, seed=seed)
        return [ask(server) == 500 for _ in range(24)]

    with ScriptedModelServer() as server:
        assert run(1) == run(1)
        assert run(1) != run(2)
        assert 2 < sum(run(1)) < 22


def test_a_reset_forgets_requests_and_faults() -> None:
    with ScriptedModelServer() as server:
        server.fault = faults.ServerError()
        server.fail_next(faults.BadKey())
        server.fail_sometimes(faults.UnknownModel(), probability=1, seed=0)
        ask(server)
        server.reset()
        assert server.requests == ()
        assert text(server)


def test_impossible_citations_are_valid_json() -> None:
    with ScriptedModelServer(lambda _: '{"points": [{"text": "7", "first": 3, "done": true}]}') as server:
        server.fault = faults.WrongIds()
        assert json.loads(text(server)) == {"points": [{"text": "7", "first": 1_000_003, "done": True}]}
        server.fault = faults.WrongIds(transform=str.upper)
        assert text(server).startswith('{"POINTS"')


def hang(server: ScriptedModelServer, heard: list[str]) -> None:
    try:
        ask(server, timeout=10)
    except (OSError, ValueError, http.client.HTTPException) as error:
        heard.append(type(error).__name__)
    else:
        heard.append("an answer")


@pytest.mark.parametrize("fault", [faults.Timeout(), faults.SlowDrip(30), faults.EndlessStream()])
def test_it_stops_at_once_though_requests_hang_and_leaves_no_thread(
    fault: faults.Fault, caplog: pytest.LogCaptureFixture
) -> None:
    before = set(threading.enumerate())
    heard: list[str] = []
    with ScriptedModelServer() as server:
        server.fault = fault
        clients = [threading.Thread(target=hang, args=(server, heard)) for _ in range(3)]
        for client in clients:
            client.start()
        give_up = time.monotonic() + 5
        while len(server.requests) < 3 and time.monotonic() < give_up:
            time.sleep(0.005)
        begin = time.monotonic()
    assert time.monotonic() - begin < 1
    for client in clients:
        client.join(2)
    assert len(heard) == 3
    assert set(threading.enumerate()) <= before
    assert caplog.records == []


def test_it_notices_who_left_before_the_end() -> None:
    with ScriptedModelServer() as server:
        ask(server)
        assert not server.wait_for_leavers(1, timeout=0.05)
        server.fault = faults.Timeout()
        with pytest.raises(TimeoutError):
            ask(server, timeout=0.05)
        assert server.wait_for_leavers(1)


def test_it_can_be_started_again_and_has_no_address_in_between() -> None:
    server = ScriptedModelServer()
    for _ in range(2):
        with server:
            assert text(server)
        with pytest.raises(InvalidInput, match="with block"):
            _ = server.base_url
    server.stop()


def test_it_does_not_start_twice() -> None:
    with ScriptedModelServer() as server, pytest.raises(InvalidInput, match="runs already"):
        server.start()


@pytest.mark.anyio
async def test_it_runs_in_an_async_block() -> None:
    async with ScriptedModelServer() as server:
        assert await anyio.to_thread.run_sync(text, server) == "You said: hello there"


def vectors(server: ScriptedModelServer, *texts: str, **body: Any) -> Any:
    """What is sent for the texts, or the status of an error."""
    status, answer = fetch(server, "/embeddings", {"model": "scripted", "input": texts} | body)
    return [item["embedding"] for item in json.loads(answer)["data"]] if status == 200 else status


def test_texts_get_vectors_of_length_one_that_depend_on_their_words_alone() -> None:
    with ScriptedModelServer() as server:
        dog, again, cat = vectors(server, "a dog", "A dog!", "some cats")
        assert vectors(server, "some cats") == [cat]
    assert dog == again != cat
    assert [math.hypot(*vector) for vector in (dog, cat)] == [pytest.approx(1)] * 2


def test_vectors_are_packed_and_shortened_if_that_is_wanted() -> None:
    with ScriptedModelServer(embed=lambda text: [0.5, len(text), -1.0]) as server:
        (packed,) = vectors(server, "four", encoding_format="base64")
        assert struct.unpack("<3f", base64.b64decode(packed)) == (0.5, 4.0, -1.0)
        assert vectors(server, "four", dimensions=2) == [[0.5, 4]]
        assert vectors(server, "four", dimensions=4) == 400
        assert [request.texts for request in server.embeddings.requests] == [("four",)] * 3


def test_each_route_has_requests_and_faults_of_its_own() -> None:
    with ScriptedModelServer() as server:
        server.fault = faults.ServerError()
        server.embeddings.fail_next(faults.RateLimited())
        assert vectors(server, "a") == 429
        assert len(vectors(server, "a", "b")) == 2
        assert ask(server) == 500
        assert (len(server.requests), len(server.embeddings.requests)) == (1, 2)
        server.embeddings.fault = faults.BadKey()
        server.reset()
        assert server.embeddings.requests == ()
        assert len(vectors(server, "a")) == 1


@pytest.mark.parametrize(
    ("fault", "sent"),
    [
        (faults.NotANumber(), "[[1.0, 2.0], [1.0, NaN]]"),
        (faults.NotANumber(math.inf), "[[1.0, 2.0], [1.0, Infinity]]"),
        (faults.NoDirection(), "[[0.0, 0.0], [0.0, 0.0]]"),
        (faults.WrongDimensions(1), "[[1.0, 2.0, 0.5], [1.0, 2.0, 0.5]]"),
        (faults.WrongDimensions(-1), "[[1.0], [1.0]]"),
        (faults.MissingVector(), "[[1.0, 2.0]]"),
    ],
    ids=str,
)
def test_a_fault_of_vectors_is_sent_as_it_is_meant(fault: faults.Fault, sent: str) -> None:
    with ScriptedModelServer(embed=lambda _: [1.0, 2.0]) as server:
        server.embeddings.fault = fault
        assert json.dumps(vectors(server, "a", "b")) == sent
