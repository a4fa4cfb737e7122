"""What operators see: lines, figures and spans for every request, and nothing that anybody said or is called."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.memory.harness import opened
from tests.server.harness import HERE, Known, Service, operator, person, served

from anaphora.server import create_app
from anaphora.server.logs import Format, service_logs
from anaphora.server.metrics import Metrics
from anaphora.server.tracing import BESIDE, operation_of

pytestmark = pytest.mark.anyio

SECRETS = ("my-secret-session", "ann-the-user", "peanut-secret", "tenant-secret")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def value_of(text: str, series: str) -> float:
    found = re.search(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)
    assert found is not None, f"no {series} in\n{text}"
    return float(found[1])


async def talk(service: Service, session: str = "s1", turns: int = 12) -> None:
    for number in range(turns):
        for role in ("user", "assistant"):
            said = {"role": role, "content": f"peanut-secret {number} {'and more words ' * 20}"}
            answer = await service.ann.post(f"/v1/sessions/{session}/messages", json=said)
            assert answer.status_code == 201


async def test_requests_are_counted_by_route_and_status_without_names(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await talk(service, "my-secret-session", turns=1)
        await service.nobody.get("/v1/sessions")
        await service.ann.get("/wp-admin/my-secret-session.php")
        await service.ann.request("BREW", "/v1/sessions")
        text = (await service.nobody.get("/metrics")).text
        route = "/v1/sessions/{session}/messages"
        assert value_of(text, f'anaphora_http_requests_total{{method="POST",route="{route}",status="201"}}') == 2
        assert value_of(text, 'anaphora_http_requests_total{method="GET",route="/v1/sessions",status="401"}') == 1
        assert value_of(text, 'anaphora_http_requests_total{method="GET",route="(none)",status="404"}') == 1
        assert value_of(text, f'anaphora_http_request_seconds_count{{method="POST",route="{route}"}}') == 2
        assert "BREW" not in text
        assert not [secret for secret in SECRETS if secret in text]


async def test_figures_of_the_memory_are_those_of_its_rows(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await talk(service)
        await service.memory.work()
        await service.ann.post("/v1/sessions/s2/messages", json={"role": "user", "content": "Hello."})
        text = (await service.nobody.get("/metrics")).text
        figures = await service.memory.figures()
        stats = await service.memory.stats(tenant="t")
        made = sum(stats["by_method"].values())
        assert made > 0
        assert value_of(text, "anaphora_sessions") == 2
        assert value_of(text, "anaphora_messages") == 25
        assert value_of(text, 'anaphora_summaries{method="extractive",status="completed"}') == made
        assert value_of(text, "anaphora_jobs_waiting") == await service.memory.jobs.live() == figures.queued
        assert value_of(text, "anaphora_jobs_stuck") == 0
        context = await service.memory.session(user="ann", session="s1", tenant="t").context("?", budget=4000)
        served_to = max(each.stop for each in context.coverage.summarised)
        # a served summary answers for more messages than those that its points speak for
        assert 1 <= value_of(text, "anaphora_gap_messages") <= 25 - served_to
        assert value_of(text, "anaphora_saved_tokens") == figures.saved_tokens
        assert 0 <= figures.summary_tokens <= figures.summarised_tokens


async def test_metrics_are_for_this_machine_and_for_operators(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        assert (await service.nobody.get("/metrics")).status_code == 200
        proxied = {"X-Forwarded-For": "127.0.0.1"}
        assert (await service.nobody.get("/metrics", headers=proxied)).status_code == 401
        assert (await service.ann.get("/metrics", headers=proxied)).status_code == 403
        assert (await service.operator.get("/metrics", headers=proxied)).status_code == 200
        transport = httpx2.ASGITransport(service.app, client=("192.0.2.7", 4711))
        async with httpx2.AsyncClient(transport=transport, base_url=HERE) as far:
            assert (await far.get("/metrics")).status_code == 401


async def test_two_services_of_one_process_do_not_count_each_others_requests(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        other = Metrics(service.memory)
        await service.ann.get("/v1/sessions")
        assert b"/v1/sessions" not in await other.text()


async def test_it_is_ready_while_the_database_answers_and_alive_without(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        assert (await service.nobody.get("/ready")).json() == {"status": "ready", "jobs": 0}
        await service.memory._services.store.close()
        red = await service.nobody.get("/ready")
        assert red.status_code == 503
        assert red.headers["content-type"] == "application/problem+json"
        assert (await service.nobody.get("/health")).json() == {"status": "ok"}
        # what this process knows itself is told anyway: nobody else tells of it now
        metrics = await service.nobody.get("/metrics")
        assert metrics.status_code == 200
        assert value_of(metrics.text, "anaphora_up") == 0


async def test_it_is_not_ready_once_the_file_of_its_database_is_gone(tmp_path: Path) -> None:
    async with served(tmp_path, db=str(tmp_path / "m.db")) as service:
        (tmp_path / "m.db").rename(tmp_path / "away.db")
        assert (await service.nobody.get("/ready")).status_code == 503
        said = {"role": "user", "content": "Hello."}
        refused = await service.ann.post("/v1/sessions/s1/messages", json=said)
        assert (refused.status_code, refused.json()["error"]) == (503, "StoreError")


@pytest.mark.parametrize("form", ["json", "text"])
async def test_each_request_is_a_line_without_content(
    tmp_path: Path, form: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = Known({"ann": person("ann-the-user", tenant="tenant-secret"), "op": operator("tenant-secret")})
    async with opened(tmp_path) as memory:
        with service_logs(form):
            transport = httpx2.ASGITransport(create_app(memory, gate))
            async with httpx2.AsyncClient(transport=transport, base_url=HERE) as client:
                client.headers["Authorization"] = "Bearer ann"
                said = {"role": "user", "content": "peanut-secret"}
                path = "/v1/sessions/my-secret-session/messages"
                await client.post(path, json=said, headers={"X-Request-Id": "id-1"})
                await client.post(
                    f"{path}?q=peanut-secret", content=b"{peanut-secret", headers={"Content-Type": "application/json"}
                )
                await client.get("/v1/sessions", headers={"Host": "peanut-secret.example"})
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert not [secret for secret in SECRETS if secret in "\n".join(lines)]
    assert not [line for line in lines if "HTTPStatus" in line], "a status is a number"
    if form == "json":
        first, *others = [json.loads(line) for line in lines]
        ms, at = first.pop("ms"), first.pop("at")
        assert ms >= 0
        assert at.endswith("Z")
        assert re.fullmatch("[0-9a-f]{16}", first.pop("tenant"))
        assert first == {
            "event": "request",
            "level": "info",
            "request_id": "id-1",
            "method": "POST",
            "route": "/v1/sessions/{session}/messages",
            "status": 201,
        }
        assert [line["status"] for line in others] == [400, 403]
    else:
        assert "route=/v1/sessions/{session}/messages status=201" in lines[0]


@asynccontextmanager
async def traced(folder: Path) -> AsyncIterator[tuple[httpx2.AsyncClient, InMemorySpanExporter]]:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    gate = Known({"ann": person("ann-the-user", tenant="tenant-secret")})
    async with opened(folder) as memory:
        transport = httpx2.ASGITransport(create_app(memory, gate, spans=provider))
        async with httpx2.AsyncClient(transport=transport, base_url=HERE) as client:
            client.headers["Authorization"] = "Bearer ann"
            yield client, spans


def shown(span: ReadableSpan) -> Mapping[str, object]:
    return {"name": span.name, "status": span.status.status_code.name, **dict(span.attributes or {})}


async def test_what_is_done_with_a_memory_is_a_span_of_the_conventions_without_content(tmp_path: Path) -> None:
    async with traced(tmp_path) as (client, spans):
        said = {"role": "user", "content": "peanut-secret"}
        headers = {"X-Request-Id": "id-1", "traceparent": PARENT}
        await client.post("/v1/sessions/my-secret-session/messages", json=said, headers=headers)
        await client.get("/v1/sessions/my-secret-session/messages")
        await client.get("/v1/sessions/my-secret-session/messages?limit=peanut-secret")
        await client.get("/health")
        appended, listed, refused = spans.get_finished_spans()
    assert appended.context is not None
    assert appended.parent is not None
    assert f"{appended.context.trace_id:032x}-{appended.parent.span_id:016x}" == PARENT[3:-3]
    store = shown(appended)["gen_ai.memory.store.id"]
    assert shown(appended) == {
        "name": "create_memory",
        "status": "UNSET",
        "gen_ai.operation.name": "create_memory",
        "gen_ai.provider.name": "anaphora",
        "gen_ai.memory.store.id": store,
        "http.route": "/v1/sessions/{session}/messages",
        "http.response.status_code": 201,
        "anaphora.request.id": "id-1",
    }
    assert shown(listed)["gen_ai.operation.name"] == "search_memory"
    assert (shown(refused)["http.response.status_code"], shown(refused)["status"]) == (422, "UNSET")
    everything = "".join(span.to_json() for span in (appended, listed, refused))
    assert not [secret for secret in SECRETS if secret in everything]


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("append", "create_memory"),
        ("send", "create_memory"),
        ("edit_fact", "update_memory"),
        ("pause", "update_memory"),
        ("delete_fact", "delete_memory"),
        ("delete_legacy_fact", "delete_memory"),
        ("search_documents", "search_memory"),
        ("fact_history", "search_memory"),
        ("export_memory", "search_memory"),
        ("restore", "upsert_memory"),
        ("create_key", None),
        ("list_jobs", None),
        ("health", None),
    ],
)
async def test_an_operation_is_what_its_name_begins_with_or_says(name: str, operation: str | None) -> None:
    assert operation_of(name) == operation


async def test_every_operation_is_a_span_or_is_known_to_be_beside_the_memory(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        paths = (await service.nobody.get("/v1/openapi.json")).json()["paths"]
    names = {found["operationId"] for methods in paths.values() for found in methods.values()}
    assert {name for name in names if operation_of(name) is None} == BESIDE


async def test_probes_may_ask_without_wanting_the_answer_itself(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        for path in ("/health", "/ready", "/"):
            got, head = await service.nobody.get(path), await service.nobody.head(path)
            assert (head.status_code, head.content) == (got.status_code, b"")
            assert head.headers["content-type" if path != "/" else "location"]
        await service.memory._services.store.close()
        assert (await service.nobody.head("/ready")).status_code == 503
        text = (await service.nobody.get("/metrics")).text
        assert value_of(text, 'anaphora_http_requests_total{method="HEAD",route="/health",status="200"}') == 1


async def test_the_document_is_counted_by_its_path(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.nobody.get("/v1/openapi.json")
        text = (await service.nobody.get("/metrics")).text
        assert value_of(text, 'anaphora_http_requests_total{method="GET",route="/v1/openapi.json",status="200"}') == 1
