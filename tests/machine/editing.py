"""Rules of those who change what was said."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from tests.machine.machine import MODES, PLACES, Driven
from tests.machine.subjects import KEY

from anaphora.errors import InvalidInput, NotFound
from anaphora.services.editing import Change


class Editing(Driven):
    """Edits, deletions, and what cannot be changed."""

    @precondition(lambda self: self.log.live)
    @rule(place=PLACES)
    def edit(self, place: int) -> None:
        self.subject.run(self.edited(self.live_place(place)))

    @precondition(lambda self: self.log.live)
    @rule(place=PLACES)
    def delete(self, place: int) -> None:
        self.subject.run(self.deleted(self.live_place(place)))

    @precondition(lambda self: self.log.head)
    @rule(place=PLACES, length=st.integers(2, 6), mode=st.sampled_from(MODES))
    def delete_a_stretch(self, place: int, length: int, mode: str) -> None:
        """Neighbours, some of which may be gone already; somebody works meanwhile."""
        start = self.place(place)
        for seq in range(start, min(start + length, self.log.head)):
            self.subject.run(self.deleted(seq))
        self.subject.work(mode)

    @rule(place=PLACES)
    def change_nothing(self, place: int) -> None:
        """An edit to the same text makes no version; what is deleted or not there cannot be changed."""
        before = self.database.dump()
        if self.log.live:
            self._say_the_same(self.live_place(place))
        for seq in (self.log.head + place, -1):
            self._refused(seq, NotFound)
        gone = sorted(self.log.deleted)
        if gone:
            seq = gone[place % len(gone)]
            assert self.subject.run(self.subject.services.editing.delete(KEY, seq)) is False
            self._refused(seq, InvalidInput)
            self.seen["deleted for good"] += 1
        if self.log.head:
            self._versions_are_told(self.place(place))
        assert self.database.dump() == before, "something was changed"

    def _say_the_same(self, seq: int) -> None:
        text = self.log.text(seq)
        edited = self.subject.run(self.subject.services.editing.edit(KEY, seq, Change(content=text)))
        assert (edited.content, edited.version) == (text, self.log.said[seq].version)

    def _refused(self, seq: int, error: type[Exception]) -> None:
        editing = self.subject.services.editing
        changes: list[Coroutine[Any, Any, object]] = [editing.edit(KEY, seq, Change(content="x"))]
        changes += [editing.delete(KEY, seq)] if error is NotFound else []
        for change in changes:
            try:
                self.subject.run(change)
            except error:
                continue
            raise AssertionError(f"message {seq} was changed: it should be {error.__name__}")

    def _versions_are_told(self, seq: int) -> None:
        entry = self.log.said[seq]
        found = self.subject.run(self.subject.services.sessions.versions(KEY, start=seq, stop=seq + 1))
        assert [m.content for m in found] == [*entry.texts, *([""] if entry.deleted else [])]
        assert [m.version for m in found] == list(range(1, entry.version + 1))
        assert [m.deleted for m in found] == [False] * len(entry.texts) + [True] * entry.deleted

    # -- what they need ----------------------------------------------------------------------------------------

    def live_place(self, place: int) -> int:
        """A message that is there."""
        live = sorted(self.log.live)
        return live[place % len(live)]

    async def edited(self, seq: int) -> None:
        """Say something else there."""
        text = self.log.next_text(seq)
        after = await self.subject.services.editing.edit(KEY, seq, Change(content=text))
        self.log.edited(seq)
        assert (after.content, after.version) == (text, self.log.said[seq].version)
        self._noted("edited")

    async def deleted(self, seq: int) -> None:
        """Say nothing there any more."""
        entry = self.log.said[seq]
        assert await self.subject.services.editing.delete(KEY, seq) is not entry.deleted
        entry.deleted = True
        self._noted("deleted")

    def _noted(self, what: str) -> None:
        self.seen[what] += 1
        if self.database.rows("select 1 from versions where status = 'stale'"):
            self.seen[f"{what} and made stale"] += 1
        if self.database.rows("select 1 from versions where status = 'building'"):
            self.seen[f"{what} while a rebuild went on"] += 1
