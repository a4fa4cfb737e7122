"""What Alembic runs: the migrations, on the connection that `run.upgrade` was given."""

from __future__ import annotations

from alembic import context

from anaphora.storage.columns import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
