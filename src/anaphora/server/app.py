"""The app: routes and errors around one open memory."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI

import anaphora
from anaphora.memory import Memory
from anaphora.server import problems
from anaphora.server.auditing import Auditing
from anaphora.server.gate import Gate
from anaphora.server.paths import UndecodedPaths
from anaphora.server.routes import others, v1

_DESCRIPTION: Final = "What an agent remembers of you: see, correct, share, export and erase it."


def create_app(memory: Memory, gate: Gate) -> FastAPI:
    """The service over an open memory.

    Args:
        memory: what it serves; whoever opened it closes it.
        gate: who is let in.

    """
    app = FastAPI(
        title="Anaphora",
        version=anaphora.__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        redirect_slashes=False,
    )
    app.state.memory = memory
    app.state.gate = gate
    problems.install(app)
    app.include_router(v1())
    app.include_router(others())
    app.add_middleware(Auditing)
    app.add_middleware(UndecodedPaths)
    return app
