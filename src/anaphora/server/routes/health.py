"""Whether the service is there, and whether it can work."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter
from pydantic import BaseModel

from anaphora.server.deps import Remembered
from anaphora.server.problems import documented

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """That it answers."""

    status: str = "ok"


class Readiness(BaseModel):
    """That the database answers."""

    status: str = "ready"
    #: queued and running jobs
    jobs: int


@router.get("/health")
async def health() -> Health:
    """Whether the process answers."""
    return Health()


@router.get("/ready", responses=documented(HTTPStatus.SERVICE_UNAVAILABLE))
async def ready(memory: Remembered) -> Readiness:
    """Whether the database answers: 503 if it does not. An empty memory is never served instead."""
    return Readiness(jobs=await memory.jobs.live())
