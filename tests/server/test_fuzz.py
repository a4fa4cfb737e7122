"""F16: whatever is sent to any route, the answer is one that the document promises, and no fault of the service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
import schemathesis
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st
from requests import Request
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.generation.modes import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.databases.chosen import POSTGRES, SQLITE, on
from tests.server.harness import HERE, Service, served

from anaphora.domain.changes import Change
from anaphora.server.listening import Listeners

CHECKS: Final = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
)
EVERY_DAY: Final = 120
DEEP: Final = 10_000
#: what the service answers on purpose, and not because it failed: no chat model, or not ready for it now
_UNAVAILABLE: Final = 503


schemathesis.serializer.alias("application/x-ndjson", "text/plain")


class _Brief(Listeners):
    """Streams that end at once: the others never would."""

    async def told(
        self, changes: AsyncGenerator[Change], mark: str, still: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[str]:
        async for told in super().told(changes, mark, still):
            yield told
            break


async def _begun(service: Service) -> None:
    """Some memory, so that not everything that is asked for is missing."""
    for session in ("0", "s1", "1"):
        for number in range(6):
            said = {"role": "user" if number % 2 == 0 else "assistant", "content": f"I like number {number}."}
            await service.ann.post(f"/v1/sessions/{session}/messages", json=said)
    await service.memory.facts.add("I live in Paris.", user="ann")
    await service.memory.work()
    service.app.state.listeners = _Brief()


@contextmanager
def asked(folder: Path) -> Iterator[tuple[Service, BlockingPortal]]:
    """A service that tests of one thread can ask."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(served(folder)) as service:
        portal.call(_begun, service)
        yield service, portal


def _sent(case: schemathesis.Case[Any]) -> Mapping[str, Any]:
    """The request of a case, byte by byte."""
    kwargs = dict(case.as_transport_kwargs(base_url=HERE))
    taken = {
        name: kwargs[name]
        for name in ("method", "url", "headers", "params", "json", "data", "files")
        if kwargs.get(name) is not None
    }
    made = Request(**taken).prepare()
    body = made.body if made.body is not None else b""
    return {
        "method": made.method,
        "url": made.url,
        "headers": {name: value for name, value in made.headers.items() if name.lower() != "content-length"},
        "content": body.encode() if isinstance(body, str) else body,
    }


def _without_keys(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a service that everybody may ask: keys are sent beside what is made here."""
    paths = {
        path: {
            method: {name: value for name, value in operation.items() if name != "security"}
            for method, operation in operations.items()
        }
        for path, operations in document["paths"].items()
    }
    parts = {name: value for name, value in document["components"].items() if name != "securitySchemes"}
    return {**document, "paths": paths, "components": parts}


def _checks_of(case: schemathesis.Case[Any]) -> tuple[Any, ...]:
    """A form is text alone: a null in it arrives as the word, which is a fine title."""
    if case.media_type == "multipart/form-data":
        return tuple(check for check in CHECKS if check is not negative_data_rejection)
    return CHECKS


def check_answers(folder: Path, examples: int) -> None:
    """Ask so many times: half of it is as the document has it, half of it is not."""
    with asked(folder) as (service, portal):
        schema = schemathesis.openapi.from_dict(_without_keys(service.app.openapi()))
        operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
        asked_of = [each for each in operations if each.body or any(each.iter_parameters())]
        assert len(asked_of) > 20

        async def ask(case: schemathesis.Case[Any]) -> httpx2.Response:
            return await service.ann.request(**_sent(case))

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],
        )
        @given(st.data())
        def law(data: st.DataObject) -> None:
            operation = data.draw(st.sampled_from(operations), label="operation")
            modes = list(GenerationMode) if operation in asked_of else [GenerationMode.POSITIVE]
            mode = data.draw(st.sampled_from(modes), label="mode")
            case = data.draw(operation.as_strategy(generation_mode=mode), label="case")
            try:
                response = portal.call(ask, case)
            except httpx2.InvalidURL:
                reject()  # no client sends it; too long a head is asked in tests/cli/test_serve_command.py
            if response.status_code == _UNAVAILABLE:
                assert response.headers["retry-after"]
            case.validate_response(response, checks=list(_checks_of(case)))

        law()


def test_no_request_finds_a_fault(tmp_path: Path) -> None:
    check_answers(tmp_path, EVERY_DAY)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", [SQLITE, POSTGRES])
def test_ten_thousand_requests_find_no_fault(tmp_path: Path, database: str) -> None:
    with on(database):
        check_answers(tmp_path, DEEP)
