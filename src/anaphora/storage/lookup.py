"""Messages of several sessions by their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from anaphora.domain.messages import Message, Role
from anaphora.ports.rows import Voice
from anaphora.storage.keyed import by_keys, key_parameters
from anaphora.storage.messages import MESSAGE_COLUMNS, message_from
from anaphora.storage.scope import Ref, raw
from anaphora.storage.tables import messages

_KEY = (messages.c.tenant_id, messages.c.session_uid, messages.c.seq)
_LIVE = sa.not_(messages.c.deleted)
_MESSAGES = by_keys((raw(messages.c.session_uid), *MESSAGE_COLUMNS), _KEY, _LIVE)
_VOICES = by_keys((raw(messages.c.session_uid), messages.c.seq, messages.c.role, messages.c.name), _KEY, _LIVE)

#: session and number
_Place = tuple[UUID, int]


class SqlLookup:
    """`ports.search.Lookup` over one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def messages(self, tenant: str, places: Iterable[_Place]) -> Mapping[_Place, Message]:
        """The live ones; what is not there is left out."""
        found, ids = self._run(_MESSAGES, tenant, places)
        return {(ids[ref], message.seq): message for ref, message in ((row[0], message_from(row[1:])) for row in found)}

    def voices(self, tenant: str, places: Iterable[_Place]) -> Mapping[_Place, Voice]:
        """Who said the live ones, without reading what they say."""
        found, ids = self._run(_VOICES, tenant, places)
        known: dict[tuple[str, str | None], Voice] = {}
        voices: dict[_Place, Voice] = {}
        for ref, seq, role, name in found:
            voice = known.get((role, name))
            if voice is None:
                voice = known[role, name] = Voice(role=Role(role), name=name)
            voices[ids[ref], seq] = voice
        return voices

    def _run(
        self, statement: Mapping[str, sa.Select[Any]], tenant: str, places: Iterable[_Place]
    ) -> tuple[Iterable[Any], Mapping[Ref, UUID]]:
        """The rows, and the ids of their sessions by what the driver gives for them."""
        wanted = list(places)
        named = self._connection.dialect.name
        refs: dict[UUID, str] = {uid: uid.hex for uid in dict.fromkeys(uid for uid, _ in wanted)}
        keys = key_parameters([(tenant, refs[uid], seq) for uid, seq in wanted])
        ids: dict[Ref, UUID] = {(ref if named == "sqlite" else uid): uid for uid, ref in refs.items()}
        return self._connection.execute(statement[named], keys), ids
