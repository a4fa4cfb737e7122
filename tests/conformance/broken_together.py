"""Stores that break the laws of words, transactions, opening and concurrency."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError
from tests.conformance.broken import Broken, T, caught_by

from anaphora.domain.keys import SeqRange, SessionKey
from anaphora.domain.messages import Message, Receipt, Role
from anaphora.errors import AnaphoraError, StoreBusy, StoreClosed, StoreError
from anaphora.ports.rows import Append, SessionRow, Voice, WordMatch, WordMatches
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.tools import TENANT

# -- words ---------------------------------------------------------------------------------------------------------


class Sifts(Broken):
    """Search shows only some matches, or others."""

    def sifted(self, found: Sequence[WordMatch], _unit: Unit, *_: Sequence[str]) -> Sequence[WordMatch]:
        return found

    def words_find(
        self, unit: Unit, *args: Any, terms: Sequence[str], pieces: Sequence[str], **how: Any
    ) -> WordMatches:
        matches = unit.words.find(*args, terms=terms, pieces=pieces, **how)
        return replace(matches, found=self.sifted(matches.found, unit, terms, pieces))


@caught_by(
    "test_a_message_is_found_by_any_of_its_words_and_their_other_forms",
    "test_names_captions_and_tool_results_are_found",
    "test_composed_and_decomposed_letters_are_the_same",
)
class ComparesLetterByLetter(Sifts):
    def sifted(self, found: Sequence[WordMatch], unit: Unit, *asked: Sequence[str]) -> Sequence[WordMatch]:
        words = [word for each in asked for word in each]
        said = unit.lookup.messages(TENANT, [(match.session_id, match.seq) for match in found])
        return [m for m in found if any(word in said[m.session_id, m.seq].content for word in words)]


@caught_by("test_a_hit_is_the_message_as_it_is_stored")
class NamesTheNeighbour(Sifts):
    def sifted(self, found: Sequence[WordMatch], *_: Any) -> Sequence[WordMatch]:
        return [match._replace(seq=max(0, match.seq - 1)) for match in found]


@caught_by("test_rarer_words_and_more_of_them_come_first_and_the_limit_holds")
class CountsEveryWordAlike(Sifts):
    def sifted(self, found: Sequence[WordMatch], *_: Any) -> Sequence[WordMatch]:
        return sorted((match._replace(words=(0,)) for match in found), key=lambda match: match.seq)


@caught_by("test_rarer_words_and_more_of_them_come_first_and_the_limit_holds")
class KeepsTheNewestOfAll(Broken):
    """Applies the limit before it knows how rare the words are."""

    def words_find(self, unit: Unit, *args: Any, limit: int, **how: Any) -> WordMatches:
        matches = unit.words.find(*args, limit=99, **how)
        return replace(matches, found=sorted(matches.found, key=lambda match: match.seq)[:limit])


@caught_by("test_of_equal_messages_the_newest_comes_first")
class ShowsTheOldestFirst(Sifts):
    def sifted(self, found: Sequence[WordMatch], *_: Any) -> Sequence[WordMatch]:
        return found[::-1]


@caught_by("test_nothing_that_is_typed_is_syntax")
class ReadsSyntax(Broken):
    def words_find(self, unit: Unit, *args: Any, terms: Sequence[str], **how: Any) -> WordMatches:
        if any('"' in term for term in terms):
            raise StoreError("unterminated string")
        return unit.words.find(*args, terms=terms, **how)


@caught_by("test_signs_are_taken_literally")
class SplitsTerms(Broken):
    def words_find(self, unit: Unit, *args: Any, terms: Sequence[str], **how: Any) -> WordMatches:
        return unit.words.find(*args, terms=[word for term in terms for word in term.split()], **how)


@caught_by("test_scripts_without_spaces_are_found_by_a_piece")
class TakesAnyPiece(Sifts):
    """Counts no more than one piece of a passage."""

    def sifted(self, found: Sequence[WordMatch], *_: Any) -> Sequence[WordMatch]:
        return sorted((match._replace(words=match.words[-1:]) for match in found), key=lambda match: -match.seq)


@caught_by("test_nobody_finds_what_is_somebody_elses")
class LeaksAnotherUsersWords(Broken):
    def words_find(self, unit: Unit, tenant: str, user: str, **how: Any) -> WordMatches:
        users = {row.key.user for row in unit.sessions.list(tenant, limit=1000) if row.key.user.startswith(user)}
        each = [unit.words.find(tenant, name, **how) for name in sorted(users | {user})]
        return replace(each[0], found=[match for matches in each for match in matches.found])


@caught_by("test_nobody_finds_what_is_somebody_elses")
class SearchesAllAgents(Broken):
    def words_find(self, unit: Unit, *args: Any, **how: Any) -> WordMatches:
        return unit.words.find(*args, **how | {"agent": None})


@caught_by("test_a_score_does_not_depend_on_what_others_wrote")
class CountsEverybody(Broken):
    def words_find(self, unit: Unit, tenant: str, *args: Any, **how: Any) -> WordMatches:
        matches = unit.words.find(tenant, *args, **how)
        return replace(matches, messages=sum(row.head for row in unit.sessions.list(tenant, limit=1000)))


@caught_by("test_what_was_reset_is_not_found_any_more")
class KeepsTheIndex(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.left: list[WordMatch] = []

    def sessions_reset(self, unit: Unit, tenant: str, session_id: UUID, **how: Any) -> int:
        row = unit.sessions.get(tenant, session_id)
        assert row is not None
        said = unit.words.find(
            tenant, row.key.user, agent=None, session_id=session_id, terms=["secret"], pieces=(), limit=9
        )
        self.left += said.found
        return unit.sessions.reset(tenant, session_id, **how)

    def lookup_voices(self, unit: Unit, tenant: str, places: Iterable[tuple[UUID, int]]) -> dict[Any, Voice]:
        places = list(places)
        return dict.fromkeys(places, Voice(role=Role.USER, name=None)) | dict(unit.lookup.voices(tenant, places))

    def lookup_messages(self, unit: Unit, tenant: str, places: Iterable[tuple[UUID, int]]) -> dict[Any, Message]:
        places = list(places)
        said = unit.lookup.messages(tenant, places)
        (any_message,) = list(said.values())[:1]
        return dict.fromkeys(places, any_message) | dict(said)

    def words_find(self, unit: Unit, *args: Any, **how: Any) -> WordMatches:
        matches = unit.words.find(*args, **how)
        return replace(matches, found=[*matches.found, *self.left])


# -- transactions --------------------------------------------------------------------------------------------------


@caught_by("test_what_work_returns_is_returned")
class SaysNothing(Broken):
    async def write(self, tenant: str, work: Callable[[Unit], T]) -> T:
        await super().write(tenant, work)
        return cast("T", None)


@caught_by("test_what_work_returns_is_returned")
class SwallowsErrors(Broken):
    async def read(self, tenant: str, work: Callable[[Unit], T]) -> T:
        try:
            return await super().read(tenant, work)
        except AnaphoraError:
            return cast("T", None)


class Torn(Broken):
    """Each look of a unit is a transaction of its own."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.loop = asyncio.get_running_loop()

    def apart(self, look: Callable[[Unit], T]) -> T:
        return asyncio.run_coroutine_threadsafe(self.real.read(TENANT, look), self.loop).result(30)


@caught_by("test_a_read_sees_one_moment", "test_what_is_read_beside_writes_is_never_torn")
class TearsASnapshot(Torn):
    def sessions_find(self, _unit: Unit, key: SessionKey) -> SessionRow | None:
        return self.apart(lambda unit: unit.sessions.find(key))

    def messages_range(self, _unit: Unit, *args: Any, **how: Any) -> Any:
        return self.apart(lambda unit: unit.messages.range(*args, **how))

    def summaries_head(self, _unit: Unit, *args: Any) -> Any:
        return self.apart(lambda unit: unit.summaries.head(*args))

    async def write(self, tenant: str, work: Callable[[Unit], T]) -> T:
        return await self.real.write(tenant, work)


@caught_by("test_what_work_wrote_it_can_read")
class ReadsBesideItsWrites(Torn):
    def sessions_list(self, _unit: Unit, *args: Any, **how: Any) -> Any:
        return self.apart(lambda unit: unit.sessions.list(*args, **how))


@caught_by(
    "test_all_that_a_worker_writes_is_there_or_nothing_of_it",
    "test_a_failing_write_is_undone_and_its_neighbours_are_not",
    "test_a_write_that_the_database_refuses_fails_alone",
    "test_a_reset_that_does_not_commit_changes_nothing",
)
class CommitsWhatFails(Broken):
    async def write(self, tenant: str, work: Callable[[Unit], T]) -> T:
        errors: list[Exception] = []

        def kept(unit: Unit) -> T | None:
            try:
                return work(unit)
            except (AnaphoraError, StopIteration, SQLAlchemyError) as error:
                errors.append(error)
                return None

        value = await super().write(tenant, kept)
        if errors:
            raise errors[0]
        return cast("T", value)


@caught_by("test_what_is_written_in_a_read_is_refused")
class WritesInReads(Broken):
    async def read(self, tenant: str, work: Callable[[Unit], T]) -> T:
        return await self.write(tenant, work)


# -- opening -------------------------------------------------------------------------------------------------------


@caught_by(
    "test_everything_is_there_when_it_is_opened_again",
    "test_every_field_of_a_message_survives_closing",
    "test_what_one_handle_wrote_all_others_read",
    "test_many_callers_get_dense_numbers_in_the_order_of_the_log",
)
class ForgetsEverything(Broken):
    """Each handle has a file of its own."""

    handles: ClassVar[list[Path]] = []

    @classmethod
    def where(cls, folder: Path) -> Path:
        cls.handles.append(folder)
        return folder / f"{len(cls.handles)}.db"


@caught_by("test_what_one_handle_wrote_all_others_read", "test_handles_that_write_and_read_at_once_refuse_nobody")
class KeepsSessionsInTheProcess(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.rows: dict[SessionKey, SessionRow] = {}

    def sessions_find(self, unit: Unit, key: SessionKey) -> SessionRow | None:
        row = self.rows.get(key) or unit.sessions.find(key)
        if row is not None:
            self.rows[key] = row
        return row


@caught_by("test_a_handle_that_is_closed_takes_no_other_with_it")
class SharesOneConnection(Broken):
    """The second handle of a file is the first one."""

    first: ClassVar[dict[Path, SharesOneConnection]] = {}

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.head = self.first.setdefault(folder, self)

    async def append(self, append: Append) -> Receipt:
        receipt = await self.head.real.append(append)
        if self.head is not self:
            await self.head.real.close()
        return receipt


@caught_by("test_another_folder_is_another_database")
class HasOneDatabase(Broken):
    @classmethod
    def where(cls, folder: Path) -> Path:
        return folder.parent / "memory.db"


@caught_by("test_the_secret_is_made_once")
class MakesASecretEachTime(Broken):
    async def secret(self) -> bytes:
        return f"secret of {id(self):020d}".encode()


@caught_by("test_another_folder_is_another_database", "test_the_secret_is_made_once")
class HasAnEmptySecret(Broken):
    async def secret(self) -> bytes:
        return b""


@caught_by(
    "test_a_fresh_database_can_be_opened_by_many_at_once",
    "test_handles_that_write_and_read_at_once_refuse_nobody",
    "test_a_session_that_many_begin_at_once_is_one",
)
class IsBusy(Broken):
    """Who writes while another one does is sent away."""

    writing: ClassVar[set[Path]] = set()

    async def append(self, append: Append) -> Receipt:
        if self.folder in self.writing:
            raise StoreBusy("another one writes")
        self.writing.add(self.folder)
        try:
            return await self.real.append(append)
        finally:
            self.writing.discard(self.folder)


@caught_by("test_close_finishes_what_was_handed_in_and_then_refuses")
class AnswersWithNothing(Broken):
    async def read(self, tenant: str, work: Callable[[Unit], T]) -> T:
        try:
            return await super().read(tenant, work)
        except StoreClosed:
            return cast("T", ())


@caught_by("test_close_finishes_what_was_handed_in_and_then_refuses")
class DropsWhatWasHandedIn(Broken):
    closing = False

    async def append(self, append: Append) -> Receipt:
        await asyncio.sleep(0)
        if self.closing:
            return Receipt(id=append.receipt_id, range=SeqRange(0, 1))
        return await self.real.append(append)

    async def close(self) -> None:
        self.closing = True
        await super().close()


# -- concurrency ---------------------------------------------------------------------------------------------------


@caught_by("test_many_callers_get_dense_numbers_in_the_order_of_the_log")
class NumbersBeforeItWrites(Broken):
    """Reads the next number, then writes: in between others do the same."""

    async def append(self, append: Append) -> Receipt:
        row = await self.real.read(append.key.tenant, lambda unit: unit.sessions.find(append.key))
        start = row.head if row else 0
        receipt = await self.real.append(append)
        return replace(receipt, range=SeqRange(start, start + len(append.messages)))


@caught_by("test_a_session_that_many_begin_at_once_is_one")
class BeginsASessionForEach(Broken):
    """Looks whether the session is there, then makes one under a name of its own."""

    async def append(self, append: Append) -> Receipt:
        if await self.real.read(append.key.tenant, lambda unit: unit.sessions.find(append.key)) is None:
            append = replace(append, key=replace(append.key, session=f"{append.key.session} {append.receipt_id}"))
        return await self.real.append(append)


@caught_by("test_sessions_that_are_numbered_at_once_get_numbers_of_their_own")
class NumbersFromASnapshot(Torn):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.numbers: dict[tuple[str, ...], int] = {}

    def sessions_next_number(self, unit: Unit, *who: str) -> int:
        return self.numbers.setdefault(who, unit.sessions.next_number(*who))
