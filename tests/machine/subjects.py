"""What the state machine drives: Anaphora itself, and the two seeds' own algorithms as they are printed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from anaphora.bootstrap import Overrides, Services, open_services
from anaphora.domain.context import Context
from anaphora.domain.jobs import Fence, Job
from anaphora.domain.keys import SessionKey
from anaphora.domain.wire import PromptMessage
from anaphora.errors import ModelError, ModelUnavailable
from anaphora.ports.models import TokenCounter
from anaphora.rules.admission import new_message
from anaphora.settings import Settings
from anaphora.testing import FakeClock, SeededRandom
from anaphora.testing.scripted import Script, ScriptedChat, faithful
from anaphora.testing.summaries import canaries, faithful_summary
from anaphora.worker.loop import Worker

KEY = SessionKey(tenant="t", user="u", agent="a", session="s")


@dataclass(frozen=True)
class Served:
    """What a person's next prompt would hold, by the numbers of the messages."""

    summarised: set[int]
    verbatim: set[int]
    elided: set[int]


class Subject(Protocol):
    """A memory as the base machine sees it."""

    def append(self, roles: Sequence[str]) -> None: ...
    def work(self, mode: str) -> bool: ...
    def serve(self) -> Served: ...
    def close(self) -> None: ...


#: answers of a failing model: raised, or returned in place of a summary
FAULTS: Mapping[str, ModelError | str] = {
    "timeout": ModelUnavailable("no answer in time"),
    "rate_limit": ModelUnavailable("429", retry_after=7),
    "empty": "",
    "refusal": '{"points": [{"text": "I cannot help with that.", "first": 0, "last": 0}], "merged": null}',
    "bad_json": '{"points": [{"text": "half',
    "huge": '{"points": [{"text": "' + "x" * 1_000_000 + '", "first": 0, "last": 0}], "merged": null}',
    "wrong_ids": '{"points": [{"text": "something", "first": 900000, "last": 900001}], "merged": null}',
    "no_points": '{"points": [], "merged": null}',
}


class Words(TokenCounter):
    """Counts quickly: four characters a token."""

    @property
    def name(self) -> str:
        return "quarter"

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


class Anaphora:
    """A real SQLite file, a scripted model, a clock that tests own; workers are claims that may be left lying."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.path = folder / "memory.db"
        self.clock = FakeClock()
        self.randomness = SeededRandom(1)
        self.chat = ScriptedChat()
        self.runner = asyncio.Runner()
        self.options = {"strategy": "rolling_pairs", "embedder": "none", "durability": "normal", **options}
        self.head = 0
        self.keys: dict[str, tuple[Sequence[str], int]] = {}
        self.open()

    def open(self) -> None:
        settings = Settings(db=str(self.path), **self.options)
        given = Overrides(chat_model=self.chat, clock=self.clock, randomness=self.randomness, counter=Words())
        self.manager = open_services(settings, given)
        self.services: Services = self.run(self.manager.__aenter__())

    def restart(self) -> None:
        """A crash keeps what is on disk and nothing else: claims in hand stay claimed."""
        self.run(self.manager.__aexit__(None, None, None))
        self.open()

    def close(self) -> None:
        self.run(self.manager.__aexit__(None, None, None))
        self.runner.close()

    def run(self, work: Any) -> Any:
        return self.runner.run(work)

    def append(self, roles: Sequence[str], key: str | None = None) -> None:
        start = self.keys[key][1] if key in self.keys else self.head
        messages = [_message(role, start + at) for at, role in enumerate(roles)]
        receipt = self.run(self.services.ingest.append(KEY, messages, idempotency_key=key))
        assert receipt.range.start == start, "I2, I14: the receipt names other messages"
        assert receipt.repeated == (key in self.keys)
        self.head = max(self.head, receipt.range.stop)
        if key is not None:
            self.keys[key] = (roles, start)

    def worker(self, name: str) -> Worker:
        return replace(self.services.worker, owner=name)

    def work(self, mode: str) -> bool:
        """One look at the queue by one worker whose model is in this mode."""
        self.chat.script = script_of(mode)
        done: bool = self.run(self.services.worker.step())
        return done

    def claim(self, name: str) -> tuple[Job, Fence] | None:
        job: Job | None = self.run(self.worker(name).claim())
        if job is None:
            return None
        fence = Fence(
            tenant=job.tenant,
            job_id=job.id,
            session_id=job.session_id,
            owner=name,
            attempt=job.attempt,
            epoch=job.epoch,
        )
        return job, fence

    def context(self, budget: int) -> Context:
        context: Context = self.run(self.services.contexts.build(KEY, budget=budget))
        return context

    def serve(self) -> Served:
        context = self.context(1_000_000)
        block = "".join(m.content for m in context.messages if m.section == "memory")
        return Served(
            summarised=canaries(block) if block else set(),
            verbatim={m.seq for m in context.messages if m.seq is not None},
            elided={n for span in context.coverage.elided for n in span},
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


def _message(role: str, seq: int) -> Any:
    parts: tuple[dict[str, Any], ...] = ()
    if role == "call":
        role, parts = "assistant", ({"type": "tool_call", "id": f"c{seq}", "name": "look", "arguments": {}},)
    elif role == "tool":
        parts = ({"type": "tool_result", "id": f"c{seq - 1}", "content": f"#{seq}# found"},)
    return new_message(role, f"#{seq}# word{seq} is what was said", parts=parts)


class Seed004:
    """`RollingSummaryMemory` as seed 004 prints it: reuse while the count is close, an excuse on failure."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.cached: tuple[str, int] | None = None
        self.mode = "ok"

    def append(self, roles: Sequence[str]) -> None:
        self.log += roles

    def work(self, mode: str) -> bool:
        self.mode = mode
        return False

    def close(self) -> None:
        pass

    def serve(self) -> Served:
        if len(self.log) <= 8:
            return Served(set(), set(range(len(self.log))), set())
        old = len(self.log) - 8
        if self.cached is None or abs(self.cached[1] - old) >= 8:
            text = f"#0-{old - 1}#" if self.mode == "ok" else f"Previous conversation: {old} messages."
            self.cached = (text, old)
        return Served(canaries(self.cached[0]), set(range(old, len(self.log))), set())


class Seed000:
    """The sliding window as seed 000 prints it: a status row as the lock, no lease, what leaves the window is gone."""

    def __init__(self) -> None:
        self.head = 0
        self.rows: list[dict[str, Any]] = []

    def append(self, roles: Sequence[str]) -> None:
        self.head += len(roles)
        last = self.head - 1
        if last < 5 or any(row["status"] == "processing" for row in self.rows):
            return
        start = max(0, last - 13)
        start += start % 2
        base = self._latest()
        self.rows.append({"start": start, "end": last, "base": base, "status": "processing"})

    def work(self, mode: str) -> bool:
        for row in self.rows:
            if row["status"] == "processing":
                row["status"] = "completed" if mode == "ok" else "failed"
                base = row["base"]
                covered = set(range(base["end"] + 1 if base else row["start"], row["end"] + 1))
                if base:
                    covered |= base["covered"]
                row["covered"] = {n for n in covered if n >= row["start"]}
        return False

    def close(self) -> None:
        pass

    def _latest(self) -> dict[str, Any] | None:
        done = [row for row in self.rows if row["status"] == "completed"]
        return max(done, key=lambda row: row["end"]) if done else None

    def serve(self) -> Served:
        latest = self._latest()
        if latest is None:
            return Served(set(), set(range(self.head)), set())
        return Served(latest["covered"], set(range(latest["end"] + 1, self.head)), set())


MakeSubject = Callable[[], Subject]
