"""Clients that write and workers that work, while workers, clients and the server are killed and the model fails."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.chaos.book import Book
from tests.chaos.family import Child, Family, open_family
from tests.chaos.model import SickModel
from tests.chaos.told import Told, environment

from anaphora.storage.postgres.embedded import Server, embedded
from anaphora.testing.model_server import ScriptedModelServer

TENANTS: Final = ("acme", "globex")
CLIENTS: Final = 4
WORKERS: Final = 3
#: between two deaths, in seconds
OF_WORKERS, OF_CLIENTS, OF_SERVER = (1.0, 3.0), (8.0, 20.0), (20.0, 20.0)
#: how long the server is gone, beside what it needs to stop and start: some of it is longer than clients wait
OUTAGE = (0.0, 3.0)
WAYS: Final = ("stopped", "killed", "immediate")


@dataclass(slots=True)
class Storm:
    """One run: what is running, and what was done to it."""

    seed: int
    folder: Path
    server: Server
    family: Family
    model: SickModel
    models: ScriptedModelServer
    over: threading.Event = field(default_factory=threading.Event)
    workers: list[Child] = field(default_factory=list)
    clients: list[Child] = field(default_factory=list)
    #: everybody who ever was
    everybody: list[Child] = field(default_factory=list)
    #: deaths by who died, restarts by how the server ended
    deaths: Counter[str] = field(default_factory=Counter)
    #: what ended by itself, and must not have
    surprises: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The database."""
        return self.server.dsn()

    def begin(self) -> None:
        """Everybody starts; the tables are there."""
        self.run("migrate")
        self.workers.extend(self._worker() for _ in range(WORKERS))
        self.clients.extend(self._client(number) for number in range(CLIENTS))

    def rage(self, seconds: float) -> None:
        """Kill and restart for so long."""
        troubles: Sequence[Callable[[], None]] = (self._kill_workers, self._kill_clients, self._restart_server)
        threads = [threading.Thread(target=self._guarded, args=(trouble,)) for trouble in troubles]
        for thread in threads:
            thread.start()
        self.over.wait(seconds)
        self.over.set()
        for thread in threads:
            thread.join()

    def calm(self) -> None:
        """The faults stop; every client finishes what it has begun; one worker stays."""
        self.server.start()
        self.model.is_sick = False
        self._stop.touch()
        for client in self.clients:
            code = self.family.reap(client, timeout=30)
            if code != 0:
                self._surprised(f"a client ended with {code}: {client.said()[-2000:]}")
        for worker in self.workers[1:]:
            self.family.kill(worker)
        del self.workers[1:]
        self._replace_if_ended(0)

    def books(self) -> list[Book]:
        """What the clients wrote down."""
        return [Book.read(self._book(number)) for number in range(CLIENTS)]

    def run(self, *words: str) -> Child:
        """One command, to its good end."""
        child = self._start("command", Told(db=self.url, words=words, environment=self._environment()))
        code = self.family.reap(child, timeout=60)
        assert code == 0, f"anaphora {' '.join(words)} ended with {code}: {child.said()}"
        return child

    # -- trouble -----------------------------------------------------------------------------------------------

    def _guarded(self, trouble: Callable[[], None]) -> None:
        try:
            trouble()
        except BaseException as error:
            self._surprised(f"{trouble.__name__}: {type(error).__name__}: {error}")
            raise

    def _surprised(self, what: str) -> None:
        """The run has failed: there is no use in going on."""
        self.surprises.append(what)
        self.over.set()

    def _moments(self, name: str, between: tuple[float, float]) -> Iterator[random.Random]:
        """Moments at random until it is over."""
        chance = random.Random(f"{self.seed} {name}")
        due = time.monotonic()
        while True:
            due = max(due + chance.uniform(*between), time.monotonic())
            if self.over.wait(due - time.monotonic()):
                return
            yield chance

    def _kill_workers(self) -> None:
        for chance in self._moments("workers", OF_WORKERS):
            at = chance.randrange(WORKERS)
            if not self._replace_if_ended(at):
                self._kill(self.workers[at], "worker")
                self.workers[at] = self._worker()
            self.models.reset()  # it would remember every request

    def _kill_clients(self) -> None:
        for chance in self._moments("clients", OF_CLIENTS):
            at = chance.randrange(CLIENTS)
            self._kill(self.clients[at], "client")
            self.clients[at] = self._client(at)

    def _restart_server(self) -> None:
        for restarts, chance in enumerate(self._moments("server", OF_SERVER)):
            way = WAYS[restarts % len(WAYS)]
            if way == "killed":
                self.server.kill()
            else:
                self.server.stop(mode="fast" if way == "stopped" else "immediate")
            self.deaths[f"server {way}"] += 1
            time.sleep(chance.uniform(*OUTAGE))
            self.server.start()

    def _kill(self, child: Child, who: str) -> None:
        code = self.family.kill(child)
        if code == -signal.SIGKILL:
            self.deaths[who] += 1
        else:
            self._surprised(f"a {who} had ended with {code}: {child.said()[-2000:]}")

    def _replace_if_ended(self, at: int) -> bool:
        """A worker that began while there was no server says so in one line and ends; whoever runs it tries again."""
        code = self.family.reap(self.workers[at], timeout=0)
        if code is None:
            return False
        said = self.workers[at].said()
        self.deaths["worker ended by itself"] += 1
        if code != 1 or "Traceback" in said:
            self._surprised(f"a worker ended with {code}: {said[-2000:]}")
        self.workers[at] = self._worker()
        return True

    # -- who there is ------------------------------------------------------------------------------------------

    def _worker(self) -> Child:
        words = ("worker", "--concurrency", "2")
        return self._start("command", Told(db=self.url, words=words, environment=self._environment()))

    def _client(self, number: int) -> Child:
        return self._start(
            "client",
            Told(
                db=self.url,
                tenant=TENANTS[number % len(TENANTS)],
                number=number,
                seed=self.seed,
                book=str(self._book(number)),
                stop=str(self._stop),
            ),
        )

    def _start(self, program: str, told: Told) -> Child:
        child = self.family.start(program, told)
        self.everybody.append(child)
        return child

    def _environment(self) -> dict[str, str]:
        return dict(environment(self.url, self.models.base_url))

    def _book(self, number: int) -> Path:
        return self.folder / f"{number}.book"

    @property
    def _stop(self) -> Path:
        return self.folder / "stop"


@contextmanager
def open_storm(folder: Path, data: Path, *, seed: int) -> Iterator[Storm]:
    """A durable server, a sick model, and nobody yet.

    Args:
        folder: for books and what processes say.
        data: for the server, where its user may go.
        seed: of everything that happens at random.

    """
    model = SickModel(seed)
    with ExitStack() as stack:
        server = stack.enter_context(embedded(data, durable=True))
        models = stack.enter_context(model.server())
        family = stack.enter_context(open_family(folder))
        yield Storm(seed=seed, folder=folder, server=server, family=family, model=model, models=models)
