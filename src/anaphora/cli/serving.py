"""`anaphora serve`: the memory as a service, with a page on which people see what is remembered of them."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, ExitStack, closing, contextmanager
from importlib.util import find_spec
from typing import Annotated, Any, Final

import anyio
import typer
import uvicorn
from anyio.abc import TaskStatus
from starlette.types import ASGIApp

from anaphora.agents.opening import with_folder_and_models
from anaphora.bootstrap.process import load, settled
from anaphora.bootstrap.stores import MEMORY
from anaphora.cli.beside import worker_beside
from anaphora.cli.options import Db, Tenant, named
from anaphora.cli.output import note
from anaphora.cli.running import settings_from
from anaphora.domain.principals import OF_PERSONS, Principal
from anaphora.errors import InvalidInput
from anaphora.memory import Memory
from anaphora.server import create_app
from anaphora.server.connections import Connection
from anaphora.server.gate import Either, Gate, Open
from anaphora.server.guards import LOOPBACK
from anaphora.server.jwt_gate import JwtGate
from anaphora.server.key_gate import KeyGate
from anaphora.server.logs import service_logs
from anaphora.settings import Settings

#: seconds that requests under way get when the service is told to end
_GRACE: Final = 2
#: seconds of silence after which a connection is closed: longer than proxies keep one that they use again
_SILENCE: Final = 75
#: the faster event loop, where there is one
_LOOP: Final = {"use_uvloop": find_spec("uvloop") is not None}


def serve(
    *,
    db: Db = None,
    host: Annotated[str | None, typer.Option("--host", metavar="ADDRESS", help="Where it listens.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", min=0, max=65_535, help="On which port; 0 for a free one.")
    ] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Everybody is --user: for your own machine alone.")
    ] = False,
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="With --no-auth: who you are.", callback=named)
    ] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Start no worker: `anaphora worker` runs somewhere else.")
    ] = False,
    json_logs: Annotated[bool, typer.Option("--json-logs", help="One JSON object a request on stderr.")] = False,
    tenant: Tenant = None,
) -> None:
    """Serve the memory over HTTP until told to stop (Ctrl-C or SIGTERM): REST under /v1, the review page at /.

    Who asks needs a key (`anaphora keys create`) or a JWT of the configured issuer.
    """
    settings = anyio.run(with_folder_and_models, settings_from(db, tenant=tenant))
    worker = "none" if no_worker else None
    given = (("host", host), ("port", port), ("log", "json" if json_logs else None), ("worker", worker))
    changed = {name: value for name, value in given if value is not None}
    settings = settings.model_copy(update={"server": settings.server.model_copy(update=changed)})
    if no_auth is not (user is not None):
        raise InvalidInput("--no-auth and --user NAME go together: everybody who can reach the port is that person")
    if no_auth and settings.server.host not in LOOPBACK:
        raise InvalidInput(
            f"without keys it listens on this machine alone: --host {settings.server.host} needs keys "
            "(`anaphora keys create`) or server.oidc"
        )
    with closing(listening(settings.server.host, settings.server.port)) as opened:
        anyio.run(_serve, settings, opened, user, backend_options=_LOOP)


def serve_to(settings: Settings, user: str) -> None:
    """Serve one person on this machine alone, on the configured port, or another if that is taken.

    The worker is inside: another process would not know these settings.
    """
    settings = settings.model_copy(update={"server": settings.server.model_copy(update={"worker": "inside"})})
    try:
        opened = listening("127.0.0.1", settings.server.port)
    except OSError:
        opened = listening("127.0.0.1", 0)
    with closing(opened):
        anyio.run(_serve, settings, opened, user, backend_options=_LOOP)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        OSError: somebody else does, or there is no such address.

    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as stack:
            opened = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(address)
            opened.listen(2048)
            stack.pop_all()
    except OSError as error:
        raise OSError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None
    return opened


async def run_app(app: ASGIApp, opened: socket.socket, *, ending: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Answer requests until a signal comes; those under way then get a few seconds.

    Args:
        app: what answers.
        opened: where it listens.
        ending: done meanwhile, when the signal has come.

    """
    config = uvicorn.Config(
        app,
        http=Connection,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=_SILENCE,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    server = _Server(config)

    async def obey(*, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                server.force_exit = server.should_exit
                if not server.should_exit:
                    server.should_exit = True
                    group.start_soon(ending)

    async with anyio.create_task_group() as group:
        await group.start(obey)
        await server.serve(sockets=[opened])
        group.cancel_scope.cancel()


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it: uvicorn's own way ends the process before the memory is closed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _serve(settings: Settings, opened: socket.socket, user: str | None) -> None:
    load(settings)
    where = settings.server.worker
    if where == "beside" and settings.db == MEMORY:
        where = "inside"  # nobody else could see it
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(Memory.open(settings=settings, worker=where == "inside"))
        gate = await gate_of(memory, user)
        stack.enter_context(service_logs(settings.server.log))
        beside = await stack.enter_async_context(worker_beside(settings)) if where == "beside" else None
        host, port = opened.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        note(f"Anaphora listens on http://{shown}:{port} - Ctrl-C ends.")

        async def ending() -> None:
            """Work in hand is let go of while requests under way are answered: both have the same seconds.

            That closes what listens to the memory, too: a stream that goes on would be waited for.
            """
            async with anyio.create_task_group() as group:
                group.start_soon(memory.close, _GRACE)
                if beside is not None:
                    group.start_soon(beside.end)

        with settled():
            await run_app(create_app(memory, gate), opened, ending=ending)


async def gate_of(memory: Memory, user: str | None) -> Gate:
    """Who is let in.

    Args:
        memory: whose keys count.
        user: everybody is this person; None: who has a key, or a JWT of the issuer.

    Raises:
        InvalidInput: nobody could come in, and the service would listen to others.

    """
    settings = memory.settings
    if user is not None:
        return Open(Principal(tenant=settings.tenant, user=user, permissions=OF_PERSONS, by="open"))
    gates: list[Gate] = [KeyGate(memory)]
    if settings.server.oidc.issuer is not None:
        gates.append(JwtGate(settings.server.oidc, tenant=settings.tenant))
    elif not await memory.keys.any():
        how = "there is no key yet: `anaphora keys create --user NAME --scopes all` makes one"
        if settings.server.host not in LOOPBACK:
            raise InvalidInput(f"nobody could use a service on {settings.server.host}: {how}")
        note(f"Note: {how}.")
    return Either(*gates)
