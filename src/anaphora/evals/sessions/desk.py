"""Where a scenario is played: a memory that is opened, closed and spoken to through the public API alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from anaphora.domain.context import Context, Coverage
from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import NotFound
from anaphora.evals.sessions.scenarios import (
    Correct,
    End,
    Forget,
    Look,
    Pin,
    Put,
    Reopen,
    Say,
    Seen,
    Sitting,
    Step,
    Unsay,
)
from anaphora.memory import Memory, Session
from anaphora.ports.models import ChatModel

#: more messages, and more facts, than any scenario has
_ALL = 1000
#: tokens of an answer without a memory
_ANSWER = 300

Opening = Callable[[], AbstractAsyncContextManager[Memory]]


@dataclass(slots=True, kw_only=True)
class Desk:
    """Plays the steps of one scenario after the other."""

    opening: Opening
    tenant: str
    memory: Memory
    #: answers with nothing but the question, and nothing is kept; None: the memory is used
    without: ChatModel | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def play(self, sitting: Sitting, step: Step, seen: Seen) -> Seen:
        """Do a step and all work that is due after it; what there is to see then.

        Raises:
            NotFound: what should be changed is not there.
            ModelError: the model failed.

        """
        made = seen
        if isinstance(step, Say):
            made = await self._say(sitting, step.text)
        elif self.without is None or not isinstance(step, Put | End | Reopen | Pin):
            await self._do(sitting, step)
        await self.memory.work()
        return Seen(
            memory=self.memory,
            tenant=self.tenant,
            sitting=sitting,
            asked=made.asked,
            answer=made.answer,
            context=made.context,
        )

    async def _say(self, sitting: Sitting, text: str) -> Seen:
        if self.without is None:
            told = await self._session(sitting).send(text, budget=sitting.budget)
            context, said = told.context, told.text
        else:
            context = _alone(text, sitting.instructions)
            pieces = self.without.stream(context.messages, max_tokens=_ANSWER, temperature=0.0)
            said = "".join([piece async for piece in pieces])
        return Seen(memory=self.memory, tenant=self.tenant, sitting=sitting, asked=text, answer=said, context=context)

    async def _do(self, sitting: Sitting, step: Step) -> None:
        session, facts, who = self._session(sitting), self.memory.facts, self._who(sitting)
        match step:
            case Put(turns):
                for turn in turns:
                    await session.add_turn(turn)
                    await self.memory.work()
            case End():
                await session.end()
            case Reopen():
                await self.reopen()
            case Pin(content):
                await facts.add(content, pinned=True, **who)
            case Correct(having, content):
                for fact_id in (await self._having(sitting, having))[:1]:
                    await facts.edit(fact_id, content=content, **who)
            case Forget(having):
                for fact_id in await self._having(sitting, having):
                    await facts.delete(fact_id, **who)
            case Unsay(having):
                await _unsay(session, having)
            case Say() | Look():
                pass

    async def _having(self, sitting: Sitting, word: str) -> list[Any]:
        """Ids of the facts that have a word."""
        known = await self.memory.facts.list(limit=_ALL, **self._who(sitting))
        found = [fact.id for fact in known if word.casefold() in fact.content.casefold()]
        if not found:
            raise NotFound(f"no fact says {word!r}")
        return found

    async def reopen(self) -> None:
        """Close the memory and open it again."""
        await self._stack.aclose()
        self.memory = await self._stack.enter_async_context(self.opening())

    async def close(self) -> None:
        """Close the memory."""
        await self._stack.aclose()

    def _session(self, sitting: Sitting) -> Session:
        return self.memory.session(
            session=sitting.session, agent=sitting.agent, instructions=sitting.instructions, **self._who(sitting)
        )

    def _who(self, sitting: Sitting) -> dict[str, Any]:
        return {"user": sitting.user, "tenant": self.tenant}


@asynccontextmanager
async def desk(opening: Opening, tenant: str, without: ChatModel | None) -> AsyncIterator[Desk]:
    """A desk with an open memory; closed at the end."""
    stack = AsyncExitStack()
    memory = await stack.enter_async_context(opening())
    made = Desk(opening=opening, tenant=tenant, memory=memory, without=without, _stack=stack)
    try:
        yield made
    finally:
        await made.close()


async def _unsay(session: Session, having: str) -> None:
    """Delete the messages that have a word."""
    said = await session.messages(start=0, limit=_ALL)
    found = [message.seq for message in said if having.casefold() in message.content.casefold()]
    if not found:
        raise NotFound(f"no message says {having!r}")
    for seq in found:
        await session.delete(seq)


def _alone(text: str, instructions: str | None) -> Context:
    """A prompt of a question and nothing else."""
    query = PromptMessage(section=SectionName.QUERY, role=Role.USER, content=text, tokens=0)
    system = PromptMessage(section=SectionName.INSTRUCTIONS, role=Role.SYSTEM, content=instructions or "", tokens=0)
    return Context(
        messages=(system, query) if instructions else (query,),
        budget=0,
        tokens=0,
        tokens_full_history=0,
        coverage=Coverage(head=0, summary_id=None, summarised=(), verbatim=(), elided=()),
        degraded=(),
        lines=(),
    )
