"""The app: routes, guards and errors around one open memory."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

import anaphora
from anaphora.memory import Memory
from anaphora.server import problems
from anaphora.server.auditing import Auditing
from anaphora.server.gate import Gate
from anaphora.server.guards import Guards, Limits
from anaphora.server.heads import Heads
from anaphora.server.listening import Listeners
from anaphora.server.metrics import Metrics
from anaphora.server.observing import Observing
from anaphora.server.page import LARGE as LARGE_FORMS
from anaphora.server.page import install as install_page
from anaphora.server.page import refusal
from anaphora.server.paths import UndecodedPaths
from anaphora.server.rates import Rates
from anaphora.server.routes import LARGE, health, others, v1
from anaphora.server.tracing import Tracing

_DESCRIPTION: Final = "What an agent remembers of you: see, correct, share, export and erase it."


def create_app(memory: Memory, gate: Gate, *, spans: TracerProvider | None = None) -> FastAPI:
    """The service over an open memory.

    Args:
        memory: what it serves; whoever opened it closes it. Its settings say how much is taken (`server`).
        gate: who is let in.
        spans: who collects them; None: whom the process has set, if anybody.

    """
    settings = memory.settings.server
    app = FastAPI(
        title="Anaphora",
        version=anaphora.__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        # its own spans hold whole paths, in which there are names of people's choice
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.memory = memory
    app.state.gate = gate
    app.state.metrics = Metrics(memory)
    app.state.rates = Rates(requests=settings.requests_per_minute, failures=settings.failures_per_minute)
    app.state.listeners = Listeners()
    problems.install(app)
    app.include_router(v1())
    app.include_router(others())
    app.include_router(health.router)
    install_page(app, memory)
    app.add_middleware(Auditing)
    app.add_middleware(Tracing, document=app.openapi, provider=spans)
    app.add_middleware(Heads)
    app.add_middleware(UndecodedPaths, told=refusal)
    limits = Limits(
        hosts=settings.hosts, body=settings.body_bytes, large_body=settings.upload_bytes, at_once=settings.at_once
    )
    app.add_middleware(Guards, limits=limits, large=LARGE | LARGE_FORMS, told=refusal)
    app.add_middleware(Observing, metrics=app.state.metrics)
    return app
