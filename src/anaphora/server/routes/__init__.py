"""The routes under `/v1`, a module for each part of the public API, in its names."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from fastapi import APIRouter, Depends

from anaphora.server.problems import documented
from anaphora.server.queries import check_queries
from anaphora.server.routes import (
    aliases,
    audit,
    copies,
    erasing,
    events,
    facts,
    jobs,
    keys,
    knowledge,
    lookup,
    messages,
    notepad,
    pausing,
    retention,
    sessions,
    subjects,
    summaries,
    talk,
    topics,
)

#: what any route may answer
_PROBLEMS: Final = documented(
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
#: what every route asks of a request
_CHECKS: Final = (Depends(check_queries),)
#: routes that take whole exports and files
LARGE: Final = frozenset({"/v1/restore", "/v1/knowledge/files"})


def v1() -> APIRouter:
    """Every route of the API."""
    router = APIRouter(prefix="/v1", responses=_PROBLEMS, dependencies=_CHECKS)
    parts = (
        *(lookup, sessions, messages, talk, summaries, topics, facts, subjects, notepad, knowledge),
        *(copies, erasing, retention, pausing, jobs, events, keys, audit),
    )
    for part in parts:
        router.include_router(part.router)
    return router


def others() -> APIRouter:
    """The same under the paths that others know."""
    router = APIRouter(responses=_PROBLEMS, dependencies=_CHECKS)
    router.include_router(aliases.router)
    return router
