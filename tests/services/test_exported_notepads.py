"""Notepads in exports: page for page, to the byte, and never what was made of messages that are not there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.memory.harness import opened
from tests.services.lives import broken, exported, of_kind, resummed, two
from tests.services.test_forged_exports import change, check_refused, swapped, without
from tests.services.test_forged_facts import Forge, doubled, moved

from anaphora import Memory, Session
from anaphora.domain.messages import Trust
from anaphora.domain.notepad import PageAction
from anaphora.errors import InvalidInput, NotFound
from anaphora.ports.exchange import Scope
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio

NOTING: dict[str, Any] = {
    "chat": ScriptedChat(),
    "extraction": "none",
    "rolling_pairs": {"window_pairs": 32, "min_messages_for_summary": 1000},
    "notepad": {"enabled": "all", "tokens": 2000},
}


async def over(memory: Memory, name: str, fruit: str, *, user: str = "u", **who: Any) -> Session:
    """A session in which somebody likes something, that ended, and was worked upon."""
    session = memory.session(user=user, session=name, **who)
    await session.add("user", f"I like {fruit}.")
    await session.add("assistant", "Noted.")
    await session.end()
    await memory.work()
    return session


async def versions(memory: Memory, user: str = "u") -> list[int]:
    return [page.version for page in reversed(await memory.notepad.history(user=user))]


async def lived(memory: Memory) -> None:
    """Notepads with pages of every kind, and with numbers that are missing."""
    session = await over(memory, "1", "figs")
    await memory.notepad.edit("- Zoë's “own”\u2028 line\n\n- 100% 🍵", user="u")
    await over(memory, "2", "plums")
    await memory.notepad.revert(2, user="u")
    await memory.notepad.edit("", user="u")
    await session.reset()
    await over(memory, "é", "pears")
    await over(memory, "1", "dates", agent="b")
    await memory.notepad.edit("- Says nothing.", user="zoe", agent="b")


async def test_notepads_come_back_to_the_byte_and_again_bring_nothing(tmp_path: Path) -> None:
    async with two(tmp_path, **NOTING) as (here, there):
        await lived(here)
        assert await versions(here) == [2, 3, 4, 5, 6]
        lines = await exported(here)
        pages = of_kind(lines, "page")
        assert [(page["user"], page["agent"], page["version"]) for page in pages] == [
            ("u", "b", 1),
            *(("u", "default", version) for version in (2, 3, 4, 5, 6)),
            ("zoe", "b", 1),
        ]
        footer = json.loads(lines[-1])
        assert (footer["pages"], footer["users"]) == (7, 2)
        for _ in range(2):
            await there.restore(lines)
            assert await exported(there) == lines
            assert await there.work() == 0, "nothing is to be reflected upon again"
        mine, theirs = await here.notepad.show(user="u"), await there.notepad.show(user="u")
        assert mine is not None
        assert theirs is not None
        assert (theirs.text, theirs.range, theirs.session) == (mine.text, mine.range, mine.session)
        assert broken(there) == []


async def test_an_export_holds_the_notepads_that_are_meant(tmp_path: Path) -> None:
    """Of a user, or with an agent; of one session none, and that is reflected upon anew."""
    async with two(tmp_path, **NOTING) as (here, there):
        await lived(here)
        assert {page["user"] for page in of_kind(await exported(here, user="zoe"), "page")} == {"zoe"}
        assert [page["agent"] for page in of_kind(await exported(here, agent="b"), "page")] == ["b", "b"]
        lines = await exported(here, user="u", agent="default", session="2")
        assert of_kind(lines, "page") == of_kind(lines, "move") == []
        export = here._services.export
        for scope, there_is in ((Scope(tenant="t", user="zoe"), True), (Scope(tenant="t", user="nobody"), False)):
            assert await export.finds(scope) is there_is
        await there.restore(lines)
        await there.work()
        page = await there.notepad.show(user="u")
        assert page is not None
        assert page.text == "- The user likes plums"


async def test_a_notepad_may_get_another_user(tmp_path: Path) -> None:
    async with two(tmp_path, **NOTING) as (here, there):
        await over(here, "1", "figs")
        await here.notepad.edit("- Mine.", user="u")
        await there.restore(await exported(here), user="zoe")
        assert await versions(there, "zoe") == [1, 2]
        assert await versions(there) == []
        page = (await there.notepad.history(user="zoe"))[1]
        assert page.session is not None
        assert page.session.user == "zoe"
        await here.notepad.edit("x", user="somebody else")
        with pytest.raises(InvalidInput, match="2 users"):
            await there.restore(await exported(here), user="zoe")


async def test_pages_of_messages_that_were_changed_here_are_left_out_and_made_again(tmp_path: Path) -> None:
    """I12: an old export does not bring back what was made of what is gone."""
    async with two(tmp_path, **NOTING) as (here, there):
        await over(here, "1", "figs")
        await over(here, "2", "plums")
        lines = await exported(here)
        await there.restore(lines)
        await there.session(user="u", session="1").edit(0, "I like melons.")
        await there.restore(lines)
        assert await versions(there) == []
        await there.work()
        page = await there.notepad.show(user="u")
        assert page is not None
        assert sorted(page.text.splitlines()) == ["- The user likes melons", "- The user likes plums"]
        assert broken(there) == []


async def test_a_notepad_that_went_on_here_stays_and_what_is_missing_is_added(tmp_path: Path) -> None:
    async with two(tmp_path, **NOTING) as (here, there):
        await over(here, "1", "figs")
        early = await exported(here)
        await there.restore(early)
        await over(here, "2", "plums")
        await here.notepad.edit("- Mine.", user="u")
        late = await exported(here)
        await there.restore(late)
        assert await exported(there) == late
        await there.restore(early)
        assert await exported(there) == late


async def test_another_notepad_here_is_left_as_it_is(tmp_path: Path) -> None:
    async with two(tmp_path, **NOTING) as (here, there):
        await over(here, "1", "figs")
        await there.notepad.edit("- Mine.", user="u")
        with pytest.raises(InvalidInput, match="the notepad of user 'u' with agent 'default' is another one here"):
            await there.restore(await exported(here))
        assert len(await there.sessions()) == 1, "all else is in"
        page = await there.notepad.show(user="u")
        assert page is not None
        assert page.text == "- Mine."


@pytest.mark.parametrize("changed", [False, True])
async def test_what_is_noted_while_it_is_written_is_not_in_it(changed: bool, tmp_path: Path) -> None:
    """I1: only pages that were there when their sessions were written, and what the user wrote."""
    clock = FakeClock()
    async with two(tmp_path, clock, **NOTING) as (here, there):
        await over(here, "1", "figs")
        other = await over(here, "2", "plums")
        lines = []
        async for line in here.export():
            lines.append(line)
            if len(lines) == 2:  # all sessions are written
                await clock.advance(5)
                await over(here, "1", "pears")
                if changed:
                    await other.edit(0, "I like melons.")
                    await here.work()
                await here.notepad.edit("- Mine.", user="u")
        first = "- The user likes figs"
        expected = [] if changed else [first, f"{first}\n- The user likes plums"]
        assert [page["text"] for page in of_kind(lines, "page")] == [*expected, "- Mine."]
        await there.restore(lines)
        assert broken(there) == []


FORGED: list[tuple[str, Forge, str]] = [
    ("an action of another program", change("page", action="dreamt"), "action: input should be 'reflected'"),
    ("no version", change("page", version=0), "version: input should be greater than"),
    ("NUL", change("page", text="a\x00"), "text: it contains a NUL"),
    ("a trust that nobody has", change("page", trust="divine"), "trust: input should be"),
    ("another field", change("page", colour="red"), "colour: extra inputs"),
    ("no user", change("page", user=" "), "user: it must not be empty"),
    ("a reflection of nothing", change("page", range=[1, 1]), "range: expected messages of a session"),
    ("a reflection of what was never said", change("page", range=[0, 9]), "range: expected messages of a session"),
    ("of a session that is not there", change("page", session="9"), "range: expected messages of a session"),
    ("of somebody else's session", change("page", -1, agent="c"), "range: expected messages of a session"),
    ("a reflection that nobody made", change("page", method=None), "action: a page that was reflected names"),
    ("a reflection by hand", change("page", action="edited"), "action: a page that was reflected names"),
    ("nothing brought back", change("page", 2, restores=None), "restores: expected of pages that were reverted"),
    ("a later one brought back", change("page", 2, restores=4), "restores: expected an earlier version"),
    ("something else brought back", change("page", 2, text="- Obey."), "restores: expected an earlier version"),
    ("what nobody stands for", change("page", 1, trust=Trust.TOOL), "trust: the user stands for"),
    ("a page twice", doubled("page"), "version: pages stand in the order"),
    ("pages swapped", swapped("page"), "version: pages stand in the order"),
    ("pages before the facts", moved("page", before="fact"), "pages of notepads stand behind all else"),
    ("pages before the receipts", moved("page", before="receipt"), "pages of notepads stand behind all else"),
    ("pages before the sessions", moved("page", before="session"), "range: expected messages of a session"),
    ("wrong counts of pages", change("end", pages=7), "the counts are not"),
    ("wrong counts of users", change("end", users=7), "the counts are not"),
    ("a page that is missing", without("page"), "restores: expected an earlier version"),
    ("a reader that went back", change("move", position=3), "log_head: expected a length"),
]


@pytest.mark.parametrize(("forge", "says"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
async def test_a_forged_notepad_is_refused_before_anything_is_written(
    forge: Forge, says: str, noting: list[str], tmp_path: Path
) -> None:
    forged = resummed(forge(noting))
    assert forged != noting
    await check_refused(tmp_path, forged, rf"^line \d+: (?:.*\b)?(?:{says})")


@pytest.fixture(scope="module")
async def noting(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """An export with a fact, and a notepad: reflected, by hand, brought back; and one with another agent."""
    async with opened(tmp_path_factory.mktemp("noting"), clock=FakeClock(), **NOTING) as memory:
        await over(memory, "1", "figs")
        await memory.notepad.edit("- Mine.", user="u")
        await memory.notepad.revert(1, user="u")
        await over(memory, "1", "plums", user="v", agent="b")
        await memory.facts.add("Owns a boat", user="u")
        return await exported(memory)


STEP = st.one_of(
    st.tuples(st.just("over"), st.sampled_from("123")),
    st.tuples(st.sampled_from(["change", "delete"]), st.sampled_from("123"), st.integers(0, 5)),
    st.tuples(st.just("reset"), st.sampled_from("123")),
    st.tuples(st.just("write")),
    st.tuples(st.just("revert"), st.integers(1, 6)),
)


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[Memory, Memory]]:
    """Two memories in which each example has a tenant of its own."""
    async with two(tmp_path, **NOTING) as both:
        yield both
        assert broken(both[0]) == broken(both[1]) == []


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(STEP, max_size=12), works=st.booleans())
async def test_whatever_happens_no_page_tells_of_what_is_gone_and_all_of_it_comes_back_to_the_byte(
    steps: list[tuple[Any, ...]], works: bool, pair: tuple[Memory, Memory]
) -> None:
    """I12, hole 3.14: only what somebody says now, or wrote by hand, stands in any page."""
    here, there = pair
    tenant, who = str(uuid4()), {"user": "u"}
    by_hand = False
    for number, (what, *args) in enumerate(steps):
        session = here.session(**who, session=args[0] if what not in {"write", "revert"} else "1", tenant=tenant)
        with suppress(InvalidInput, NotFound):
            match what:
                case "over":
                    await over(here, args[0], f"fruit{number}", tenant=tenant)
                case "change":
                    await session.edit(args[1], f"I like fruit{number}.")
                case "delete":
                    await session.delete(args[1])
                case "reset":
                    await session.reset()
                case "write":
                    await here.notepad.edit(f"- By hand {number}.", **who, tenant=tenant)
                    by_hand = True
                case _:
                    await here.notepad.revert(args[0], **who, tenant=tenant)
                    by_hand = True
        if works:
            await here.work()
        await check(here, tenant)
    await here.work()
    said = await check(here, tenant)
    page = await here.notepad.show(**who, tenant=tenant)
    for name in "123":
        session = here.session(**who, session=name, tenant=tenant)
        messages = await session.messages()
        if len(messages) >= 2 and not by_hand:
            assert page is not None
            assert all(fruit in page.text for fruit in said[name])
    lines = await exported(here, tenant=tenant)
    await there.restore(lines, tenant=tenant)
    assert await exported(there, tenant=tenant) == lines


async def check(memory: Memory, tenant: str) -> dict[str, set[str]]:
    """Every fruit of a page that was reflected or brought back is liked by somebody; by session, those that are."""
    said: dict[str, set[str]] = {}
    for name in "123":
        messages = await memory.session(user="u", session=name, tenant=tenant).messages()
        said[name] = {message.content[7:-1] for message in messages if message.content.startswith("I like ")}
    liked = set().union(*said.values())
    for page in await memory.notepad.history(user="u", tenant=tenant):
        if page.action is not PageAction.EDITED:
            noted = [line.removeprefix("- The user likes ") for line in page.text.splitlines() if "likes" in line]
            assert set(noted) <= liked
    return said
