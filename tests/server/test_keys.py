"""Keys let in whom they were made for, as long as they last; what is kept of them lets nobody in."""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from tests.memory.harness import opened
from tests.server.harness import TENANT, served

from anaphora.domain.access import RawKey
from anaphora.domain.principals import OF_PERSONS, Permission, Principal
from anaphora.errors import InvalidInput, NotFound, UnknownName
from anaphora.server.key_gate import BURST, TRUST, KeyGate
from anaphora.server.problems import Refused
from anaphora.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

DAY = timedelta(days=1).total_seconds()


async def test_a_key_lets_in_whom_it_was_made_for_and_nobody_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        new = await memory.keys.create(user="ann", tenant="home/1", scopes=["read", "write"], name="phone")
        found = await memory.keys.verify(new.key)
        assert found is not None
        assert (found.tenant, found.user, found.by) == ("home/1", "ann", new.made.id.hex)
        assert found.permissions == {Permission.READ, Permission.WRITE}
        everything = await memory.keys.create(user="ann")
        assert everything.made.permissions == OF_PERSONS
        operator = await memory.keys.create(user=None)
        assert operator.made.permissions == {Permission.OPERATE}


async def test_whatever_is_not_exactly_the_key_lets_nobody_in(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        key = (await memory.keys.create(user="ann")).key
        other = (await memory.keys.create(user="bob")).key
        head, uid, secret = key.split(".")
        elsewhere = base64.urlsafe_b64encode(b"other").decode().rstrip("=")
        for text in (
            "",
            "anaphora_",
            key[:-1],
            key + "x",
            key.upper(),
            f"{head}.{uid}.",
            f"{head}.{uid}.{other.split('.')[2]}",
            f"anaphora_{elsewhere}.{uid}.{secret}",
            f"{head}.{'0' * 32}.{secret}",
            f"{head}.{uid}.{secret}.{secret}",
            f"anaphora_%%.{uid}.{secret}",
            f"anaphora_AA.{uid}.{secret}",
            "é" * 50,
            "\ud800",
            "x" * 100_000,
        ):
            assert await memory.keys.verify(text) is None, text[:80]
        assert await memory.keys.verify(key) is not None


async def test_a_key_lets_in_until_it_expires_or_is_revoked(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as memory:
        short = await memory.keys.create(user="ann", days=1)
        long = await memory.keys.create(user="ann")
        clock.jump(DAY - 1)
        assert await memory.keys.verify(short.key) is not None
        clock.jump(1)
        assert await memory.keys.verify(short.key) is None
        assert await memory.keys.again(short.made.id) is None
        assert [await memory.keys.revoke(long.made.id), await memory.keys.revoke(str(long.made.id))] == [True, False]
        assert await memory.keys.verify(long.key) is None
        with pytest.raises(NotFound):
            await memory.keys.revoke(long.made.id, tenant="other")
        with pytest.raises(NotFound):
            await memory.keys.revoke("no id")


async def test_a_key_that_is_replaced_lets_in_for_a_while_beside_the_new_one(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as memory:
        old = await memory.keys.create(user="ann", scopes=["read"], name="phone")
        new = await memory.keys.rotate(old.made.id, overlap_hours=1)
        assert (new.made.user, new.made.name) == ("ann", "phone")
        assert new.made.permissions == {Permission.READ}
        clock.jump(3599)
        assert await memory.keys.verify(old.key) is not None
        clock.jump(1)
        assert await memory.keys.verify(old.key) is None
        assert await memory.keys.verify(new.key) is not None
        with pytest.raises(InvalidInput, match="lets nobody in"):
            await memory.keys.rotate(old.made.id)


@pytest.mark.parametrize(
    "how",
    [
        {"user": ""},
        {"user": "ann", "scopes": []},
        {"user": "ann", "scopes": ["operate"]},
        {"user": "ann", "days": 0},
        {"user": "ann", "days": float("nan")},
        {"user": "ann", "name": "x" * 201},
        {"user": "ann", "name": "\ud800"},
        {"user": "ann", "tenant": ""},
    ],
)
async def test_a_key_that_cannot_be_is_not_made(how: dict[str, object], tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(InvalidInput):
            await memory.keys.create(**how)  # type: ignore[arg-type]
        with pytest.raises(UnknownName, match="did you mean 'read'"):
            await memory.keys.create(user="ann", scopes=["raed"])
        assert await memory.keys.list() == []


async def test_what_is_kept_of_a_key_does_not_hold_it_and_its_last_use_is_known_to_the_minute(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as memory:
        new = await memory.keys.create(user="ann")
        for seconds in (0, 59, 1):
            clock.jump(seconds)
            await memory.keys.verify(new.key)
        (kept,) = await memory.keys.list(user="ann")
        assert kept.last_used_at == clock.now()
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert new.made.id.bytes in held or new.made.id.hex.encode() in held
    assert new.key.rpartition(".")[2].encode() not in held


async def test_erasing_a_user_takes_their_keys_and_no_others(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        gone, stays = await memory.keys.create(user="ann"), await memory.keys.create(user="bob")
        await memory.erase(user="ann")
        assert await memory.keys.verify(gone.key) is None
        assert await memory.keys.verify(stays.key) is not None


async def test_a_gate_believes_a_key_for_seconds_and_rejects_a_revoked_one_within_five(tmp_path: Path) -> None:
    now = 100.0
    async with opened(tmp_path) as memory:
        gate = KeyGate(memory, now=lambda: now)
        new = await memory.keys.create(user="ann")
        assert await gate.principal(new.key) == await gate.again(TENANT, new.made.id.hex) == new.made.principal()
        assert await gate.principal(None) is None
        assert await gate.again("other", new.made.id.hex) is None
        assert await gate.again(TENANT, "jwt") is None
        await memory.keys.revoke(new.made.id)
        now += TRUST
        assert TRUST <= 5
        assert await gate.principal(new.key) is None
        assert await gate.again(TENANT, new.made.id.hex) is None


@pytest.mark.parametrize("ending", ["revoke", "rotate", "erase"])
async def test_a_key_that_ends_in_this_process_lets_nobody_in_from_then_on(tmp_path: Path, ending: str) -> None:
    now = 100.0
    async with opened(tmp_path) as memory:
        gate = KeyGate(memory, now=lambda: now)
        new, other = await memory.keys.create(user="ann"), await memory.keys.create(user="bob")
        assert await gate.principal(new.key) == await gate.again(TENANT, new.made.id.hex) == new.made.principal()
        assert await gate.principal(other.key) is not None
        if ending == "revoke":
            await memory.keys.revoke(new.made.id)
        elif ending == "rotate":
            await memory.keys.rotate(new.made.id, overlap_hours=0)
        else:
            await memory.erase(user="ann")
        assert await gate.principal(new.key) is None
        assert await gate.again(TENANT, new.made.id.hex) is None
        assert await gate.principal(other.key) is not None


async def test_a_key_that_ends_while_it_is_looked_up_is_not_believed(tmp_path: Path) -> None:
    now = 100.0
    async with opened(tmp_path) as memory:
        gate = KeyGate(memory, now=lambda: now)
        new = await memory.keys.create(user="ann")

        async def slow() -> Principal | None:
            found = await memory.keys.verify(new.key)
            await memory.keys.revoke(new.made.id)
            return found

        assert await gate._known(new.key, slow) == new.made.principal()
        assert await gate.principal(new.key) is None


async def test_everything_that_is_erased_takes_the_key_with_it_that_asked_for_it(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        service.app.state.gate = KeyGate(service.memory)
        new = await service.memory.keys.create(user="ann", tenant=TENANT)
        asking = {"Authorization": f"Bearer {new.key}"}
        said = {"role": "user", "content": "Hello."}
        path = "/v1/sessions/s1/messages"
        assert (await service.nobody.post(path, json=said, headers=asking)).status_code == 201
        assert (await service.nobody.post("/v1/erase", json={"everything": True}, headers=asking)).status_code == 200
        assert (await service.nobody.post(path, json=said, headers=asking)).status_code == 401


async def test_keys_that_are_made_up_are_looked_up_seldom_and_keep_no_good_one_out(tmp_path: Path) -> None:
    now = 100.0
    async with opened(tmp_path) as memory:
        gate = KeyGate(memory, now=lambda: now)
        new = await memory.keys.create(user="ann")
        assert await gate.principal(new.key) is not None

        def made_up(number: int) -> str:
            return RawKey(tenant=TENANT, id=UUID(int=number), secret="x" * 43).text()

        # one of them counts once, and what is no key of ours does not count
        for text in [*(made_up(number) for number in range(BURST - 1)), *[made_up(0)] * 9, *["x", "anaphora_x"] * 9]:
            assert await gate.principal(text) is None
        with pytest.raises(Refused, match="try again in 1 s") as refused:
            await gate.principal(made_up(BURST))
        assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
        assert await gate.principal(new.key) is not None
        now += TRUST
        assert await gate.principal(new.key) is not None
        assert await gate.principal(made_up(BURST)) is None


async def test_every_key_that_lets_nobody_in_is_answered_alike(tmp_path: Path) -> None:
    """Whether a key never was, ends or is of somebody else is not told, in the answer or in the logs."""
    clock = FakeClock()
    async with served(tmp_path, clock=clock) as service:
        service.app.state.gate = KeyGate(service.memory)
        good = await service.memory.keys.create(user="ann")
        expired = await service.memory.keys.create(user="ann", days=1)
        revoked = await service.memory.keys.create(user="ann")
        await service.memory.keys.revoke(revoked.made.id)
        clock.jump(DAY)
        secret = good.key.rpartition(".")[2]
        sent = [
            "x",
            good.key[:-1],
            good.key[:40],
            good.key[:-1] + ("A" if good.key[-1] != "A" else "B"),
            RawKey(tenant="other", id=good.made.id, secret=secret).text(),
            RawKey(tenant=TENANT, id=revoked.made.id, secret=secret).text(),
            expired.key,
            revoked.key,
        ]
        answers = [
            await service.nobody.get("/v1/sessions", headers={"Authorization": f"Bearer {text}"}) for text in sent
        ]
        for answer in answers:
            answer.headers.pop("x-request-id")
        told = {(answer.status_code, answer.text, str(answer.headers)) for answer in answers}
        assert told == {(401, answers[0].text, str(answers[0].headers))}
        answer = await service.nobody.get("/v1/sessions", headers={"Authorization": f"Bearer {good.key}"})
        assert answer.status_code == 200


async def test_a_key_is_not_in_logs_and_not_in_what_python_shows_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with opened(tmp_path) as memory:
        new = await memory.keys.create(user="ann", name="phone")
        await memory.keys.verify(new.key)
        await memory.keys.verify(new.key + "x")
        newer = await memory.keys.rotate(new.made.id)
    shown = f"{caplog.text} {new!r} {newer!r} {RawKey.parse(new.key)!r}"
    assert "phone" in shown
    for each in (new, newer):
        assert each.key.rpartition(".")[2] not in shown


async def test_a_key_that_is_revoked_has_no_successor(tmp_path: Path) -> None:
    """Making the new key and ending the old one is one act: neither happens without the other."""
    async with opened(tmp_path) as memory:
        old = await memory.keys.create(user="ann")
        await memory.keys.revoke(old.made.id)
        with pytest.raises(InvalidInput):
            await memory.keys.rotate(old.made.id)
        with pytest.raises(NotFound):
            await memory.keys.rotate(old.made.id, tenant="other")
        assert [key.id for key in await memory.keys.list()] == [old.made.id]
