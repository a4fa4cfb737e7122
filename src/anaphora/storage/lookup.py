"""Messages of several sessions by their places."""

from __future__ import annotations

import json
from collections import defaultdict
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
#: the numbers of each session travel as one JSON text: a row for each of hundreds of keys would cost more
_VOICES_SQLITE = (
    "SELECT messages.session_uid, messages.seq, messages.role, messages.name"
    " FROM json_each(?) AS session CROSS JOIN json_each(session.value) AS number CROSS JOIN messages"
    " WHERE messages.tenant_id = ? AND messages.session_uid = session.key AND messages.seq = number.value"
    " AND NOT messages.deleted"
)

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
        found, ids = self._said(tenant, places)
        known: dict[tuple[str, str | None], Voice] = {}
        voices: dict[_Place, Voice] = {}
        for ref, seq, role, name in found:
            voice = known.get((role, name))
            if voice is None:
                voice = known[role, name] = Voice(role=Role(role), name=name)
            voices[ids[ref], seq] = voice
        return voices

    def _said(self, tenant: str, places: Iterable[_Place]) -> tuple[Iterable[Any], Mapping[Ref, UUID]]:
        """Who said what, and the ids of the sessions as in `_run`."""
        if self._connection.dialect.name != "sqlite":
            return self._run(_VOICES, tenant, places)
        sessions: dict[UUID, set[int]] = defaultdict(set)
        for uid, seq in places:
            sessions[uid].add(seq)
        keys = json.dumps({uid.hex: sorted(numbers) for uid, numbers in sessions.items()})
        return self._connection.exec_driver_sql(_VOICES_SQLITE, (keys, tenant)).all(), {
            uid.hex: uid for uid in sessions
        }

    def _run(
        self, statement: Mapping[str, sa.Select[Any]], tenant: str, places: Iterable[_Place]
    ) -> tuple[Iterable[Any], Mapping[Ref, UUID]]:
        """The rows, and the ids of their sessions by what the driver gives for them."""
        wanted = list(dict.fromkeys(places))
        named = self._connection.dialect.name
        refs: dict[UUID, str] = {uid: uid.hex for uid in dict.fromkeys(uid for uid, _ in wanted)}
        keys = key_parameters([(tenant, refs[uid], seq) for uid, seq in wanted])
        ids: dict[Ref, UUID] = {(ref if named == "sqlite" else uid): uid for uid, ref in refs.items()}
        return self._connection.execute(statement[named], keys).all(), ids
