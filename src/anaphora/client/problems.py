"""What a service answers when it cannot do what was asked, as the errors of the library."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

import httpx2

from anaphora import errors
from anaphora.errors import AnaphoraError, ConfigError, Erased, InvalidInput, NotFound, StoreBusy, StoreError

_BY_NAME: Final = MappingProxyType(
    {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, AnaphoraError)}
)
#: statuses whose problems name no error: they were refused before they reached the memory
_BY_STATUS: Final[Mapping[int, type[AnaphoraError]]] = MappingProxyType(
    {
        HTTPStatus.UNAUTHORIZED: ConfigError,
        HTTPStatus.FORBIDDEN: ConfigError,
        HTTPStatus.NOT_FOUND: NotFound,
        HTTPStatus.TOO_MANY_REQUESTS: StoreBusy,
        HTTPStatus.SERVICE_UNAVAILABLE: StoreBusy,
    }
)


def error_of(response: httpx2.Response) -> AnaphoraError:
    """The error that a response tells of; its body has been read."""
    try:
        problem = json.loads(response.content)
    except ValueError:
        problem = None
    return error_from(problem if isinstance(problem, dict) else {}, response.status_code)


def error_from(problem: Mapping[str, Any], status: int) -> AnaphoraError:
    """The error that a problem (RFC 9457) tells of, with what is known about it."""
    kind = _BY_NAME.get(str(problem.get("error")), _kind_of(status))
    detail = problem.get("detail")
    error = kind.__new__(kind, detail if isinstance(detail, str) else f"the service answered {status}")
    if isinstance(error, Erased):
        error.marks = frozenset()
    about = problem.get("about")
    vars(error).update(about if isinstance(about, dict) else {})
    return error


def _kind_of(status: int) -> type[AnaphoraError]:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return InvalidInput if status < HTTPStatus.INTERNAL_SERVER_ERROR else StoreError
