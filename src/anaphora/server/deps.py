"""What routes are given: the memory, and conversations in the name of the principal.

They are coroutines though they wait for nothing: a plain function would be run in a thread, at each request.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from anaphora.memory import Memory, Session
from anaphora.server.gate import Reader, Writer
from anaphora.server.paths import Name, Named


async def memory_of(request: Request) -> Memory:
    """The memory that the app serves."""
    memory: Memory = request.app.state.memory
    return memory


Remembered = Annotated[Memory, Depends(memory_of)]
Agent = Annotated[str | None, Named, Query(description="With whom; none: the configured default.")]


async def _read(memory: Remembered, principal: Reader, session: Name, agent: Agent = None) -> Session:
    return memory.session(user=principal.person, session=session, agent=agent, tenant=principal.tenant)


async def _write(memory: Remembered, principal: Writer, session: Name, agent: Agent = None) -> Session:
    return memory.session(user=principal.person, session=session, agent=agent, tenant=principal.tenant)


#: the session of the path, for reading
ReadSession = Annotated[Session, Depends(_read)]
#: the session of the path, for changing it
WriteSession = Annotated[Session, Depends(_write)]
