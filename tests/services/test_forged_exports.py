"""An export that was cut off, altered or made up is refused, and nothing of it is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.memory.harness import brief, conversation, opened, say
from tests.services.lives import BUSY, a_life, exported, resummed, two

from anaphora.errors import InvalidInput
from anaphora.testing import FakeClock
from anaphora.testing.scripted import ScriptedChat

pytestmark = pytest.mark.anyio


async def check_refused(folder: Path, lines: Sequence[str], says: str) -> None:
    """Refused, and nothing was written."""
    async with opened(folder) as memory:
        with pytest.raises(InvalidInput, match=says) as refusal:
            await memory.restore(lines)
        assert "\n" not in str(refusal.value)
        assert await memory.sessions() == []


async def test_what_was_cut_off_anywhere_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    whole = "".join(await a_life(tmp_path / "life"))
    async with opened(tmp_path) as memory:
        for at in range(0, len(whole) - 2, max(1, len(whole) // 150)):
            with pytest.raises(InvalidInput):
                await memory.restore(whole[:at].splitlines())
        assert await memory.sessions() == []
        await memory.restore(whole[:-1].splitlines())  # the last line feed says nothing
        assert len(await memory.sessions()) > 1


async def test_what_was_altered_anywhere_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    whole = "".join(await a_life(tmp_path / "life"))
    async with opened(tmp_path) as memory:
        for at in range(0, len(whole), max(1, len(whole) // 150)):
            other = "0" if whole[at] != "0" else "1"
            with pytest.raises(InvalidInput):
                await memory.restore((whole[:at] + other + whole[at + 1 :]).splitlines())
        assert await memory.sessions() == []


async def test_lines_that_are_missing_doubled_or_moved_are_refused(tmp_path: Path) -> None:
    lines = await a_life(tmp_path / "life")
    async with opened(tmp_path) as memory:
        for at in range(0, len(lines), 7):
            for wrong in (
                [*lines[:at], *lines[at + 1 :]],
                [*lines[: at + 1], *lines[at:]],
                [*lines[1 : at + 1], lines[0], *lines[at + 1 :]],
            ):
                if wrong != lines:
                    with pytest.raises(InvalidInput):
                        await memory.restore(wrong)
        assert await memory.sessions() == []


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "there is nothing in it"),
        (["", "  \n"], "line 2: expected valid JSON"),
        (["hello"], "line 1: expected valid JSON"),
        (['{"role": "user", "content": "hi"}'], "line 1: expected a record of an export"),
        (['{"record": "session"}'], "line 1: agent: field required|line 1: user: field required"),
        (['{"record":"export","format":"anaphora","version":2}', "{}"], "line 1: .* later version of Anaphora .2.: up"),
        (['{"record":"export","format":"anaphora","version":0}'], "line 1: version"),
        (['{"record":"export","format":"zip","version":1}'], "line 1: format"),
        (['{"record":"export","format":"anaphora","version":1}'], "not whole: its last line"),
        (["[" * 100_000], "line 1: expected JSON that is nested less deeply"),
        (["\ud800"], "not valid Unicode"),
        ([b"{}"], "as text, not bytes"),
    ],
)
async def test_what_is_no_export_is_refused(lines: Sequence[str], says: str, tmp_path: Path) -> None:
    await check_refused(tmp_path, lines, says)


# -- the sum is right, and what it is the sum of is not ----------------------------------------------------------------


def change(kind: str, at: int = 0, **values: Any) -> Callable[[list[str]], list[str]]:
    """Other values in the record of this kind with this number."""

    def changed(lines: list[str]) -> list[str]:
        places = [place for place, line in enumerate(lines) if line.startswith(f'{{"record":"{kind}"')]
        record = json.loads(lines[places[at]]) | values
        return [*lines[: places[at]], json.dumps(record) + "\n", *lines[places[at] + 1 :]]

    return changed


def without(kind: str, at: int = 0) -> Callable[[list[str]], list[str]]:
    def changed(lines: list[str]) -> list[str]:
        places = [place for place, line in enumerate(lines) if line.startswith(f'{{"record":"{kind}"')]
        return [*lines[: places[at]], *lines[places[at] + 1 :]]

    return changed


def swapped(kind: str) -> Callable[[list[str]], list[str]]:
    """The first two records of this kind, the other way round."""

    def changed(lines: list[str]) -> list[str]:
        one, two_, *_ = [place for place, line in enumerate(lines) if line.startswith(f'{{"record":"{kind}"')]
        made = list(lines)
        made[one], made[two_] = lines[two_], lines[one]
        return made

    return changed


def _parts(lines: list[str]) -> list[list[str]]:
    """Header, first session, second session, and the rest."""
    starts = [at for at, line in enumerate(lines) if line.startswith('{"record":"session"')]
    end = next(at for at, line in enumerate(lines) if line.startswith('{"record":"receipt"'))
    return [lines[: starts[0]], lines[starts[0] : starts[1]], lines[starts[1] : end], lines[end:]]


def sessions_swapped(lines: list[str]) -> list[str]:
    header, one, other, rest = _parts(lines)
    return [*header, *other, *one, *rest]


def sessions_doubled(lines: list[str]) -> list[str]:
    header, one, other, rest = _parts(lines)
    return [*header, *one, *one, *other, *rest]


GIVEN_UP = [{"status": "superseded", "at": "2026-01-05T09:00:00.000000Z", "log_head": 9}]
NOBODY = "00000000-0000-7000-8000-000000000000"
FORGED: list[tuple[str, Callable[[list[str]], list[str]], str]] = [
    ("a header in the middle", lambda x: [x[0], x[0], *x[1:]], "one header"),
    ("another field", change("session", colour="red"), "colour: extra inputs"),
    ("a user who is nobody", change("session", user=" "), "user: it must not be empty"),
    ("a strategy of another program", change("session", strategy="magic"), "strategy: there is none of this name"),
    ("one message less", without("message", 2), "seq: expected message 2"),
    ("the last message gone", without("message", -1), "messages of the session are missing"),
    ("messages swapped", swapped("message"), "seq: expected message 0"),
    ("more than was said", change("session", 1, messages=2), "seq: expected message 2 of 2"),
    ("a turn out of nowhere", change("message", 3, turn=1), "turn: expected"),
    ("a turn of the future", change("message", 0, turn=1), "turn: expected"),
    ("NUL", change("message", content="a\x00b"), "content: it contains a NUL"),
    ("half a surrogate pair", change("message", content="\ud800"), "content: it contains half"),
    ("nothing to say", change("message", content=" "), "needs content or parts"),
    ("a wizard", change("message", role="wizard"), "role: input should be"),
    ("a part without a type", change("message", parts=[{}]), 'a "type"'),
    ("a number too large", change("message", metadata={"n": 2**2000}), "1024 bits"),
    ("too deep", change("message", metadata={"n": json.loads("[" * 30 + "]" * 30)}), "nested"),
    ("a time without a zone", change("message", created_at="2026-05-08T13:56:00.000000"), "created_at: a time looks"),
    ("no day of any month", change("message", created_at="2026-13-08T13:56:00.000000Z"), "created_at: month"),
    ("tokens as text", change("message", tokens="5"), "tokens: input should be a valid integer"),
    ("tokens below nothing", change("message", tokens=-5), "tokens: input should be greater"),
    ("an id in capitals", change("message", id=NOBODY.upper().replace("0", "A")), "id: a UUID has lower-case"),
    ("a tombstone that speaks", change("message", deleted=True, version=2, changed_at=None), "changed_at: expected"),
    ("versions out of thin air", change("message", 0, version=3), "changed_at: expected"),
    ("no earlier version", without("version"), "earlier versions of message 1 are missing"),
    ("an earlier version of another", change("version", seq=5), "version: message 1 has others"),
    ("replaced before it was said", change("version", replaced_head=1), "replaced_head: expected"),
    ("points with a hole", change("summary", range=[0, 9]), "points do not tile"),
    ("a point with nothing to say", change("summary", points=[{"range": [0, 2], "text": " "}]), "points.0."),
    ("a summary of what was never said", change("summary", range=[0, 900]), "range: expected messages"),
    ("a base from elsewhere", change("summary", base_id=NOBODY), "base_id: expected an earlier"),
    ("a status that it never had", change("summary", status="building"), "states: expected"),
    ("summaries swapped", swapped("summary"), "base_id: expected|version: summaries stand"),
    ("a move to nowhere", change("move", summary_id=NOBODY), "position: expected the end"),
    ("a move beyond the log", change("move", log_head=900), "log_head: expected"),
    ("a move backwards in the alphabet", change("move", -1, reader="a"), "reader: moves stand|position"),
    ("a receipt of what was never said", change("receipt", range=[0, 900]), "range: expected messages"),
    ("a receipt of nobody", change("receipt", user="zoe"), "range: expected messages"),
    ("receipts swapped", swapped("receipt"), "id: receipts stand"),
    ("sessions swapped", sessions_swapped, "sessions stand in the order"),
    ("a session twice", sessions_doubled, "sessions stand in the order"),
    ("a served version that was given up", change("summary", -1, status="superseded", states=GIVEN_UP), "serves"),
    ("a status twice", change("summary", -1, states=GIVEN_UP * 2), "states: expected each status once"),
    ("a range that is none", change("receipt", range=[3, 1]), "range: not a range"),
    ("a sum of nothing", lambda x: [*x[:-1], x[-1].replace('"end"', '"end","x":1')], "not whole"),
    ("more behind the end", lambda x: [*x, x[-1]], "one footer"),
    (
        "a version of a forgotten message",
        lambda x: [*x[:2], next(s for s in x if '"version",' in s), *x[2:]],
        "no mess",
    ),
    ("wrong counts", change("end", messages=7), "the counts are not"),
    ("a summary before the messages", lambda x: [*x[:2], next(s for s in x if '"summary"' in s), *x[2:]], "missing"),
]


@pytest.mark.parametrize(("forge", "says"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
async def test_a_forged_export_is_refused_before_anything_is_written(
    forge: Callable[[list[str]], list[str]], says: str, forgeable: list[str], tmp_path: Path
) -> None:
    forged = resummed(forge(forgeable))
    assert forged != forgeable
    await check_refused(tmp_path, forged, says)


@pytest.fixture(scope="module")
async def forgeable(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """An export with two sessions, an edited message and two summaries."""
    folder = tmp_path_factory.mktemp("forgeable")
    async with opened(folder, chat=ScriptedChat(brief), clock=FakeClock(), **BUSY) as memory:
        chat = conversation(memory)
        for start in (0, 8, 16):
            await say(chat, 8, start=start)
            await memory.work()
        await chat.edit(1, "once more")
        await say(conversation(memory, session="t"), 3)
        return await exported(memory)


async def test_a_message_that_is_too_large_here_is_refused(tmp_path: Path) -> None:
    async with two(tmp_path) as (here, _):
        await conversation(here).add("user", "x" * 5000)
        lines = await exported(here)
    (tmp_path / "small").mkdir()
    async with opened(tmp_path / "small", max_message_bytes=4999) as memory:
        with pytest.raises(InvalidInput, match="line 3: a message of 5,000 bytes is over the limit of 4,999"):
            await memory.restore(lines)
        assert await memory.sessions() == []
