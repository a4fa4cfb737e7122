"""Whether the service is there, and whether it can work."""

from __future__ import annotations

from http import HTTPStatus
from ipaddress import ip_address
from typing import Final

import anyio
from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel

from anaphora.domain.principals import Permission
from anaphora.server.deps import Remembered
from anaphora.server.gate import Bearer, recognised
from anaphora.server.metrics import MEDIA_TYPE, Metrics
from anaphora.server.problems import Refused, documented

#: seconds that the database may take
_PATIENCE: Final = 2.0

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """That it answers."""

    status: str = "ok"


class Readiness(BaseModel):
    """That the database answers, and whether background work gets on."""

    status: str = "ready"
    #: queued and running jobs
    jobs: int


@router.get("/health")
async def health() -> Health:
    """Whether the process answers."""
    return Health()


@router.get("/ready", responses=documented(HTTPStatus.SERVICE_UNAVAILABLE))
async def ready(memory: Remembered) -> Readiness:
    """Whether the database answers: 503 if it does not. An empty memory is never served instead.

    Jobs that wait do not make it red: what is said is kept, and work on it may be done elsewhere. `anaphora_jobs_stuck`
    of the metrics tells of work that nobody does.
    """
    try:
        with anyio.fail_after(_PATIENCE):
            return Readiness(jobs=await memory.jobs.live())
    except TimeoutError:
        raise Refused(
            HTTPStatus.SERVICE_UNAVAILABLE,
            f"the database has not answered for {_PATIENCE:g} s",
            headers={"Retry-After": "1"},
        ) from None


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses=documented(HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.SERVICE_UNAVAILABLE),
)
async def metrics(request: Request, bearer: Bearer) -> Response:
    """Figures for Prometheus: to this machine itself, and to operators."""
    if not _from_here(request):
        operator = await recognised(request, bearer)
        if not operator.may(Permission.OPERATE):
            raise Refused(HTTPStatus.FORBIDDEN, "metrics are for this machine, and for keys of operators")
    figures: Metrics = request.app.state.metrics
    return Response(await figures.text(), media_type=MEDIA_TYPE)


def _from_here(request: Request) -> bool:
    """Whether it comes from this machine, and not through a proxy that runs on it."""
    if any(name == "forwarded" or name.startswith(("x-forwarded", "x-real-ip", "via")) for name in request.headers):
        return False
    try:
        return request.client is not None and ip_address(request.client.host).is_loopback
    except ValueError:
        return False
