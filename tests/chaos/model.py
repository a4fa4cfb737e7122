"""A model server that fails about three times in ten, each time in one of many ways, until it is told to be well."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping
from typing import Final

from anaphora.testing import faults
from anaphora.testing.clock import SeededRandom
from anaphora.testing.faults import Fault, Reply
from anaphora.testing.model_server import Request, ScriptedModelServer

SHARE: Final = 0.3
WELL: Final = "well"
#: messages that share a statement
_PER_STATEMENT = 4
FAULTS: Final[Mapping[str, Fault]] = {
    "500": faults.ServerError(),
    "503": faults.ServerError(503),
    "429": faults.RateLimited(),
    "429, come back in 1 s": faults.RateLimited(retry_after=1),
    "no answer in time": faults.Timeout(),
    "cut off": faults.CutOff(),
    "connection dropped": faults.Dropped(),
    "broken body": faults.BrokenBody(),
    "garbage": faults.Garbage(),
    "half of the JSON": faults.TruncatedJson(),
    "numbers that cannot be": faults.WrongIds(),
}


class SickModel:
    """The script of the server, and the account of what it did."""

    def __init__(self, seed: int) -> None:
        self._random = SeededRandom(seed)
        self._lock = threading.Lock()
        #: answers by what was wrong with them; `WELL` for nothing
        self.answers: Counter[str] = Counter()
        self.is_sick = True

    def server(self) -> ScriptedModelServer:
        """The server that answers so."""
        return ScriptedModelServer(self.answer)

    def answer(self, request: Request) -> Reply:
        """A short summary, or what is left of it."""
        reply = Reply(text=short_summary(request.last_user_text))
        if not self.is_sick:
            return reply
        with self._lock:
            what = WELL
            if self._random.chance() < SHARE:
                what = tuple(FAULTS)[int(self._random.chance() * len(FAULTS))]
            self.answers[what] += 1
        return reply if what == WELL else FAULTS[what].spoil(reply)

    @property
    def share(self) -> float:
        """Which part of the answers was spoilt."""
        return 1 - self.answers[WELL] / max(1, self.answers.total())


def short_summary(prompt: str) -> str:
    """A summary that says little of all messages, so that there is always room for it."""
    before, _, after = prompt.partition("\nNEW\n")
    earlier = [json.loads(line) for line in before.splitlines() if line.startswith("{")]
    numbers = [json.loads(line)["n"] for line in after.splitlines() if line]
    groups = [numbers[at : at + _PER_STATEMENT] for at in range(0, len(numbers), _PER_STATEMENT)]
    points = [{"text": f"#{g[0]}-{g[-1]}# noted", "first": g[0], "last": g[-1]} for g in groups]
    merged = "This and that." if any(entry["merge"] for entry in earlier) else None
    return json.dumps({"points": points, "merged": merged})
