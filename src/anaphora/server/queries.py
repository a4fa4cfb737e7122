"""Queries: what is said twice means nothing for sure."""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from typing import Final

from fastapi import Request

from anaphora.server.problems import Refused

#: parameters that take several values
SEVERAL: Final = frozenset({"kinds", "state"})


async def check_queries(request: Request) -> None:
    """Let no parameter come twice: which of the two counts would be anybody's guess.

    Raises:
        Refused: 422, one does.

    """
    if not request.scope["query_string"]:
        return
    counted = Counter(name for name, _ in request.query_params.multi_items() if name not in SEVERAL)
    twice = sorted(name for name, count in counted.items() if count > 1)
    if twice:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY, f"the query names {twice[0][:40]!r} more than once: once is enough"
        )
