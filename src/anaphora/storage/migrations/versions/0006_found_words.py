"""Words are found through a view, so that the index of words is used behind row-level policies."""

from __future__ import annotations

from alembic import op

from anaphora.storage.migrations.parts import on_server

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

#: a policy lets no index be used for what might tell about rows before it is known whose they are, as a search for
#: words might. The view has the rights of whoever owns the tables, and shows the rows of the named tenant alone
_FOUND = (
    "CREATE VIEW found_words AS"
    " SELECT tenant_id, session_uid, seq, part, parts, added, words, unspaced FROM message_words"
    " WHERE tenant_id = current_setting('anaphora.tenant', true)"
    " WITH CHECK OPTION"  # who was given all rights on all tables writes through it what the policy would allow
)


def upgrade() -> None:
    if on_server():
        op.execute(_FOUND)
