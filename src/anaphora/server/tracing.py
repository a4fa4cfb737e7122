"""Spans of OpenTelemetry for what is done with memories, by its conventions for generative AI. Nothing that was said.

They are made where somebody has set a tracer provider; otherwise nothing is done at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from opentelemetry import propagate, trace
from opentelemetry.trace import ProxyTracerProvider, Span, SpanKind, StatusCode, TracerProvider
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import anaphora
from anaphora.domain.principals import Principal
from anaphora.server.observing import hashed

#: what the first word of an operation's name does with a memory, in the words of the conventions
_VERBS: Final = {
    **dict.fromkeys(("append", "add", "create"), "create_memory"),
    **dict.fromkeys(
        ("edit", "set", "confirm", "pin", "unpin", "take", "undo", "revert", "rename", "keep"), "update_memory"
    ),
    "restore": "upsert_memory",
    **dict.fromkeys(("delete", "erase", "reset", "remove"), "delete_memory"),
    **dict.fromkeys(("search", "recall", "build", "context", "list", "show", "review", "count"), "search_memory"),
}
#: those whose names begin otherwise
_NAMED: Final = {
    **dict.fromkeys(("new_session", "send", "stream"), "create_memory"),
    **dict.fromkeys(("end_session", "rebuild_session", "pause", "resume"), "update_memory"),
    **dict.fromkeys(("diff_summaries", "fact_history", "notepad_history", "export_memory", "stats"), "search_memory"),
}
#: operations that do nothing with what is remembered
BESIDE: Final = frozenset(
    {
        *("me", "defaults", "retention_policy", "follow"),
        *("list_jobs", "retry_job", "retry_jobs", "list_audit"),
        *("list_keys", "create_key", "rotate_key", "revoke_key"),
        *("health", "ready", "metrics"),
    }
)
_SERVER_ERROR: Final = 500

#: of a path: its segments, None for parameters; then the path as it was written, and what it does
Routes = Mapping[str, Sequence[tuple[Sequence[str | None], str, str]]]


class Tracing:
    """An ASGI middleware: a span around each request that does something with a memory.

    Args:
        app: what answers.
        document: the OpenAPI document: which paths there are, and what they do.
        provider: who collects spans; None: whom the process has set.

    """

    def __init__(
        self, app: ASGIApp, *, document: Callable[[], Mapping[str, Any]], provider: TracerProvider | None = None
    ) -> None:
        self._app = app
        self._document = document
        self._provider = provider

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, within a span if it needs one."""
        provider = self._provider or trace.get_tracer_provider()
        found = None
        if scope["type"] == "http" and not isinstance(provider, ProxyTracerProvider):
            found = self._found(scope["method"], scope["path"])
        if found is None:
            await self._app(scope, receive, send)
            return
        operation, route = found
        tracer = provider.get_tracer("anaphora", anaphora.__version__)
        with tracer.start_as_current_span(
            operation,
            propagate.extract(dict(Headers(scope=scope))),
            SpanKind.INTERNAL,
            {"gen_ai.operation.name": operation, "gen_ai.provider.name": "anaphora", "http.route": route},
            # the message of an error may name somebody
            record_exception=False,
            set_status_on_exception=False,
        ) as span:

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _describe(span, scope, message["status"])
                await send(message)

            try:
                await self._app(scope, receive, noting)
            except Exception as error:
                _fail(span, type(error).__name__)
                raise

    def _found(self, method: str, path: str) -> tuple[str, str] | None:
        """What it does, and the route that does it."""
        segments = path.split("/")
        for pattern, route, operation in self._routes.get(method, ()):
            if len(pattern) == len(segments) and all(
                wanted in {None, segment} for wanted, segment in zip(pattern, segments, strict=True)
            ):
                return operation, route
        return None

    @cached_property
    def _routes(self) -> Routes:
        found: dict[str, list[tuple[Sequence[str | None], str, str]]] = {}
        for path, methods in self._document()["paths"].items():
            pattern = [None if segment.startswith("{") else segment for segment in path.split("/")]
            for method, described in methods.items():
                operation = operation_of(described["operationId"])
                if operation is not None:
                    found.setdefault(method.upper(), []).append((pattern, path, operation))
        return found


def operation_of(name: str) -> str | None:
    """What the operation of that name does with a memory; None: it is about something else."""
    if name in BESIDE:
        return None
    return _NAMED.get(name) or _VERBS.get(name.partition("_")[0])


def _describe(span: Span, scope: Scope, status: int) -> None:
    state: dict[str, Any] = scope.get("state", {})
    principal: Principal | None = state.get("principal")
    span.set_attribute("http.response.status_code", status)
    if principal is not None:
        span.set_attribute("gen_ai.memory.store.id", hashed(principal.tenant))
    for value in scope.get("path_params", {}).values():
        if _is_uuid(str(value)):
            span.set_attribute("gen_ai.memory.record.id", str(value))
    if (request_id := state.get("request_id")) is not None:
        span.set_attribute("anaphora.request.id", request_id)
    if status >= _SERVER_ERROR:
        _fail(span, str(status))


def _fail(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


def _is_uuid(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return True
