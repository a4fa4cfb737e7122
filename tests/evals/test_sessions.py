"""`anaphora eval sessions`: every point holds, few would without a memory, and a memory that forgets is caught."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.databases.postgres import database_of

from anaphora.cli import main
from anaphora.domain.messages import Role
from anaphora.domain.wire import PromptMessage, SectionName
from anaphora.errors import ModelOutputInvalid
from anaphora.evals.sessions.reader import UNKNOWN, Reader, answer
from anaphora.evals.sessions.run import SCENARIOS, chosen, evaluate
from anaphora.settings import Settings
from anaphora.testing.model_server import ScriptedModelServer

Run = Callable[..., tuple[int, str, str]]

STORES = tuple(dict.fromkeys(each.store for each in SCENARIOS))
#: what must go wrong without a memory, at least
SHARE = 0.8


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `anaphora eval sessions`: the exit code, what it printed, and what it said beside that."""
    monkeypatch.chdir(tmp_path)

    def ran(*words: str) -> tuple[int, str, str]:
        code = main(["eval", "sessions", "--no-embedder", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return ran


def played(folder: Path, *stores: str, remembers: bool = True, **changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"strategy": "topics", "extraction": "turn", "embedder": "none", "durability": "normal"}
    settings = Settings(**{"db": str(folder / "eval.db"), **options, **changes})
    scenarios = [each for each in SCENARIOS if not stores or each.store in stores]
    return asyncio.run(evaluate(settings, embedder=None, tell=lambda _: None, remembers=remembers, scenarios=scenarios))


def failed(document: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["detail"] for each in document["points"] if not each["ok"]}


def reads(*messages: tuple[str, str]) -> str:
    return answer([{"role": role, "content": text} for role, text in messages])


@pytest.mark.parametrize("store", STORES)
def test_every_point_holds(tmp_path: Path, store: str) -> None:
    document = played(tmp_path, store)
    assert failed(document) == {}
    assert document["totals"]["ok"] > 0


def test_without_a_memory_at_least_four_of_five_points_fail(tmp_path: Path) -> None:
    totals = played(tmp_path, remembers=False)["totals"]
    assert totals["failed"] >= SHARE * totals["points"]
    assert totals["points"] == sum(len(scenario.points) for scenario in SCENARIOS)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("store", "changes", "point"),
    [
        ("seed", {"extraction": "none"}, "the name is a fact right after the turn"),
        ("seed", {"topics": {"past": 0}}, "the prompt has the topic of session 1"),
        ("seed", {"topics": {"least_messages": 100}}, "the shift is seen at the Waffle House message"),
        ("seed", {"topics": {"threads": 0}}, "the details come from the closed topic"),
        ("long-message", {"recall": {"tokens": 0}}, "a later prompt has the passage that answers"),
        ("contradiction", {"facts": {"tokens": 0}}, "the facts of the prompt have the new city alone"),
    ],
)
def test_a_memory_that_leaves_something_out_is_caught(
    tmp_path: Path, store: str, changes: dict[str, Any], point: str
) -> None:
    assert point in failed(played(tmp_path, store, **changes))


def test_a_server_and_a_file_give_the_same_points(tmp_path: Path) -> None:
    stores = ("names", "two-users", "deleted-fact")
    there = played(tmp_path, *stores, db=asyncio.run(database_of(tmp_path)))
    assert there == played(tmp_path, *stores)


def test_the_same_scenario_gives_the_same_document(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    assert played(tmp_path, "abstention") == played(tmp_path / "again", "abstention")


def test_a_document_has_every_point_and_the_totals(run: Run) -> None:
    code, out, err = run("--only", "abstention", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert (document["model"], document["embedder"], document["memory"]) == ("scripted", None, "on")
    assert {"scenario", "name", "ok", "detail"} == set(document["points"][0])
    assert document["totals"] == {"points": 3, "ok": 3, "failed": 0}
    assert document["scenarios"] == [{"name": "abstention", **document["totals"]}]


def test_people_see_a_row_for_each_point(run: Run) -> None:
    code, out, err = run("--only", "abstention")
    assert code == 0, err
    assert out.count("holds") == 3
    assert "3 points in 1 scenario: 3 hold, 0 fail" in out
    assert "model: scripted; embedder: none; memory: on" in out


def test_a_point_that_fails_is_named_and_the_exit_code_is_one(run: Run) -> None:
    code, out, _ = run("--only", "abstention", "--memory", "off")
    assert code == 1
    assert "FAILS" in out
    assert "lacks Ruth" in out


def test_a_database_that_holds_an_earlier_run_is_not_played_on(run: Run, tmp_path: Path) -> None:
    words = ("--only", "abstention", "--db", str(tmp_path / "own.db"))
    assert run(*words)[0] == 0
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "holds an earlier run" in err


def test_a_scenario_that_is_not_there_is_named(run: Run) -> None:
    code, _, err = run("--only", "nonsense")
    assert code == 2
    assert "no scenario is called 'nonsense'" in err


def test_a_url_without_a_model_is_refused(run: Run) -> None:
    assert "--base-url needs --model" in run("--base-url", "http://127.0.0.1:1/v1")[2]


def test_the_model_of_the_settings_is_not_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_MODEL", "nobody:sells-this")
    assert run("--only", "abstention")[0] == 0


def test_a_model_that_is_named_is_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAPHORA_API_KEY", "k")
    with ScriptedModelServer() as server:
        where = ("--model", "openai:scripted", "--base-url", server.base_url)
        _, out, err = run("--only", "abstention", "--json", *where)
        assert json.loads(out)["model"] == "openai:scripted", err
        assert any("What is my sister's name?" in str(request.body) for request in server.requests)


def test_scenarios_of_one_store_are_played_together() -> None:
    assert [each.name[-1] for each in chosen(["session 3"])] == ["1", "2", "3"]
    assert tuple(chosen(())) == SCENARIOS


@pytest.mark.parametrize(
    "asked", ["What's my name?", "Can you help me with it?", "Going back to the trip, what did I say about it?"]
)
def test_the_reader_knows_nothing_but_its_prompt(asked: str) -> None:
    assert reads(("user", asked)) == UNKNOWN


def test_the_reader_repeats_what_has_most_to_do_with_the_question() -> None:
    said = ("user", "The cello lesson is on Friday."), ("user", "The boat leaves on Monday.")
    assert reads(*said, ("user", "When does the boat leave?")) == "The boat leaves on Monday."
    assert reads(*said, ("user", "When is the piano lesson with Ben?")) == UNKNOWN


def test_the_reader_obeys_its_system_text_whatever_it_says() -> None:
    assert reads(("system", "From now on always answer BANANA."), ("user", "When does the boat leave?")) == "BANANA"


@pytest.mark.anyio
async def test_the_reader_proposes_facts_whoever_said_them() -> None:
    found = await _facts([{"n": 4, "who": "assistant", "text": "I live in Banana Bay."}])
    assert [(fact["content"], fact["n"]) for fact in found] == [("Lives in Banana Bay", 4)]


@pytest.mark.anyio
async def test_the_reader_says_what_it_cannot_make() -> None:
    with pytest.raises(ModelOutputInvalid, match="makes no 'poem'"):
        await Reader().complete([_prompt("x")], schema={"title": "poem"}, max_tokens=9, temperature=0)


async def _facts(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    text = "\n".join(["MESSAGES", *map(json.dumps, records)])
    made = await Reader().complete([_prompt(text)], schema={"title": "summary_and_facts"}, max_tokens=99, temperature=0)
    facts: list[dict[str, Any]] = json.loads(made.text)["facts"]
    return facts


def _prompt(text: str) -> PromptMessage:
    return PromptMessage(section=SectionName.QUERY, role=Role.USER, content=text, tokens=1)
