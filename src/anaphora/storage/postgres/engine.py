"""Connections to PostgreSQL, and the pool of them."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import asyncpg
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from anaphora.storage.postgres.dsn import SERVER_SETTINGS
from anaphora.storage.types import Halfvec, plain_json

if TYPE_CHECKING:
    from anaphora.storage.postgres.dsn import Dsn

# who looks at our tables through SQLAlchemy is told what pgvector's columns are
ischema_names["halfvec"] = Halfvec

#: whose rights every transaction has: it owns nothing and no row-level policy spares it
ROLE = "anaphora"
_CONNECT_TIMEOUT = 10.0
#: stands in the notes of a connection on which a statement failed since it was last taken away
FAILED = "anaphora_failed"
#: stands in the notes of a connection: when its transaction began, by the server's clock
BEGAN = "anaphora_began"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """How the connections of one store are made."""

    dsn: Dsn
    #: the role that they take on; None: the user's own
    role: str | None
    #: seconds that a statement waits for a row that somebody else holds
    lock_timeout: float
    #: wait for the disk at every commit
    durable: bool = True

    async def connect(self) -> Any:  # noqa: ANN401 - asyncpg has no types
        """One connection, outside any pool."""
        settings = {**SERVER_SETTINGS, "lock_timeout": f"{max(1, round(self.lock_timeout * 1000))}ms"}
        if not self.durable:
            settings["synchronous_commit"] = "off"
        if self.role is not None:
            settings["role"] = self.role
        timeout = self.dsn.connect_timeout or _CONNECT_TIMEOUT
        return await asyncpg.connect(self.dsn.url, timeout=timeout, server_settings=settings)

    def engine(self, *, connections: int, wait: float) -> AsyncEngine:
        """A pool of at most so many connections; who needs one waits so many seconds."""
        engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=self.connect,
            pool_size=connections,
            max_overflow=0,
            pool_timeout=wait,
            hide_parameters=True,
            json_serializer=plain_json,
            json_deserializer=json.loads,
        )
        event.listen(engine.sync_engine, "handle_error", _note_failure)
        return engine


def _note_failure(context: sa.ExceptionContext) -> None:
    """PostgreSQL answers the commit of a transaction in which a statement failed with no error: with a rollback."""
    if context.connection is not None:
        with suppress(NotImplementedError):  # the one on which a dialect gets to know its server has no notes
            context.connection.info[FAILED] = True


async def user_may_see_everything(connection: Any) -> bool:  # noqa: ANN401 - asyncpg has no types
    """Whether row-level policies mean nothing to the user of the connection."""
    return bool(await connection.fetchval("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"))


#: who the transaction is for; the policies of every table compare it with the row's tenant. And what time it is there
FOR_TENANT = sa.text("SELECT set_config('anaphora.tenant', :tenant, true), clock_timestamp()")
#: the same, and the number by which the server will know whether a transaction was committed
FOR_WRITING = sa.text(
    "SELECT set_config('anaphora.tenant', :tenant, true), clock_timestamp(), pg_current_xact_id()::text"
)
#: not for one tenant: to look for jobs ("queue"), or to examine everything ("all"); what was said is for neither
FOR_SCOPE = sa.text("SELECT set_config('anaphora.scope', :scope, true), clock_timestamp()")
