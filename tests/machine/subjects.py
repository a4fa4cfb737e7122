"""What the state machine drives: a memory, as it is opened by anybody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

from tests.machine.said import Log, messages

from anaphora.bootstrap import Overrides, Services, open_services
from anaphora.domain.context import Context
from anaphora.domain.jobs import Fence, Job
from anaphora.domain.keys import SessionKey
from anaphora.domain.messages import Receipt
from anaphora.domain.wire import PromptMessage
from anaphora.errors import ModelError, ModelRefused, ModelUnavailable
from anaphora.ports.models import Summariser, SummaryDraft, SummaryRequest
from anaphora.rules.admission import new_message
from anaphora.services.summarise import Summarise
from anaphora.settings import Settings
from anaphora.testing import FakeClock, SeededRandom
from anaphora.testing.scripted import Script, ScriptedChat, faithful
from anaphora.testing.summaries import canaries, faithful_summary
from anaphora.worker.loop import Worker

KEY = SessionKey(tenant="t", user="u", agent="a", session="s")
#: of the same user: whatever happens in the session, nothing happens here
BYSTANDER = replace(KEY, session="bystander")

#: answers of a failing model: raised, or returned in place of a summary
FAULTS: Mapping[str, ModelError | str] = {
    "timeout": ModelUnavailable("no answer in time"),
    "rate_limit": ModelUnavailable("429", retry_after=7),
    "wrong_key": ModelRefused("401"),
    "empty": "",
    "refusal": '{"points": [{"text": "I cannot help with that.", "first": 0, "last": 0}], "merged": null}',
    "bad_json": '{"points": [{"text": "half',
    "huge": '{"points": [{"text": "' + "x" * 1_000_000 + '", "first": 0, "last": 0}], "merged": null}',
    "wrong_ids": '{"points": [{"text": "something", "first": 900000, "last": 900001}], "merged": null}',
    "no_points": '{"points": [], "merged": null}',
}


@dataclass(frozen=True)
class Served:
    """What a person's next prompt would hold, by the numbers of the messages."""

    summarised: set[int]
    verbatim: set[int]
    elided: set[int]
    deleted: set[int] = field(default_factory=set)


class Subject(Protocol):
    """A memory as the base machine sees it."""

    @property
    def head(self) -> int: ...
    def append(self, roles: Sequence[str]) -> None: ...
    def work(self, mode: str) -> bool: ...
    def serve(self) -> Served: ...
    def close(self) -> None: ...


class Words:
    """Counts quickly: four characters a token."""

    @property
    def name(self) -> str:
        return "quarter"

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


class Moody(ScriptedChat):
    """A model in a mode, which it signs with: whoever reads a version can tell in which mode it was made."""

    def __init__(self, pause: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self.mode = "ok"
        self.pause = pause

    @property
    def name(self) -> str:
        return self.mode

    def enter(self, mode: str) -> None:
        self.mode = mode
        self.script = script_of(mode)


@dataclass(frozen=True)
class Slow:
    """A summariser without a model, during whose work something may happen too."""

    summariser: Summariser
    pause: Callable[[], Awaitable[None]]

    async def summarise(self, request: SummaryRequest) -> SummaryDraft:
        await self.pause()
        return await self.summariser.summarise(request)


class Anaphora:
    """A real database, a scripted model, a clock that tests own; workers are claims that may be left lying.

    Attributes:
        log: what was really said.
        meanwhile: happens once, the next time that a summary is being made.

    """

    def __init__(self, db: str, *, with_model: bool = True, **options: Any) -> None:
        self.clock = FakeClock()
        self.randomness = SeededRandom(1)
        self.chat = Moody(self._pause) if with_model else None
        self.loop = asyncio.new_event_loop()
        self.settings = _settings(json.dumps(options, sort_keys=True)).model_copy(update={"db": db})
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        self.forget()
        self.open()

    @property
    def head(self) -> int:
        return self.log.head

    def forget(self) -> None:
        """Nothing was ever said."""
        self.log = Log()
        self.keys: dict[str, tuple[Sequence[str], int]] = {}

    def open(self) -> None:
        given = Overrides(chat_model=self.chat, clock=self.clock, randomness=self.randomness, counter=Words())
        self.manager = open_services(self.settings, given)
        self.services: Services = self.run(self.manager.__aenter__())
        handlers = {
            kind: replace(handler, extractive=Slow(handler.extractive, self._pause))
            for kind, handler in self.services.worker.handlers.items()
            if isinstance(handler, Summarise)
        }
        self.services = replace(self.services, worker=replace(self.services.worker, handlers=handlers))

    def restart(self) -> None:
        """What is on disk stays, and nothing else: claims in hand stay claimed."""
        self.run(self.manager.__aexit__(None, None, None))
        self.open()

    def close(self) -> None:
        self.run(self.manager.__aexit__(None, None, None))
        self.loop.close()

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    async def _pause(self) -> None:
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            await happens()

    def append(self, roles: Sequence[str], key: str | None = None) -> None:
        self.run(self.appended(roles, key))

    async def appended(self, roles: Sequence[str], key: str | None = None) -> Receipt:
        again = key in self.keys
        start = self.keys[key][1] if key in self.keys else self.head
        made = messages(roles, start) if again else self.log.add(roles)
        receipt = await self.services.ingest.append(KEY, made, idempotency_key=key)
        assert receipt.range.start == start, "I2, I14: the receipt names other messages"
        assert receipt.repeated == again, "I14"
        if key is not None:
            self.keys[key] = (roles, start)
        return receipt

    def worker(self, name: str) -> Worker:
        return replace(self.services.worker, owner=name)

    def enter(self, mode: str) -> None:
        """From now on the model is in this mode."""
        if self.chat is not None:
            self.chat.enter(mode)

    def work(self, mode: str) -> bool:
        """One look at the queue by one worker whose model is in this mode."""
        self.enter(mode)
        done: bool = self.run(self.services.worker.step())
        return done

    def claim(self, name: str) -> Job | None:
        job: Job | None = self.run(self.worker(name).claim())
        return job

    def context(self, budget: int) -> Context:
        context: Context = self.run(self.services.contexts.build(KEY, budget=budget))
        return context

    def serve(self) -> Served:
        context = self.context(1_000_000)
        shown = block(context)
        return Served(
            summarised=canaries(shown) if shown else set(),
            verbatim={m.seq for m in context.messages if m.seq is not None},
            elided={n for span in context.coverage.elided for n in span},
            deleted={n for span in context.coverage.deleted for n in span},
        )


def block(context: Context) -> str:
    """What the prompt remembers, or nothing."""
    return "".join(m.content for m in context.messages if m.section == "memory")


def fence_of(job: Job, owner: str) -> Fence:
    return Fence(
        tenant=job.tenant,
        job_id=job.id,
        session_id=job.session_id,
        owner=owner,
        attempt=job.attempt,
        epoch=job.epoch,
    )


def script_of(mode: str) -> Script:
    """What a model in this mode answers: honest ("ok"), honest about a part ("partial"), or one of FAULTS."""
    fault = FAULTS.get(mode)

    def script(messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None) -> str:
        if isinstance(fault, ModelError):
            raise fault
        if mode == "partial":
            return faithful_summary(messages[-1].content, every=3)
        return faithful(messages, schema) if fault is None else fault

    return script


@cache
def _settings(options: str) -> Settings:
    base = {"db": ":memory:", "strategy": "rolling_pairs", "embedder": "none", "durability": "normal"}
    return Settings(**{**base, **json.loads(options)})


async def begin(db: str) -> None:
    """Make a database with nothing but the bystander's session in it."""
    given = Overrides(clock=FakeClock(), randomness=SeededRandom(0), counter=Words())
    async with open_services(_settings("{}").model_copy(update={"db": db}), given) as services:
        await services.ingest.append(BYSTANDER, [new_message("user", f"aside {n}") for n in range(3)])
