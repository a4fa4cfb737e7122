"""What routes are given: the memory, and conversations in the name of the principal.

They are coroutines though they wait for nothing: a plain function would be run in a thread, at each request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Query, Request

from anaphora.domain.principals import Principal
from anaphora.memory import Memory, Session
from anaphora.server.gate import Eraser, Reader, Writer
from anaphora.server.paths import Name, Named


async def memory_of(request: Request) -> Memory:
    """The memory that the app serves."""
    memory: Memory = request.app.state.memory
    return memory


Remembered = Annotated[Memory, Depends(memory_of)]
Agent = Annotated[str | None, Named, Query(description="With whom; none: the configured default.")]


Subject = Annotated[str | None, Named, Query(description="Whom it is about; used when the session is made.")]
Strategy = Annotated[
    str | None,
    Named,
    Query(description="The compaction; used when the session is made. None: the configured default."),
]


_Opened = Callable[[Principal], Session]


async def _named(
    *, memory: Remembered, session: Name, agent: Agent = None, subject: Subject = None, strategy: Strategy = None
) -> _Opened:
    def opened(principal: Principal) -> Session:
        return memory.session(
            user=principal.person,
            session=session,
            agent=agent,
            tenant=principal.tenant,
            subject=subject,
            strategy=strategy,
        )

    return opened


_Named = Annotated[_Opened, Depends(_named)]


async def _read(principal: Reader, named: _Named) -> Session:
    return named(principal)


async def _write(principal: Writer, named: _Named) -> Session:
    return named(principal)


async def _erase(principal: Eraser, named: _Named) -> Session:
    return named(principal)


#: the session of the path, for reading
ReadSession = Annotated[Session, Depends(_read)]
#: the session of the path, for changing it
WriteSession = Annotated[Session, Depends(_write)]
#: the session of the path, for taking it out for good
EraseSession = Annotated[Session, Depends(_erase)]
