"""What an embedder is asked for a question."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anaphora import Memory
from anaphora.models.embedders.profiles import GENERIC
from anaphora.models.embedders.remote import RemoteEmbedder
from anaphora.testing.embeddings import by_words
from anaphora.testing.model_server import ScriptedModelServer

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("prefix", ["", "query: "])
async def test_what_a_search_asks_is_one_request_and_what_two_would_answer(prefix: str) -> None:
    with ScriptedModelServer(embed=by_words(24)) as server:
        profile = replace(GENERIC, query_prefix=prefix)
        embedder = RemoteEmbedder.from_name("openai:scripted", base_url=server.base_url, profile=profile)
        assert embedder.profile.alike
        question = "Which number does Anna's locker have?"
        async with Memory.open(":memory:", embedder=embedder, worker=False) as memory:
            embedder.embed(["dogs"])
            before = len(server.embeddings.requests)
            await memory.search(question, user="ann")
            (request,) = server.embeddings.requests[before:]
            whole, telling = request.texts
            assert (whole, telling.startswith(prefix)) == (question, True)
            one, other = embedder.embed([question]), embedder.embed_query(telling.removeprefix(prefix))
            assert embedder.embed([whole, telling]) == [*one, other]
