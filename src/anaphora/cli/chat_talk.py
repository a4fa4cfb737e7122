"""Turns through the public API, and what the view is told of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

import anyio

from anaphora.cli.chat_facts import Remembered
from anaphora.cli.chat_view import ChatView
from anaphora.domain.context import Context
from anaphora.domain.jobs import JobState
from anaphora.domain.search import Hit
from anaphora.errors import InvalidInput, ModelError
from anaphora.memory import Memory, Session
from anaphora.services.chat import Turn

#: quotes of an answer without a model
QUOTES = 3


@dataclass(slots=True, kw_only=True)
class Room:
    """A session in a memory, and how the talk in it stands."""

    memory: Memory
    session: Session
    #: how the session is summarised
    strategy: str = ""
    temporary: bool = False
    #: ended, and nothing said since
    ended: bool = False
    #: the last turn with a model
    turn: Turn = field(default_factory=Turn)
    #: what is learned of the session
    remembered: Remembered = field(init=False)

    def __post_init__(self) -> None:
        self.remembered = Remembered(memory=self.memory, key=self.session.key)

    async def left(self) -> int:
        """How many jobs of the session are due or under way; not those that wait for a model that is not there."""
        key, jobs = self.session.key, self.memory.jobs
        due = await jobs.list(states=[JobState.QUEUED], stuck_seconds=0, user=key.user, tenant=key.tenant, limit=200)
        now = await jobs.list(states=[JobState.RUNNING], user=key.user, tenant=key.tenant, limit=200)
        return len({job.id for job in (*due, *now) if job.key == key})


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How to talk."""

    #: is there a model that answers?
    with_model: bool
    #: seconds without a word that end the session
    idle_seconds: float
    #: tokens of a prompt; None = as configured
    budget: int | None = None
    #: is there a model that writes summaries?
    memory_model: bool = False
    #: rules read each turn for facts as soon as it is said
    reads_at_once: bool = False
    #: why a notepad may be empty
    nothing_noted: str = ""


class Talk:
    """Says things in a room. Whatever goes wrong, what the user said is on disk first."""

    def __init__(self, room: Room, view: ChatView, manner: Manner) -> None:
        self.room = room
        self.view = view
        self.manner = manner
        self._busy: anyio.CancelScope | None = None

    # -- turns -----------------------------------------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """One turn: with a model its answer, without one what is remembered."""
        self.room.ended = False
        if self.manner.with_model:
            await self.answer(text)
            return
        # nobody answers: the turn is whole, and can be read for facts
        await self.room.session.add_turn([{"role": "user", "content": text}])
        self.view.recalled(self._name(), await self._remembered(text))
        await self._account()

    async def answer(self, text: str | None) -> None:
        """The model's answer to a message, or, with None, to the last one again."""
        self.room.ended = False
        turn = self.room.turn = Turn()
        session = self.room.session
        with self.stoppable() as scope:
            try:
                async with aclosing(session.stream(text, budget=self.manner.budget, turn=turn)) as pieces:
                    first = True
                    async for piece in pieces:
                        if first:
                            self.view.begin_answer(self._name())
                            first = False
                        self.view.piece(piece)
            except ModelError as error:
                self.view.end_answer()
                self.view.failed(str(error))
                return
        self.view.end_answer()
        if scope.cancelled_caught:
            self.view.interrupted(kept=turn.receipt is not None)
        await self._account()

    async def _remembered(self, text: str) -> Sequence[Hit]:
        try:
            return await self.room.session.recall(text, limit=QUOTES)
        except InvalidInput:
            return ()  # a text too long to search with

    async def _account(self) -> None:
        self.view.after_turn(await self.context())
        if self.manner.reads_at_once:
            with self.stoppable():
                await self.room.remembered.wait()
        await self.look()

    async def look(self) -> None:
        """Show what was learned of the session since the last look."""
        self.view.remembered(await self.room.remembered.look())

    def forget_turn(self) -> None:
        """What was sent is not there any more."""
        self.room.turn = Turn()

    async def context(self) -> Context:
        """The prompt as it stands before the next message."""
        return await self.room.session.context(budget=self.manner.budget)

    def _name(self) -> str:
        agent = self.room.session.key.agent
        return "agent" if agent == "default" else agent

    # -- stopping --------------------------------------------------------------------------------------------------

    @contextmanager
    def stoppable(self) -> Iterator[anyio.CancelScope]:
        """What stands in here can be stopped by `interrupt`."""
        with anyio.CancelScope() as scope:
            self._busy = scope
            try:
                yield scope
            finally:
                self._busy = None

    def interrupt(self) -> bool:
        """Stop the answer or the wait that is under way; False if there is none."""
        if self._busy is None:
            return False
        self._busy.cancel()
        return True
