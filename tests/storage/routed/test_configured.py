"""Several servers as a user has them: by settings, from Python and from the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.cli.conftest import Run, conversation, write_lines
from tests.databases.postgres import database_of, empty_database_of, opened

from anaphora import Memory
from anaphora.bootstrap.stores import open_store
from anaphora.bootstrap.system import SystemClock
from anaphora.errors import ConfigError
from anaphora.settings import load
from anaphora.storage import migrations
from anaphora.storage.routed.placement import Placement
from anaphora.testing.conformance.store_laws.tools import append, key_of

TENANTS = ("acme", "default", "globex", "initech", "umbrella")
PLACEMENT = Placement(servers=("a", "b"), pinned={"umbrella": "a"})


def urls_in(folder: Path, *servers: str) -> dict[str, str]:
    async def found() -> dict[str, str]:
        return {name: await database_of(folder / name) for name in servers}

    return asyncio.run(found())


def configure(folder: Path, urls: Mapping[str, str], *, pinned: str = 'umbrella = "a"') -> None:
    """The file that the manual shows."""
    servers = "\n".join(f'{name} = "{url}"' for name, url in urls.items())
    text = f'db = ":servers:"\ndurability = "normal"\n[postgres.servers]\n{servers}\n\n[postgres.pinned]\n{pinned}\n'
    (folder / "anaphora.toml").write_text(text, encoding="utf-8")


async def removed(url: str, tenant: str) -> None:
    """What the manual says of a tenant that has moved."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"SET anaphora.tenant = '{tenant}'")
        assert await connection.execute("DELETE FROM sessions WHERE tenant_id = $1", tenant) == "DELETE 1"
    finally:
        await connection.close()


async def broken(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        assert await connection.execute("DELETE FROM messages WHERE seq = 3") == "DELETE 1"
    finally:
        await connection.close()


@pytest.mark.anyio
async def test_a_memory_over_several_servers_is_one_memory(tmp_path: Path) -> None:
    """Every tenant's words are on its own server, and background work is done on all of them."""
    urls = {name: await database_of(tmp_path / name) for name in "ab"}
    settings: dict[str, Any] = {"embedder": "none", "durability": "normal"}
    servers = {"servers": urls, "pinned": dict(PLACEMENT.pinned)}
    async with Memory.open(":servers:", postgres=servers, **settings) as memory:
        for tenant in TENANTS:
            chat = memory.session(user="ann", session="s", tenant=tenant)
            for number in range(12):
                await chat.add("user", f"{tenant} says {number}")
                await chat.add("assistant", "Noted.")
        assert await memory.idle(30)
        for tenant in TENANTS:
            chat = memory.session(user="ann", session="s", tenant=tenant)
            assert len(await chat.messages()) == 24
            assert await chat.summaries(), f"nobody summarised {tenant}"
            (found, *_) = await memory.search(f"{tenant}", user="ann", tenant=tenant)
            assert tenant in found.message.content
    for name, url in urls.items():
        async with opened(url) as alone:
            there = list(await alone.tenants(after="", limit=10))
        assert there == [tenant for tenant in TENANTS if PLACEMENT.server_of(tenant) == name]
        assert there


def test_the_commands_take_the_list_of_servers_for_a_database(run: Run, home: Path) -> None:
    """Migrate, import, export, doctor, and copy into a list and from one."""
    urls = urls_in(home, "a", "b", "c")
    write_lines(home / "chats.jsonl", [conversation(30), conversation(7, user="bob")])
    for tenant in TENANTS:
        assert run("import", "chats.jsonl", "--tenant", tenant, "--db", "one.db").code == 0
    configure(home, {name: urls[name] for name in "ab"})
    assert run("migrate").out == f":servers: is at revision {migrations.head()}: nothing to do.\n"
    done = run("copy", "one.db", ":servers:", "--json")
    assert done.code == 0, done.err
    assert [(t["tenant"], t["messages"], t["equal"]) for t in done.document["tenants"]] == [
        (tenant, 37, True) for tenant in TENANTS
    ]
    for tenant in TENANTS:
        assert run("export", "--tenant", tenant).out == run("export", "--tenant", tenant, "--db", "one.db").out
    report = run("doctor", "--json")
    assert report.code == 0, report.err
    checks = {check["id"]: check for check in report.document["checks"]}
    assert len(checks) == len(report.document["checks"])
    assert (checks["servers"]["ok"], checks["servers"]["checked"], checks["servers"]["detail"]) == (True, 2, "")
    assert checks["I2"]["checked"] >= 10
    assert run("copy", ":servers:", urls["c"]).code == 0
    assert run("export", "--tenant", "acme", "--db", urls["c"]).out == run("export", "--tenant", "acme").out


def test_a_tenant_moves_as_the_manual_says(run: Run, home: Path) -> None:
    urls = urls_in(home, "a", "b")
    configure(home, urls, pinned="")
    write_lines(home / "chats.jsonl", [conversation(12)])
    tenant = next(name for name in TENANTS if Placement(servers=("a", "b")).server_of(name) == "a")
    assert run("import", "chats.jsonl", "--tenant", tenant).code == 0
    before = run("export", "--tenant", tenant).out
    configure(home, urls, pinned=f'{tenant} = "b"')
    assert f"'{tenant}' is on a, and looked for on b" in run("sessions", "list", "--tenant", tenant).complaint
    assert run("export", "--tenant", tenant, "--db", urls["a"], "moving.jsonl").code == 0
    assert run("import", "moving.jsonl", "--tenant", tenant, "--db", urls["b"]).code == 0
    report = run("doctor", "--json")
    assert report.code == 1
    assert "looked for on b" in next(c["detail"] for c in report.document["checks"] if c["id"] == "servers")
    asyncio.run(removed(urls["a"], tenant))
    assert run("doctor").code == 0
    assert run("export", "--tenant", tenant).out == before


def test_a_broken_law_of_one_server_is_found_and_said_of_that_server(run: Run, home: Path) -> None:
    urls = urls_in(home, "a", "b")
    configure(home, urls)
    write_lines(home / "chats.jsonl", [conversation(12)])
    assert run("import", "chats.jsonl", "--tenant", "umbrella").code == 0
    assert run("doctor").code == 0
    asyncio.run(broken(urls["a"]))
    report = run("doctor", "--json")
    assert report.code == 1
    found = {check["id"]: check["detail"] for check in report.document["checks"] if not check["ok"]}
    assert found["I2"].startswith("a: ")


def test_a_fresh_list_is_migrated_from_nothing(run: Run, home: Path) -> None:
    configure(home, {"a": asyncio.run(empty_database_of(home)), **urls_in(home, "b")})
    done = run("migrate", "--json")
    assert done.code == 0, done.err
    assert (done.document["from"], done.document["to"], done.document["changed"]) == (None, migrations.head(), True)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "postgres.servers: there is no server in the list: name at least one"),
    ({"servers": {"a": "postgresql://h/d"}, "pinned": {"acme": "b"}}, "postgres.pinned: unknown server 'b'"),
    ({"servers": {"a": "memory.db"}}, "postgres.servers.a: not a PostgreSQL server: write postgresql://"),
    ({"servers": {"a": ":servers:"}}, "postgres.servers.a: not a PostgreSQL server"),
    ({"servers": {"A": "postgresql://h/d"}}, "postgres.servers: 'A' cannot be the name of a server"),
    (
        {"servers": {"a": "postgresql://u:hunter2@h/d", "b": "postgresql://u:hunter3@h/d"}},
        "postgres.servers: a and b are the same database: leave one out",
    ),
]


@pytest.mark.parametrize(("postgres", "says"), REFUSED)
def test_a_list_that_cannot_work_is_refused_in_one_line(postgres: dict[str, Any], says: str) -> None:
    settings = load(db=":servers:", postgres=postgres)
    never = {"planner": lambda _strategy, _state: None, "reader_of": str}

    async def opening() -> None:
        async with open_store(settings, clock=SystemClock(), time=None, read_only=False, randomness=bytes, **never):
            pass

    with pytest.raises(ConfigError) as error:
        asyncio.run(opening())
    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)
    assert "hunter" not in str(error.value)


def test_no_password_of_a_server_is_shown() -> None:
    settings = load(db=":servers:", postgres={"servers": {"a": "postgresql://u:hunter2@nowhere.invalid/d"}})
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in settings.model_dump_json()


def test_servers_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_POSTGRES__SERVERS__NORTH", "postgresql://north/memory")
    monkeypatch.setenv("ANAPHORA_POSTGRES__PINNED", '{"Acme": "north"}')
    settings = load(postgres={"servers": {"south": "postgresql://south/memory"}})
    assert {name: url.get_secret_value() for name, url in settings.postgres.servers.items()} == {
        "north": "postgresql://north/memory",
        "south": "postgresql://south/memory",
    }
    assert settings.postgres.pinned == {"Acme": "north"}


@pytest.mark.anyio
async def test_what_was_written_beside_the_list_is_found_by_the_doctor_alone(tmp_path: Path) -> None:
    """Opening stays cheap: it looks at tenants only when the list has changed."""
    urls = {name: await database_of(tmp_path / name) for name in "ab"}
    servers = {"servers": urls, "pinned": dict(PLACEMENT.pinned)}
    async with Memory.open(":servers:", postgres=servers, embedder="none", durability="normal"):
        pass
    async with opened(urls["b"]) as beside:
        await beside.append(append("x", key=key_of(tenant="umbrella")))
    async with Memory.open(":servers:", postgres=servers, embedder="none", durability="normal") as memory:
        assert await memory.sessions(tenant="umbrella") == []
