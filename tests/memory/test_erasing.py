"""I12: what was erased is gone from every row, index and file, and nothing brings it back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import pytest
from tests.memory.erasing import OPTIONS, TURNS, broken, canary, exported, fill, found, of_export, opened

from anaphora import Memory
from anaphora.domain.erasure import ErasureKind, ErasureState
from anaphora.domain.jobs import JobKind
from anaphora.domain.messages import NewMessage, ReceiptState, Role
from anaphora.domain.summaries import SummaryStatus
from anaphora.errors import Erased, InvalidInput, NotFound
from anaphora.services.importing.into_log import IntoLog
from anaphora.services.importing.run import ImportReport, import_conversations
from anaphora.services.importing.values import ImportedConversation
from anaphora.testing.scripted import ScriptedChat, faithful

pytestmark = pytest.mark.anyio

EVERY = [canary("alice", session, turn) for session in ("s1", "s2") for turn in range(TURNS)]


async def test_of_an_erased_user_nothing_is_left_and_of_others_everything(tmp_path: Path) -> None:
    async with opened(tmp_path, **OPTIONS) as memory:
        await fill(memory, "alice", "s1", "s2")
        await fill(memory, "bob", "s1")
        await memory.subjects.create("garden", name="The garden", user="alice")
        await memory.subjects.add_member("garden", "bob", user="alice")
        before = of_export(await exported(memory, "bob"))
        planned = await memory.erase(user="alice", dry_run=True)
        assert planned.counts["messages"] == 4 * TURNS
        assert planned.id is None
        assert await found(tmp_path, EVERY[:1]), "hollow run: there was nothing to find"
        report = await memory.erase(user="alice", asked_by="Ann")
        assert report.counts["messages"] == 4 * TURNS
        assert not report.residue
        assert await found(tmp_path, [*EVERY, "alice"]) == []
        await memory.work()
        assert await found(tmp_path, [*EVERY, "alice"]) == []
        assert [one.owner for one in await memory.subjects.list(user="bob")] == ["bob"]
        assert [line for line in of_export(await exported(memory, "bob")) if '"subject"' not in line] == [
            line for line in before if '"subject"' not in line
        ]
        (account,) = await memory.erasures()
        assert (account.kind, account.asked_by, account.state) == (ErasureKind.USER, "Ann", ErasureState.DONE)
        assert account.target is None
        assert account.counts == report.counts
    assert await broken(tmp_path) == []


async def test_a_message_goes_with_all_that_speaks_of_it_and_the_rest_is_made_anew(tmp_path: Path) -> None:
    word = canary("alice", "s1", 3)
    async with opened(tmp_path, chat=ScriptedChat(faithful), **OPTIONS) as memory:
        await fill(memory, "alice", "s1")
        chat = memory.session(user="alice", session="s1")
        await chat.edit(6, f"I was allergic to {word}, it is over.")
        await memory.work()
        assert await found(tmp_path, [word])
        for seq in (6, 7):
            await memory.erase(user="alice", session="s1", message=seq)
        assert await found(tmp_path, [word]) == []
        await memory.work()
        assert await found(tmp_path, [word]) == []
        context = await chat.context(budget=100_000)
        assert context.coverage.counts()["deleted"] == 2
        assert {summary.status for summary in await chat.summaries()} == {SummaryStatus.COMPLETED}
        assert not any(word in line for line in await exported(memory))
        assert any(canary("alice", "s1", 2) in line for line in await exported(memory))
        assert (await memory.search(word, user="alice")).hits == ()
        with pytest.raises(NotFound):
            await memory.erase(user="alice", session="s1", message=6)
    assert await broken(tmp_path) == []


@pytest.mark.parametrize("strategy", ["sliding_window", "batch_extraction", "topics"])
async def test_whatever_the_strategy_made_of_a_message_is_gone_and_made_anew(tmp_path: Path, strategy: str) -> None:
    word = canary("alice", "s1", 2)
    async with opened(tmp_path, **OPTIONS) as memory:
        await fill(memory, "alice", "s1", strategy=strategy)
        for seq in (4, 5):
            await memory.erase(user="alice", session="s1", message=seq)
        assert await found(tmp_path, [word]) == []
        await memory.work()
        assert await found(tmp_path, [word]) == []
    assert await broken(tmp_path) == []


async def test_a_receipt_says_that_its_session_was_erased_and_its_name_is_free_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = memory.session(user="alice", session="s1")
        receipt = await chat.add("user", "something private", key="k")
        await memory.erase(user="alice", session="s1")
        assert await memory.receipt(receipt.id) is ReceiptState.ERASED
        assert (await chat.add("user", "something new", key="k")).seq == 0
        assert [message.content for message in await chat.messages()] == ["something new"]
        with pytest.raises(NotFound):
            await memory.erase(user="alice", session="s2")


async def test_an_erased_fact_is_not_learned_again(tmp_path: Path) -> None:
    async with opened(tmp_path, **OPTIONS) as memory:
        await fill(memory, "alice", "s1")
        fact = next(iter(await memory.facts.list(user="alice")))
        await memory.erase(fact=fact.id)
        await memory.session(user="alice", session="s1").edit(1, "Noted, and changed.")
        await memory.work()
        assert fact.content not in {one.content for one in await memory.facts.list(user="alice", limit=200)}
        with pytest.raises(NotFound):
            await memory.erase(fact=fact.id)


async def test_beside_an_id_a_user_is_whose_it_must_be(tmp_path: Path) -> None:
    """I11: what is somebody else's is not there, whoever knows its id."""
    async with opened(tmp_path, **OPTIONS) as memory:
        await fill(memory, "alice", "s1")
        fact = next(iter(await memory.facts.list(user="alice")))
        message = next(iter(await memory.session(user="alice", session="s1").messages()))
        before = await exported(memory, "alice")
        whats: list[dict[str, Any]] = [{"fact": fact.id}, {"message": message.id}]
        for what in whats:
            assert (await memory.erase(user="al", dry_run=True, **what)).counts == {}
            with pytest.raises(NotFound):
                await memory.erase(user="al", **what)
        assert await exported(memory, "alice") == before
        for what in whats:
            planned = await memory.erase(user="alice", dry_run=True, **what)
            assert planned.counts
            done = await memory.erase(user="alice", **what)
            assert done.counts


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"session": "s1"},
        {"message": 3},
        {"message": "x"},
        {"message": "x", "session": "s1", "user": "alice"},
        {"fact": "x"},
        {"fact": str(UUID(int=7)), "source": "chat"},
        {"fact": str(UUID(int=7)), "session": "s1"},
        {"source": "chat", "session": "s1"},
        {"source": "agent:"},
        {"user": "alice", "session": "s1", "message": -1},
        {"user": " "},
    ],
    ids=str,
)
async def test_what_does_not_say_what_to_erase_is_refused(tmp_path: Path, named: dict[str, Any]) -> None:
    async with opened(tmp_path) as memory:
        await memory.session(user="alice", session="s1").add("user", "hello")
        with pytest.raises(InvalidInput):
            await memory.erase(**named)
        assert await memory.erasures() == []


async def test_an_export_brings_nothing_back_that_was_erased_since(tmp_path: Path) -> None:
    async with opened(tmp_path, **OPTIONS) as memory:
        await fill(memory, "alice", "s1", "s2")
        await fill(memory, "bob", "s1")
        lines = await exported(memory)
        await memory.erase(user="bob", session="s1", message=2)
        await memory.session(user="bob", session="s1").reset()
        await memory.erase(user="alice", session="s1")
        first = await memory.restore(lines)
        assert first.erased == 2 * TURNS + 1
        assert first.messages == 2 * TURNS - 1, "what was reset comes back, but for the message"
        assert await found(tmp_path, [canary("alice", "s1", 1), f"allergic to {canary('bob', 's1', 1)}"]) == []
        await memory.erase(user="alice")
        await memory.work()
        again = await memory.restore(lines)
        assert again.erased >= 4 * TURNS
        assert again.messages == 0
        assert await found(tmp_path, [*EVERY, "alice"]) == []
        chat = memory.session(user="alice", session="s1")
        await chat.add("user", "I am back")
        assert (await memory.restore(await exported(memory, "alice"))).held == 1
    assert await broken(tmp_path) == []


def talk(said: list[str]) -> ImportedConversation:
    return ImportedConversation(
        user="alice",
        session="s1",
        source="import:openai",
        turns="single",
        messages=tuple(NewMessage(role=Role.USER, content=text) for text in said),
        file="chat.json",
        where="line 1",
        started_at=None,
    )


async def imported(memory: Memory, said: list[str]) -> ImportReport:
    services = memory._services
    where: dict[str, Any] = {"agent": services.settings.agent, "tenant": services.settings.tenant}
    return await import_conversations(IntoLog(services.ingest), [talk(said)], default_user=None, **where)


async def test_importing_again_skips_what_was_erased_and_goes_on_behind_it(tmp_path: Path) -> None:
    said = [f"message {number} says zzsecret{number}" for number in range(6)]
    async with opened(tmp_path) as memory:

        async def bring(texts: list[str]) -> tuple[int, int, int]:
            report = await imported(memory, texts)
            return report.messages, report.held, report.erased

        assert await bring(said) == (6, 0, 0)
        await memory.erase(user="alice", session="s1", message=5)
        assert await found(tmp_path, ["zzsecret5"]) == []
        assert await bring([*said, "more"]) == (1, 6, 0), "a tombstone in the log says that it was there"
        await memory.erase(source="import:openai")
        assert await found(tmp_path, ["zzsecret", "alice"]) == []
        assert await bring([*said, "more"]) == (0, 0, 7)
        assert await bring([*said, "more", "and more"]) == (1, 0, 7)
        assert [m.content for m in await memory.session(user="alice", session="s1").messages()] == ["and more"]


async def test_of_a_source_only_its_messages_go_where_others_spoke_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await imported(memory, ["zzimported"])
        chat = memory.session(user="alice", session="s1")
        await chat.add("user", "said here")
        await memory.session(user="alice", session="s2", agent="clerk").add("user", "zzclerk heard this")
        report = await memory.erase(source="import:openai")
        assert report.counts["messages"] == 1
        assert [message.content for message in await chat.messages()] == ["said here"]
        await memory.erase(source="agent:clerk")
        assert await found(tmp_path, ["zzimported", "zzclerk"]) == []
        assert [row.key.session for row in await memory.sessions()] == ["s1"]


class Meddler:
    """At one failpoint, in another thread with a memory of its own, erases; a worker stands still meanwhile."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.act: Callable[[], None] | None = None
        self.acted = 0

    def __call__(self, name: str) -> None:
        if name == self.name and self.act is not None:
            act, self.act = self.act, None
            self.acted += 1
            act()


STAGES = ["summarise.assigned", "summarise.after_model", "extract.assigned", "extract.after_model", "worker.claimed"]


@pytest.mark.parametrize("whole", [False, True], ids=["message", "user"])
@pytest.mark.parametrize("stage", STAGES)
async def test_work_in_flight_brings_nothing_back_and_no_model_is_told_of_it(
    tmp_path: Path, stage: str, whole: bool
) -> None:
    """I5, I12: the erasure is done while a worker stands still; then it goes on."""
    meddler = Meddler(stage)
    model = ScriptedChat(faithful)
    asked_before = 0
    words = [canary("alice", "s1", 1)] if not whole else [canary("alice", "s1", turn) for turn in range(TURNS)]

    async def erase() -> None:
        async with opened(tmp_path, **OPTIONS) as other:
            if whole:
                await other.erase(user="alice")
            else:
                for seq in (2, 3):
                    await other.erase(user="alice", session="s1", message=seq)

    def act() -> None:
        nonlocal asked_before
        asked_before = len(model.prompts)
        with anyio.from_thread.start_blocking_portal() as portal:
            portal.call(erase)

    async with opened(tmp_path, chat=model, failpoint=meddler, **OPTIONS) as memory:
        meddler.act = act
        await fill(memory, "alice", "s1")
        await memory.work()
        assert meddler.acted == 1, "hollow run: nothing was erased"
        later = [str(request) for request in model.prompts[asked_before:]]
        assert not any(word in request for request in later for word in words), "a model was told what was erased"
        assert not any(word in line for line in await exported(memory) for word in words)
    assert await found(tmp_path, words) == []
    assert await broken(tmp_path) == []


async def test_an_answer_to_what_was_erased_meanwhile_is_not_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as other:

        async def erase() -> None:
            await other.erase(user="alice")

        model = ScriptedChat(lambda _messages, _schema: "you said zzsecret")
        model.pause = erase
        async with opened(tmp_path, chat=model) as memory:
            with pytest.raises(Erased):
                await memory.session(user="alice", session="s1").send("zzsecret")
        assert await other.sessions() == []
    assert await found(tmp_path, ["zzsecret"]) == []


class Died(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("stage", ["erase.noted", "erase.step"])
async def test_an_erasure_that_was_cut_off_is_finished_by_the_next_worker(tmp_path: Path, stage: str) -> None:
    async with opened(tmp_path, **OPTIONS) as memory:
        await fill(memory, "alice", "s1", "s2")

    def die(name: str) -> None:
        if name == stage:
            raise Died

    async with opened(tmp_path, failpoint=die, **OPTIONS) as memory:
        with pytest.raises(Died):
            await memory.erase(user="alice")
        (begun,) = await memory.erasures()
        assert begun.state is ErasureState.RUNNING
        assert begun.target is not None
    async with opened(tmp_path, **OPTIONS) as memory:
        await memory.work()
        (done,) = await memory.erasures()
        assert done.state is ErasureState.DONE
        assert done.target is None
        assert await found(tmp_path, [*EVERY, "alice"]) == []
        assert [job for job in await memory.jobs.list() if job.kind is JobKind.SUMMARISE] == []
    assert await broken(tmp_path) == []
