"""Embedders over HTTP: what is asked, what comes of it, and what of every fault."""

from __future__ import annotations

import json
import math
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest

from anaphora.domain.vectors import Space
from anaphora.errors import ConfigError, ModelError, ModelOutputInvalid, ModelRefused, ModelUnavailable
from anaphora.models.embedders.profiles import GENERIC
from anaphora.models.embedders.remote import TEXTS_AT_A_TIME, RemoteEmbedder
from anaphora.services.meanings import vectors_of
from anaphora.testing import faults
from anaphora.testing.embeddings import by_topics, by_words
from anaphora.testing.faults import Fault, Reply
from anaphora.testing.model_server import ScriptedModelServer

KEY = "sk-very-secret-key"
NAME = "openai:scripted"
SAID = "my locker number is 4711"
DIMENSIONS = 24


@dataclass(frozen=True, kw_only=True)
class Raw:
    """A body of one's own."""

    body: object

    def spoil(self, reply: Reply) -> Reply:
        return replace(reply, raw=json.dumps(self.body).encode())


def numbers(*values: object) -> Raw:
    return Raw(body={"object": "list", "model": "m", "data": [{"embedding": [*values], "index": 0}]})


TRY_AGAIN: tuple[Fault, ...] = (
    faults.RateLimited(),
    faults.ServerError(500),
    faults.ServerError(503),
    faults.BrokenBody(),
    faults.Dropped(),
)
REFUSED: tuple[Fault, ...] = (faults.BadKey(), faults.UnknownModel(), faults.BadRequest())
INVALID: tuple[Fault, ...] = (
    faults.NotANumber(),
    faults.NotANumber(math.inf),
    faults.NoDirection(),
    faults.WrongDimensions(3),
    faults.WrongDimensions(-3),
    faults.MissingVector(),
    numbers(*([0.5] * (DIMENSIONS - 1)), "x"),
    numbers(*([0.5] * (DIMENSIONS - 1)), None),
    Raw(body={"data": None}),
    Raw(body={"hello": "world"}),
    Raw(body=[]),
    Raw(body={"data": [{"embedding": "no base64"}]}),
)


@pytest.fixture(scope="module")
def running() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(embed=by_words(DIMENSIONS)) as server:
        yield server


@pytest.fixture
def server(running: ScriptedModelServer) -> ScriptedModelServer:
    running.reset()
    return running


@pytest.fixture
def embedder(server: ScriptedModelServer) -> Iterator[RemoteEmbedder]:
    made = RemoteEmbedder.from_name(NAME, base_url=server.base_url, api_key=KEY)
    yield made
    made.close()


def close_to(vector: Any) -> Any:
    """As exact as float32 on the wire."""
    return pytest.approx(list(vector), abs=1e-6)


def test_each_text_has_its_vector_of_length_one(embedder: RemoteEmbedder) -> None:
    texts = ["a dog", "a cat", "a dog"]
    vectors = embedder.embed(texts)
    assert vectors == [close_to(by_words(DIMENSIONS)(text)) for text in texts]
    assert [math.hypot(*vector) for vector in vectors] == [pytest.approx(1)] * 3
    assert embedder.embed_query("a cat") == close_to(vectors[1])
    assert embedder.embed([]) == []


def test_vectors_of_another_length_are_brought_to_length_one(
    server: ScriptedModelServer, embedder: RemoteEmbedder
) -> None:
    server.embeddings.fail_next(numbers(3, 4))
    assert embedder.embed(["a"]) == [close_to([0.6, 0.8])]


def test_several_texts_are_one_request_and_many_are_a_few(
    server: ScriptedModelServer, embedder: RemoteEmbedder
) -> None:
    texts = [f"text {number}" for number in range(TEXTS_AT_A_TIME * 2 + 1)]
    assert embedder.embed(texts) == [close_to(by_words(DIMENSIONS)(text)) for text in texts]
    assert [len(request.texts) for request in server.embeddings.requests] == [TEXTS_AT_A_TIME, TEXTS_AT_A_TIME, 1]
    assert [text for request in server.embeddings.requests for text in request.texts] == texts


def test_background_work_sends_as_many_texts_in_a_request_as_go_into_one(
    server: ScriptedModelServer, embedder: RemoteEmbedder
) -> None:
    made = anyio.run(vectors_of, embedder, [f"text {number}" for number in range(TEXTS_AT_A_TIME + 1)])
    assert len(made) == TEXTS_AT_A_TIME + 1
    assert [len(request.texts) for request in server.embeddings.requests] == [TEXTS_AT_A_TIME, 1]


def test_the_request_carries_model_and_key_and_dimensions_only_if_they_were_set(
    server: ScriptedModelServer, embedder: RemoteEmbedder
) -> None:
    embedder.embed(["a"])
    (request,) = server.embeddings.requests
    assert request.body["model"] == "scripted"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "dimensions" not in request.body


def test_dimensions_that_were_set_are_asked_for_and_known_without_asking(server: ScriptedModelServer) -> None:
    embedder = RemoteEmbedder.from_name(NAME, base_url=server.base_url, dimensions=8)
    assert embedder.profile.dimensions == 8
    assert not server.embeddings.requests
    assert len(embedder.embed_query("a dog")) == 8
    assert server.embeddings.requests[0].body["dimensions"] == 8
    embedder.close()


def test_a_server_that_does_not_heed_the_dimensions_is_found_out(server: ScriptedModelServer) -> None:
    embedder = RemoteEmbedder.from_name(NAME, base_url=server.base_url, dimensions=8)
    server.embeddings.fail_next(faults.WrongDimensions(DIMENSIONS - 8))
    with pytest.raises(ModelOutputInvalid, match=f"of {DIMENSIONS}, not of 8"):
        embedder.embed(["a dog"])
    embedder.close()


def test_dimensions_are_asked_for_once_with_a_word_when_somebody_wants_to_know(
    server: ScriptedModelServer, embedder: RemoteEmbedder
) -> None:
    profile = embedder.profile
    assert (repr(profile), profile.even_cosine) == (f"RemoteProfile(id={profile.id!r})", GENERIC.even_cosine)
    assert profile == embedder.profile
    assert len({profile, embedder.profile}) == 1
    assert not server.embeddings.requests, "nothing of this needs to be asked"
    assert [profile.dimensions, embedder.profile.dimensions] == [DIMENSIONS, DIMENSIONS]
    assert [request.texts for request in server.embeddings.requests] == [("word",)]


def test_a_length_that_cannot_be_learned_is_an_error_and_is_asked_for_again(
    server: ScriptedModelServer, embedder: RemoteEmbedder
) -> None:
    server.embeddings.fail_next(faults.ServerError(503))
    with pytest.raises(ModelUnavailable):
        _ = embedder.profile.dimensions
    assert embedder.profile.dimensions == DIMENSIONS


def test_after_the_first_vector_its_length_is_known(server: ScriptedModelServer, embedder: RemoteEmbedder) -> None:
    embedder.embed_query("a dog")
    assert embedder.profile.dimensions == DIMENSIONS
    assert len(server.embeddings.requests) == 1


def test_vectors_longer_than_any_store_keeps_are_refused_with_what_to_set(
    server: ScriptedModelServer, embedder: RemoteEmbedder
) -> None:
    server.embeddings.fault = faults.WrongDimensions(4096 - DIMENSIONS)
    with pytest.raises(ModelRefused, match=r"4096.*embedder_dimensions"):
        embedder.embed(["a dog"])


def test_the_id_tells_model_dimensions_and_place_and_no_secret() -> None:
    def made(**options: Any) -> str:
        return RemoteEmbedder.from_name(NAME, api_key=KEY, **options).profile.id

    place = "http://ann:password@gpu.internal:8000/v1?key=hidden"
    assert made(base_url=place) == "openai:scripted@gpu.internal:8000"
    assert made(base_url=place, dimensions=256) == "openai:scripted/256@gpu.internal:8000"
    assert made(base_url="https://embed.example.com/v1") == "openai:scripted@embed.example.com"
    assert made() == "openai:scripted@api.openai.com"
    names = {Space(profile=made(base_url=place, dimensions=size), dimensions=size).name for size in (256, 512)}
    assert len(names) == 2


def test_a_question_has_its_prefix_and_a_passage_has_none(server: ScriptedModelServer) -> None:
    profile = replace(GENERIC, query_prefix="query: ")
    embedder = RemoteEmbedder.from_name(NAME, base_url=server.base_url, profile=profile)
    embedder.embed_query("dogs")
    embedder.embed(["dogs"])
    assert [request.texts for request in server.embeddings.requests] == [("query: dogs",), ("dogs",)]
    embedder.close()


@pytest.mark.parametrize("text", ["", " \n", "\ud800 half a pair", "x" * 1_000_000, "\0"])
def test_every_text_has_a_vector(server: ScriptedModelServer, embedder: RemoteEmbedder, text: str) -> None:
    assert len(embedder.embed([text])[0]) == DIMENSIONS
    (sent,) = server.embeddings.requests[0].texts
    assert sent.strip(" \n")
    assert len(sent) <= 2048


@pytest.mark.parametrize("fault", TRY_AGAIN, ids=str)
def test_what_may_pass_is_unavailable(server: ScriptedModelServer, embedder: RemoteEmbedder, fault: Fault) -> None:
    server.embeddings.fault = fault
    with pytest.raises(ModelUnavailable, match=NAME):
        embedder.embed(["a"])
    assert len(server.embeddings.requests) == 1, "the worker tries again, nobody else"


@pytest.mark.parametrize("seconds", [7, 0.5, None])
def test_a_rate_limit_says_how_long_to_wait(
    server: ScriptedModelServer, embedder: RemoteEmbedder, seconds: float | None
) -> None:
    server.embeddings.fault = faults.RateLimited(seconds)
    with pytest.raises(ModelUnavailable) as caught:
        embedder.embed_query("a")
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize("fault", REFUSED, ids=str)
def test_what_will_not_pass_is_refused(server: ScriptedModelServer, embedder: RemoteEmbedder, fault: Fault) -> None:
    server.embeddings.fault = fault
    with pytest.raises(ModelRefused, match=f"{NAME}.*check"):
        embedder.embed(["a"])
    assert len(server.embeddings.requests) == 1


@pytest.mark.parametrize("fault", INVALID, ids=str)
def test_what_is_no_vector_is_invalid_and_spoils_all_of_the_texts(
    server: ScriptedModelServer, embedder: RemoteEmbedder, fault: Fault
) -> None:
    assert embedder.profile.dimensions == DIMENSIONS
    server.embeddings.fail_next(fault)
    with pytest.raises(ModelOutputInvalid, match=NAME):
        embedder.embed(["a"])
    assert embedder.profile.dimensions == DIMENSIONS
    assert len(embedder.embed(["a"])) == 1


def test_a_later_request_that_fails_leaves_nothing_of_the_first(
    server: ScriptedModelServer, embedder: RemoteEmbedder
) -> None:
    server.embeddings.fail_next(faults.SlowDrip(0))
    server.embeddings.fail_next(faults.MissingVector())
    with pytest.raises(ModelOutputInvalid, match="1 vectors for 2 texts"):
        embedder.embed(["a"] * (TEXTS_AT_A_TIME + 2))
    assert len(server.embeddings.requests) == 2


@pytest.mark.parametrize("fault", [faults.Timeout(), faults.EndlessStream()], ids=str)
def test_a_silent_server_is_given_up_at_the_deadline(server: ScriptedModelServer, fault: Fault) -> None:
    embedder = RemoteEmbedder.from_name(NAME, base_url=server.base_url, timeout=0.3)
    server.embeddings.fault = fault
    begin = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"0\.3 s"):
        embedder.embed(["a"])
    assert time.monotonic() - begin < 5
    assert server.wait_for_leavers(1)
    embedder.close()


def test_a_server_that_is_not_there_may_be_tried_again() -> None:
    with ScriptedModelServer() as gone:
        url = gone.base_url
    embedder = RemoteEmbedder.from_name(NAME, base_url=url)
    with pytest.raises(ModelUnavailable, match="base URL"):
        embedder.embed(["a"])
    embedder.close()


@pytest.mark.parametrize("fault", [*TRY_AGAIN, *REFUSED, *INVALID], ids=str)
def test_an_error_is_one_line_without_key_and_text(
    server: ScriptedModelServer, embedder: RemoteEmbedder, fault: Fault
) -> None:
    assert embedder.profile.dimensions == DIMENSIONS
    server.embeddings.fault = fault
    with pytest.raises(ModelError) as caught:
        embedder.embed([SAID])
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in shown
    assert SAID not in shown


def test_neither_embedder_nor_profile_shows_the_key(embedder: RemoteEmbedder) -> None:
    assert KEY not in repr(embedder) + repr(embedder.profile) + str(vars(embedder))


def test_the_users_openai_key_is_not_sent_to_another_server(
    server: ScriptedModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder = RemoteEmbedder.from_name(NAME, base_url=server.base_url)
    embedder.embed(["a"])
    embedder.close()
    assert KEY not in str(server.embeddings.requests[0].headers)


@pytest.mark.parametrize(
    ("name", "options", "line"),
    [
        ("openai:text-embedding-3-small", {}, "set OPENAI_API_KEY"),
        ("azure:mine", {}, "set AZURE_OPENAI_ENDPOINT"),
        ("cohere:embed-v4.0", {}, r"pip install 'pydantic-ai-slim\[cohere\]'"),
        ("text-embedding-3-small", {}, "openai:text-embedding-3-small"),
        ("openai:", {}, "openai:text-embedding-3-small"),
        ("opnai:text-embedding-3-small", {}, "did you mean 'openai'"),
        ("anthropic:embed", {}, "unknown provider 'anthropic'"),
        (NAME, {"base_url": "localhost:8000"}, "http://localhost:8000/v1"),
        (NAME, {"base_url": "http://localhost:999999/v1"}, "http://localhost:8000/v1"),
        (NAME, {"api_key": f"{KEY}\n"}, "API key"),
        ("deepseek:embed", {"api_key": KEY, "base_url": "http://127.0.0.1/v1"}, "takes no base_url"),
    ],
)
def test_a_name_that_cannot_work_says_what_to_do(name: str, options: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError, match=line) as caught:
        RemoteEmbedder.from_name(name, **options)
    assert "\n" not in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_question_does_not_wait_for_a_request_that_hangs(
    server: ScriptedModelServer, embedder: RemoteEmbedder
) -> None:
    server.embeddings.fail_next(faults.Timeout())
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(embedder.embed, ["a"])
        give_up = time.monotonic() + 5
        while not server.embeddings.requests:
            assert time.monotonic() < give_up
            time.sleep(0.005)
        assert len(embedder.embed_query("a dog")) == DIMENSIONS
        assert not hanging.done()
        embedder.close()
        with pytest.raises(ModelUnavailable, match="closed"):
            hanging.result(5)


def test_many_threads_share_one_embedder(embedder: RemoteEmbedder) -> None:
    texts = [f"text {number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda text: embedder.embed([text])[0], texts))
    assert made == [close_to(by_words(DIMENSIONS)(text)) for text in texts]


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "anaphora-embedder"]


def test_a_closed_embedder_keeps_no_thread_and_says_that_it_is_closed(
    server: ScriptedModelServer, embedder: RemoteEmbedder
) -> None:
    assert threads() == [], "it begins with the first call"
    embedder.embed(["a"])
    assert len(threads()) == 1
    embedder.close()
    embedder.close()
    assert threads() == []
    with pytest.raises(ModelUnavailable, match="closed"):
        embedder.embed(["a"])
    assert len(server.embeddings.requests) == 1


def test_an_embedder_that_nobody_has_any_more_ends_its_thread(server: ScriptedModelServer) -> None:
    embedder = RemoteEmbedder.from_name(NAME, base_url=server.base_url)
    embedder.embed(["a"])
    (thread,) = threads()
    del embedder
    thread.join(5)
    assert not thread.is_alive()


def test_words_of_one_topic_are_close_without_being_the_same() -> None:
    embed = by_topics({"pets": ["dog", "pet"], "food": ["peanuts", "eat"]})

    def cosine(one: str, other: str) -> float:
        return math.fsum(a * b for a, b in zip(embed(one), embed(other), strict=True))

    assert cosine("My dog is called Rex", "Which pet do they own?") > 0.8
    assert cosine("My dog is called Rex", "What may I not eat?") < 0.3
