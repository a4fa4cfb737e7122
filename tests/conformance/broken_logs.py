"""Stores that break the laws of appends, retries, turns and reading."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.conformance.broken import Broken, caught_by

from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message, Receipt, Role
from anaphora.errors import AnaphoraError, InvalidInput
from anaphora.ports.rows import Append, SessionRow, StoredReceipt
from anaphora.ports.store import Store, Unit
from anaphora.testing.conformance.store_laws.tools import new_id


class ReadsOtherwise(Broken):
    """Messages come back as `read_as` makes them."""

    def read_as(self, message: Message) -> Message:
        return message

    def messages_range(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Message]:
        return [self.read_as(message) for message in unit.messages.range(*args, **how)]

    def messages_newest(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Message]:
        return [self.read_as(message) for message in unit.messages.newest(*args, **how)]


class FindsOtherwise(Broken):
    """Sessions are found as `found_as` makes them."""

    def found_as(self, row: SessionRow) -> SessionRow:
        return row

    def sessions_find(self, unit: Unit, *args: Any) -> SessionRow | None:
        row = unit.sessions.find(*args)
        return self.found_as(row) if row else None


# -- appends -------------------------------------------------------------------------------------------------------


@caught_by("test_numbers_go_on_from_append_to_append")
class CountsFromOne(Broken):
    async def append(self, append: Append) -> Receipt:
        receipt = await self.real.append(append)
        return replace(receipt, range=SeqRange(receipt.range.start + 1, receipt.range.stop + 1))


@caught_by(
    "test_every_field_of_a_message_survives_closing",
    "test_everything_is_there_when_it_is_opened_again",
    "test_a_key_is_known_after_the_store_was_closed",
)
class LosesTheLastAppend(Broken):
    """Says that it is on disk and writes it with the next call; after the last one nobody calls."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.waiting: Append | None = None

    async def append(self, append: Append) -> Receipt:
        if self.waiting is not None:
            await self.real.append(self.waiting)
        self.waiting = append
        row = await self.real.read(append.key.tenant, lambda unit: unit.sessions.find(append.key))
        start = row.head if row else 0
        return Receipt(id=append.receipt_id, range=SeqRange(start, start + len(append.messages)))


@caught_by("test_every_field_of_a_message_survives_closing")
class ForgetsWhoWasBelieved(ReadsOtherwise):
    def read_as(self, message: Message) -> Message:
        return replace(message, source="api")


@caught_by("test_text_is_kept_exactly")
class NormalisesText(ReadsOtherwise):
    def read_as(self, message: Message) -> Message:
        return replace(message, content=unicodedata.normalize("NFC", message.content))


@caught_by("test_text_is_kept_exactly")
class TrimsText(ReadsOtherwise):
    def read_as(self, message: Message) -> Message:
        return replace(message, content=message.content.strip())


@caught_by("test_json_is_kept_exactly")
class CountsInFloats(ReadsOtherwise):
    def read_as(self, message: Message) -> Message:
        data = {name: float(value) if isinstance(value, int) else value for name, value in message.metadata.items()}
        return replace(message, metadata=data)


@caught_by("test_times_are_moments")
class KeepsWholeSeconds(ReadsOtherwise):
    def read_as(self, message: Message) -> Message:
        return replace(message, created_at=message.created_at.replace(microsecond=0))


@caught_by("test_the_clock_orders_nothing")
class OrdersByTheClock(Broken):
    def messages_range(self, unit: Unit, *args: Any, **how: Any) -> Sequence[Message]:
        log = unit.messages.range(*args, **how)
        by_time = sorted(log, key=lambda message: message.created_at)
        return [replace(message, seq=at) for at, message in enumerate(by_time)]


@caught_by("test_a_session_sums_up_its_log")
class DoesNotCountTokens(FindsOtherwise):
    def found_as(self, row: SessionRow) -> SessionRow:
        return replace(row, tokens=0)


@caught_by("test_a_session_keeps_what_it_was_made_with")
class TakesTheNewestStrategy(FindsOtherwise):
    newest: str | None = None

    async def append(self, append: Append) -> Receipt:
        self.newest = append.strategy
        return await super().append(append)

    def found_as(self, row: SessionRow) -> SessionRow:
        return replace(row, strategy=self.newest)


@caught_by("test_writing_opens_an_ended_session_again")
class EndsForEver(FindsOtherwise):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.ended: dict[UUID, Any] = {}

    def found_as(self, row: SessionRow) -> SessionRow:
        ended_at = self.ended.setdefault(row.id, row.ended_at) if row.ended_at else self.ended.get(row.id)
        return replace(row, ended_at=ended_at)


@caught_by("test_one_bad_append_fails_alone")
class FailsTogether(Broken):
    """What is handed in together gets the first error of them all."""

    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.one_by_one = asyncio.Lock()
        self.failed: AnaphoraError | None = None

    async def append(self, append: Append) -> Receipt:
        async with self.one_by_one:
            if self.failed is not None:
                raise self.failed
            try:
                return await self.real.append(append)
            except AnaphoraError as error:
                self.failed = error
                raise


@caught_by("test_what_cannot_be_appended_leaves_no_trace")
class MakesTheSessionFirst(Broken):
    async def append(self, append: Append) -> Receipt:
        how = {"strategy": None, "subject": None, "now": append.now}
        await self.real.write(
            append.key.tenant,
            lambda unit: unit.sessions.create(append.key, session_id=append.session_id, **how),  # type: ignore[arg-type]
        )
        return await self.real.append(append)


@caught_by("test_what_cannot_be_appended_leaves_no_trace")
class TakesAnything(Broken):
    async def append(self, append: Append) -> Receipt:
        try:
            return await self.real.append(append)
        except InvalidInput:
            return Receipt(id=append.receipt_id, range=SeqRange(0, 0))


@caught_by("test_two_sessions_cannot_have_one_id", "test_an_id_that_is_taken_makes_no_session")
class TakesAnotherId(Broken):
    async def append(self, append: Append) -> Receipt:
        return await self.real.append(replace(append, session_id=new_id()))

    def sessions_create(self, unit: Unit, key: Any, **how: Any) -> SessionRow:
        return unit.sessions.create(key, **how | {"session_id": new_id()})


@caught_by("test_a_caller_that_goes_away_leaves_a_whole_log")
class AppendsOneByOne(Broken):
    async def append(self, append: Append) -> Receipt:
        first, last = None, None
        for at in range(len(append.messages)):
            one = replace(
                append,
                receipt_id=new_id(),
                messages=append.messages[at : at + 1],
                ids=append.ids[at : at + 1],
                tokens=append.tokens[at : at + 1],
                trusts=append.trusts[at : at + 1],
            )
            last = await self.real.append(one)
            first = first or last
        assert first is not None
        assert last is not None
        return Receipt(id=append.receipt_id, range=SeqRange(first.range.start, last.range.stop))


# -- retries -------------------------------------------------------------------------------------------------------


@caught_by(
    "test_a_key_that_comes_back_with_the_same_body_gets_its_first_receipt",
    "test_the_same_key_twice_at_once_is_appended_once",
    "test_retries_through_two_handles_write_once",
)
class DoublesOnRetry(Broken):
    async def append(self, append: Append) -> Receipt:
        return await self.real.append(replace(append, idempotency_key=None))


@caught_by("test_a_key_is_known_after_the_store_was_closed", "test_retries_through_two_handles_write_once")
class KeepsKeysInTheProcess(Broken):
    async def append(self, append: Append) -> Receipt:
        key = f"{id(self)} {append.idempotency_key}" if append.idempotency_key else None
        return await self.real.append(replace(append, idempotency_key=key))


@caught_by("test_a_key_that_comes_back_with_another_body_is_refused")
class DoesNotCompareBodies(Broken):
    async def append(self, append: Append) -> Receipt:
        return await self.real.append(replace(append, body_hash=""))


@caught_by("test_a_key_belongs_to_its_session")
class KeepsOneKeyForAll(Broken):
    def __init__(self, real: Store, folder: Path) -> None:
        super().__init__(real, folder)
        self.first: dict[str, Receipt] = {}

    async def append(self, append: Append) -> Receipt:
        if append.idempotency_key in self.first:
            return replace(self.first[append.idempotency_key], repeated=True)
        receipt = await self.real.append(append)
        if append.idempotency_key:
            self.first[append.idempotency_key] = receipt
        return receipt


@caught_by("test_without_a_key_the_same_words_are_said_twice")
class TakesTheWordsForAKey(Broken):
    async def append(self, append: Append) -> Receipt:
        words = "".join(message.content for message in append.messages)
        return await self.real.append(replace(append, idempotency_key=append.idempotency_key or words))


# -- turns ---------------------------------------------------------------------------------------------------------


@caught_by("test_messages_fall_into_turns")
class CountsTurnsInPairs(ReadsOtherwise):
    def read_as(self, message: Message) -> Message:
        return replace(message, turn=message.seq // 2 * 2)


@caught_by("test_a_turn_goes_on_in_the_next_append_and_a_tool_call_keeps_it_open")
class BeginsATurnWithEachAppend(Broken):
    async def append(self, append: Append) -> Receipt:
        opener = replace(append.messages[0], role=Role.USER)
        return await self.real.append(replace(append, messages=(opener, *append.messages[1:])))


@caught_by("test_a_session_remembers_the_starts_of_its_newest_turns_only")
class RemembersEveryTurn(FindsOtherwise):
    def found_as(self, row: SessionRow) -> SessionRow:
        return replace(row, turn_starts=tuple(range(row.turns)))


# -- reading -------------------------------------------------------------------------------------------------------


@caught_by("test_a_range_is_read_from_either_end_up_to_a_limit")
class CountsTheEndIn(Broken):
    def messages_range(self, unit: Unit, tenant: str, uid: UUID, span: SeqRange, **how: Any) -> Sequence[Message]:
        return unit.messages.range(tenant, uid, SeqRange(span.start, span.stop + 1), **how)


@caught_by("test_a_range_is_read_from_either_end_up_to_a_limit")
class LimitsFromTheWrongEnd(Broken):
    def messages_newest(self, unit: Unit, tenant: str, uid: UUID, span: SeqRange, **how: Any) -> Sequence[Message]:
        return list(reversed(unit.messages.range(tenant, uid, span, **how)))


@caught_by("test_a_range_beyond_the_log_holds_what_is_there")
class RefusesWhatIsNotThere(Broken):
    def messages_range(self, unit: Unit, tenant: str, uid: UUID, span: SeqRange, **how: Any) -> Sequence[Message]:
        row = unit.sessions.get(tenant, uid)
        if row is None or span.stop > row.head:
            raise InvalidInput("no such messages")
        return unit.messages.range(tenant, uid, span, **how)


@caught_by("test_nobody_reads_another_tenants_messages")
class LeaksMessagesByTheirSession(Broken):
    def messages_newest(self, unit: Unit, _tenant: str, *args: Any, **how: Any) -> Sequence[Message]:
        return unit.messages.newest("t", *args, **how)


@caught_by("test_a_receipt_says_where_its_messages_are")
class LeaksReceipts(Broken):
    def messages_receipt(self, unit: Unit, _tenant: str, receipt_id: UUID) -> StoredReceipt | None:
        return unit.messages.receipt("t", receipt_id)
