"""The wire is the domain (ADR 0019): a client that reads an answer back has what the service had."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.routing import iter_route_contexts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tests.server.answers import answers
from tools.rest_page import service

#: each kind once, by the name of a route that answers with it
ANSWERS = {
    name: model
    for model, name in {
        route.response_model: str(route.name)
        for route in iter_route_contexts(service().routes)
        if getattr(route, "response_model", None) is not None
    }.items()
}


def test_every_kind_of_answer_is_looked_at() -> None:
    assert len(ANSWERS) > 15


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_an_answer_reads_back_as_it_was(name: str) -> None:
    adapter = TypeAdapter[Any](ANSWERS[name])

    @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
    @given(st.data())
    def law(data: st.DataObject) -> None:
        answer = data.draw(answers(ANSWERS[name]))
        assert adapter.validate_json(adapter.dump_json(answer)) == answer

    law()
