"""Opening a database on a server: is it of our time, and with whose rights is it used."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from anaphora.errors import StoreError, StoreTooNew
from anaphora.storage import migrations
from anaphora.storage.postgres.engine import FOR_SCOPE, ROLE, user_may_see_everything
from anaphora.storage.postgres.errors import TryAgain, translated
from anaphora.storage.secret import make_secret, secret_in

if TYPE_CHECKING:
    from anaphora.ports.clock import Randomness
    from anaphora.storage.postgres.engine import Connector

#: who brings the schema up to date keeps others from it until that is done
_ALONE = sa.text("SELECT pg_advisory_xact_lock(hashtextextended('anaphora', 0))")
_ROLE_IS_THERE = sa.text("SELECT 1 FROM pg_roles WHERE rolname = :role").bindparams(role=ROLE)
_HAS_RIGHTS = sa.text("SELECT has_table_privilege(:role, 'changes', 'SELECT')").bindparams(role=ROLE)
_MAKE_ROLE = sa.text("CREATE ROLE anaphora NOLOGIN")
_GIVE_ROWS = sa.text(
    "GRANT SELECT, INSERT, UPDATE, DELETE ON sessions, messages, message_versions, receipts, summaries, points, heads,"
    " head_moves, summary_states, jobs, message_words, message_vectors, vector_heads, subjects,"
    " subject_members, facts, fact_versions, fact_sources, fact_terms, fact_tombstones, chunks, topics,"
    " topic_vectors, notepad_pages, documents, document_chunks, document_vectors, document_jobs, document_words,"
    " erasures, erased_marks, pauses, api_keys, changes TO anaphora"
)
#: entries of the audit are added, and stay
_GIVE_ADDING = sa.text("GRANT SELECT, INSERT ON audit TO anaphora")
_GIVE_SIGHT = sa.text("GRANT SELECT ON store_meta, alembic_version, found_words, found_document_words TO anaphora")
_OLDEST: Final = 140_000
_VERSION = sa.text("SELECT current_setting('server_version_num')::integer")


async def open_server(connector: Connector, *, randomness: Randomness, read_only: bool) -> tuple[Connector, bytes]:
    """The server with the role that its connections take on, and the store's secret; the schema is the newest.

    Several processes may do this at once.

    Raises:
        StoreError: the server cannot be reached or refuses the user, or a privilege is missing.
        StoreTooNew: a later version of Anaphora made the schema.

    """
    try:
        with translated():
            everything = await _sees_everything(connector)
            engine = connector.engine(connections=1, wait=connector.lock_timeout)
            try:
                async with engine.connect() as connection, connection.begin():
                    secret = await connection.run_sync(
                        lambda given: _prepared(
                            given, connector, randomness=randomness, everything=everything, read_only=read_only
                        )
                    )
            finally:
                await engine.dispose()
    except TryAgain as again:
        raise again.error from None
    return replace(connector, role=ROLE) if everything else connector, secret


async def _sees_everything(connector: Connector) -> bool:
    connection = await connector.connect()
    try:
        return await user_may_see_everything(connection)
    finally:
        await connection.close()


def _prepared(
    connection: sa.Connection, connector: Connector, *, randomness: Randomness, everything: bool, read_only: bool
) -> bytes:
    if connection.execute(_VERSION).scalar_one() < _OLDEST:
        raise StoreError("the PostgreSQL server is too old: use version 14 or later")
    ready = _is_newest(connection, connector) and (not everything or _has_rights(connection))
    if not ready and read_only:
        raise StoreError(f"{connector.dsn.shown} is from an older version: run `anaphora migrate`")
    if not ready:
        connection.execute(_ALONE)
        if not _is_newest(connection, connector):
            # whoever owns the tables is bound by their policies, and a migration reads the rows of all tenants
            connection.execute(FOR_SCOPE, {"scope": "all"})
            # Alembic takes longer to load than everything else together, and is needed once a version
            importlib.import_module("anaphora.storage.migrations.run").upgrade(connection)
            connection.execute(FOR_SCOPE, {"scope": ""})
        if everything:
            _give_rights(connection)
    secret = secret_in(connection)
    if secret is None and not read_only:
        connection.execute(_ALONE)
        secret = secret_in(connection) or make_secret(connection, randomness)
    if secret is None:
        raise StoreError(f"{connector.dsn.shown} was never opened for writing: run `anaphora migrate`")
    return secret


def _is_newest(connection: sa.Connection, connector: Connector) -> bool:
    revision = migrations.current(connection)
    if revision is not None and revision not in migrations.REVISIONS:
        raise StoreTooNew(f"{connector.dsn.shown} was written by a later version of Anaphora: upgrade to open it")
    return revision == migrations.head()


def _has_rights(connection: sa.Connection) -> bool:
    return bool(connection.execute(_ROLE_IS_THERE).first() and connection.execute(_HAS_RIGHTS).scalar_one())


def _give_rights(connection: sa.Connection) -> None:
    """To a role that owns nothing: row-level policies do not bind superusers."""
    if connection.execute(_ROLE_IS_THERE).first() is None:
        connection.execute(_MAKE_ROLE)
    connection.execute(_GIVE_ROWS)
    connection.execute(_GIVE_ADDING)
    connection.execute(_GIVE_SIGHT)
