"""Forms as they are sent: read in full, whatever they say of themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from fastapi import Request
from starlette.datastructures import FormData

from anaphora.server.problems import Refused


@asynccontextmanager
async def form_of(request: Request, *, files: int = 0, fields: int) -> AsyncIterator[FormData]:
    """The form of a request; its files are closed afterwards.

    Raises:
        Refused: it is in an encoding that is none.

    """
    try:
        form = await request.form(max_files=files, max_fields=fields)
    except ValueError:
        # codecs that decode nothing, or not that, are named by whoever sends the form
        raise Refused(HTTPStatus.BAD_REQUEST, "this form cannot be read: send it in UTF-8") from None
    try:
        yield form
    finally:
        await form.close()
