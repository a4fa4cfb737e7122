"""What holds for every test: one event loop, repeatable examples, a clean environment, no network."""

from __future__ import annotations

import gc
import ipaddress
import os
import socket
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from tests.databases.compiled import compile_once
from tests.databases.postgres import databases_of_a_test

from anaphora.bootstrap.providers import embedder_from
from anaphora.settings import Settings

pytest_plugins = ["tests.conformance.long", "tests.conformance.report"]

compile_once()

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile(
    "deep",
    max_examples=2000,
    stateful_step_count=100,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


class NetworkTouched(RuntimeError):
    """A test, or the code under it, tried to leave this machine."""


_LOCAL_NAMES = frozenset({"", "localhost", "ip6-localhost"})
_CALLS_WITH_ADDRESS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_CALLS_WITH_NAME = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
_touched: list[str] = []


def _is_here(host: object) -> bool:
    """Whether `host` (a name or an address) is this machine."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str) or host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _watch(event: str, args: tuple[object, ...]) -> None:
    """Stop and note every call of the interpreter that would reach another machine, in any thread."""
    host: object = None
    if event in _CALLS_WITH_NAME:
        host = args[0]
    elif event in _CALLS_WITH_ADDRESS:
        sock, address = args[0], args[1]
        if isinstance(sock, socket.socket) and sock.family == socket.AF_UNIX:
            return
        host = address[0] if isinstance(address, tuple) else None
    if not _is_here(host):
        _touched.append(f"{event} {host!r}")
        raise NetworkTouched(f"{event} {host!r}: tests stay on 127.0.0.1")


sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Fail the test that tried to leave this machine, even when the code under test caught the error."""
    _touched.clear()
    yield
    assert not _touched, f"the network was touched: {', '.join(_touched)}"


@pytest.fixture(autouse=True)
def no_databases_left() -> Iterator[None]:
    """The databases of a test do not fill the disk while others run."""
    with databases_of_a_test():
        yield


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the settings and keys of whoever runs the tests, but for the folder of model files; search goes by words."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name != "ANAPHORA_MODELS" and name.startswith(("ANAPHORA_", "OPENAI_", "ANTHROPIC_", "AZURE_")):
                patch.delenv(name)
        # computing what messages mean takes longer than all else that most tests do: those that are about it say so
        patch.setenv("ANAPHORA_EMBEDDER", "none")
        # reading for facts plans a job in every session: tests that are about it say so
        patch.setenv("ANAPHORA_EXTRACTION", "none")
        # likewise those that are about topics that wait for each other
        patch.setenv("ANAPHORA_TOPICS__BATCH", "1")
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="session", autouse=True)
def the_local_embedder_stays_open(clean_environment: None) -> Iterator[None]:  # noqa: ARG001 - it hides who runs this
    """Loading it takes longer than most tests that use it; memories that are open together share it anyway."""
    kept = embedder_from(Settings(embedder="local"))
    yield
    del kept


def pytest_collection_finish() -> None:
    """What was imported and collected stays: it need not be looked through each time that garbage is looked for."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests (`pytestmark = pytest.mark.anyio`) run on asyncio only."""
    return "asyncio"
