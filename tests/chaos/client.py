"""A client: appends to several sessions, edits, deletes, resets, and looks at contexts, until there is a sign."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain
from pathlib import Path

import anyio
from tests.chaos.book import Book, Deed, Said
from tests.chaos.told import Told, settings_for

from anaphora import Memory
from anaphora.bootstrap import Overrides
from anaphora.domain.context import Context
from anaphora.errors import StoreError
from anaphora.memory import Session
from anaphora.testing.conformance.memory_laws.conversations import QUARTER

#: those that it alone writes to, and those that it shares with the other clients of its tenant
OWN, SHARED = ("own-0", "own-1", "own-2"), ("shared-0", "shared-1")
BUDGET = 3000
#: numbers of messages of one client: those of others are elsewhere
_NUMBERS = 10_000_000
_ROLES = ("user", "assistant")


def session_of(client: int, name: str) -> str:
    """The session's name in the database."""
    return name if name in SHARED else f"{client}-{name}"


async def client(told: Told) -> None:
    """Do one thing after the other; whatever a killed client left unanswered comes first."""
    book = Book.read(Path(told.book))
    left = book.pending
    if left is not None:
        book.resumed()
    acting = Acting(told, book)
    while not Path(told.stop).exists():
        try:
            await acting.go_on()
        except StoreError:  # the database could not be opened
            await anyio.sleep(0.2)


class Acting:
    """What a client does while the database is open."""

    def __init__(self, told: Told, book: Book) -> None:
        self._told = told
        self._book = book
        self._chance = random.Random(f"{told.seed} {told.number} {book.number}")

    async def go_on(self) -> None:
        """Until there is a sign."""
        given = Overrides(counter=QUARTER)
        async with Memory.open(settings=settings_for(self._told), overrides=given, worker=False) as memory:
            chats = {
                name: memory.session(user="u", session=session_of(self._told.number, name)) for name in (*OWN, *SHARED)
            }
            if self._book.pending is not None:
                await self._until_done(chats, self._book.pending)
            while not Path(self._told.stop).exists():
                await self._something(chats)
                await anyio.sleep(self._chance.uniform(0, 2 * self._told.pause))

    async def _something(self, chats: dict[str, Session]) -> None:
        name = self._chance.choice(list(chats))
        kind = self._chance.choices(
            ("add", "turn", "edit", "delete", "reset", "look"), weights=(70, 12, 5, 3, 0.4, 10)
        )[0]
        log = self._book.logs.get(name, {})
        mine = [seq for seq, said in log.items() if not said.deleted]
        if kind == "look":
            await self._look(chats[name], name)
            return
        if kind == "reset" and name in OWN:
            deed = self._book.begin("reset", name)
        elif kind in {"edit", "delete"} and mine:
            seq = self._chance.choice(mine)
            if kind == "edit":
                deed = self._book.begin("edit", name, seq=seq, texts=self._texts(1))
            else:
                deed = self._book.begin("delete", name, seq=seq)
        else:
            deed = self._book.begin("add", name, texts=self._texts(2 if kind == "turn" else 1))
        await self._until_done(chats, deed)

    def _texts(self, count: int) -> list[str]:
        """What nobody else ever says."""
        first = self._told.number * _NUMBERS + 2 * self._book.number
        return [f"#{number}# word{number} was said by {self._told.number}" for number in range(first, first + count)]

    async def _until_done(self, chats: dict[str, Session], deed: Deed) -> None:
        while True:
            try:
                told = await self._do(chats[deed.session], deed)
            except StoreError as error:
                self._book.failed(_brief(error))
                await anyio.sleep(self._chance.uniform(0.05, 0.3))
            else:
                self._book.done(told)
                return

    async def _do(self, chat: Session, deed: Deed) -> int:
        if deed.what == "add":
            key = f"{self._told.number}-{deed.number}"
            if len(deed.texts) == 1:
                return (await chat.add(_ROLES[deed.number % 2], deed.texts[0], key=key)).seq
            turn = [{"role": role, "content": text} for role, text in zip(_ROLES, deed.texts, strict=True)]
            return (await chat.add_turn(turn, key=key)).seq
        if deed.what == "edit":
            return (await chat.edit(deed.seq, deed.texts[0])).version
        if deed.what == "delete":
            return int(await chat.delete(deed.seq))
        return await chat.reset()

    async def _look(self, chat: Session, name: str) -> None:
        try:
            context = await chat.context(budget=BUDGET)
        except StoreError:
            return
        log = self._book.logs.get(name, {})
        check_context(context, log, alone=name in OWN)


def check_context(context: Context, log: dict[int, Said], *, alone: bool) -> None:
    """I1: every message is summarised, verbatim, declared or deleted, once, and those of the client are among them."""
    parts = context.coverage
    seen = Counter(chain.from_iterable(chain(parts.summarised, parts.verbatim, parts.elided, parts.deleted)))
    assert seen == Counter(range(parts.head)), f"I1: {parts}"
    head = max(log, default=-1) + 1
    assert parts.head == head if alone else parts.head >= head, f"I7: {parts.head} messages, {head} were acknowledged"
    assert context.tokens <= context.budget, "I10"
    deleted = set(chain.from_iterable(parts.deleted))
    assert {seq for seq, said in log.items() if said.deleted} <= deleted, "a deleted message is served"
    assert not deleted & {seq for seq, said in log.items() if not said.deleted}, "a message is said to be deleted"
    shown = {message.seq: message.content for message in context.messages if message.seq is not None}
    for seq in shown.keys() & log.keys():
        assert log[seq].text.split(" was ")[0] in shown[seq], f"message {seq} is shown as another: {shown[seq]}"


def _brief(error: StoreError) -> str:
    return f"{type(error).__name__}: {str(error)[:120]}"
