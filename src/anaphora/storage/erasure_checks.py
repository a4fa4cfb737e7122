"""What must hold of erasures, as questions to the database."""

from __future__ import annotations

import sqlalchemy as sa

from anaphora.storage.erasure_tables import erasures
from anaphora.storage.laws import Law, same_session
from anaphora.storage.tables import message_versions, messages, receipts


def erasure_laws() -> tuple[Law, ...]:
    """The laws of erasures."""
    of_message = same_session(message_versions, messages) & (message_versions.c.seq == messages.c.seq)
    of_receipt = same_session(receipts, messages) & (receipts.c.start <= messages.c.seq)
    return (
        Law(
            id="erasures",
            name="what was erased left nothing, and every erasure has its number",
            table=erasures,
            breaches=(
                (
                    "erased messages that are not deleted",
                    sa.select(messages.c.id).where(messages.c.erased, sa.not_(messages.c.deleted)),
                ),
                (
                    "erased messages of which a version is kept",
                    sa.select(messages.c.id).join(message_versions, of_message).where(messages.c.erased).distinct(),
                ),
                (
                    "erased messages whose receipt tells what they said",
                    sa.select(messages.c.id)
                    .join(receipts, of_receipt)
                    .where(
                        messages.c.erased,
                        receipts.c.stop > messages.c.seq,
                        receipts.c.epoch == messages.c.epoch,
                        receipts.c.body_hash != "",
                    )
                    .distinct(),
                ),
                (
                    "tenants whose erasures are not numbered without a hole",
                    sa.select(erasures.c.tenant_id)
                    .group_by(erasures.c.tenant_id)
                    .having(sa.func.max(erasures.c.number) != sa.func.count()),
                ),
            ),
        ),
    )
