"""Every question can be asked, and answers in full. How fast anything is, is no matter for tests."""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.bench.asking import asked

from anaphora.bench.questions import QUESTIONS, chosen
from anaphora.bench.result import Result
from anaphora.errors import UnknownName

pytestmark = pytest.mark.anyio

WAITS = ["p50", "p99"]
LOADS = ["1 client", "16 clients", "16 clients, durability normal"]
PROCESSES = ["1 process", "2 processes"]
SEARCHED = ", with a search"
SESSIONS = ["10 messages", "40 messages", "40 messages, none summarised"]
IMPORTS = ["import in another process", "import in the same process"]
SEARCHES = ["by meaning", "by words", "by words and meaning"]
OVERLOAD = "three times too much"
DATABASES = ["PostgreSQL", "SQLite"]
ON_A_SERVER = ["16 clients", "4 clients in 2 processes"]
KINDS = ["rare words", "middling words", "frequent words", "a question", "a question, by words and meaning"]

#: the name of each figure, with its cases
FIGURES: Mapping[str, Mapping[str, list[str]]] = {
    "append": {
        "commits": ["bare SQLite, one row each"],
        **dict.fromkeys(("acknowledged", *WAITS), LOADS),
        "acknowledged and lost": [""],
        "ratio": ["1 client to bare SQLite", *(f"{load} to 1 client" for load in LOADS[1:])],
    },
    "several_processes": dict.fromkeys(
        ("acknowledged", *WAITS, "longest", "refused as busy", "acknowledged and lost"), PROCESSES
    ),
    "context": {
        **dict.fromkeys(WAITS, sorted(f"{case}{also}" for case in SESSIONS for also in ("", SEARCHED))),
        **{f"ratio of the {name}": ["40 messages to 10 messages"] for name in WAITS},
    },
    "search": {
        f"{kind}{figure}": ["10 messages of 60", "30 messages of 60"]
        for kind in KINDS
        for figure in (" p50", " p99", " p50, times that of the user alone", ", messages found")
    },
    "import": {
        "imported": ["alone", *IMPORTS],
        **{f"a turn {wait}": ["no import", *IMPORTS] for wait in WAITS},
        "ratio of the p99": [f"{case} to none" for case in IMPORTS],
    },
    "rebuild": {
        "rebuilt": [""],
        **{name: ["rebuild", "first summaries"] for name in ("messages", "calls of the model")},
        "sessions whose summary speaks for other messages": [""],
    },
    "serve": {
        "acknowledged": ["2 clients", OVERLOAD],
        **{f"append {wait}": ["2 clients", OVERLOAD] for wait in WAITS},
        **{f"turn {wait}": ["2 live sessions"] for wait in WAITS},
        "errors": ["2 clients", "2 live sessions", OVERLOAD],
        "told to come again": [OVERLOAD],
        "recovered": [OVERLOAD],
        "acknowledged and lost": [""],
        "ended after SIGTERM": [""],
    },
    "postgres": {
        "acknowledged": [f"{name}, {load}" for name in DATABASES for load in ON_A_SERVER],
        **{f"append {wait}": [f"{name}, {load}" for name in DATABASES for load in ON_A_SERVER] for wait in WAITS},
        "acknowledged, times SQLite's": ON_A_SERVER,
        "acknowledged and lost": ["1 process", "2 processes"],
        "refused as busy": ["2 processes"],
        **{name: list(DATABASES) for name in ("claimed", "claim p50", "claim p99", "claimed twice or never")},
        **{
            f"context {wait}": [
                f"{name}, {size} messages{also}" for name in DATABASES for size in (10, 40) for also in ("", SEARCHED)
            ]
            for wait in WAITS
        },
        "ratio of the p99": [
            f"{name}, 40 messages{also} to 10 messages{also}" for name in DATABASES for also in ("", SEARCHED)
        ],
    },
    "large": {
        "memories": [""],
        **{name: list(SEARCHES) for name in WAITS},
        "answers with too few hits": ["by meaning"],
        "filled": [""],
    },
    "cold_start": {
        "ready, the slowest start": [""],
        "ready, the median": [""],
        "of which, median": ["Python and imports", "open", "context", "search", "append"],
        "filled": [""],
        "size of the file": [""],
        "size of a message": [""],
    },
}
#: the figures that have a target, with their bounds as they were decided
TARGETS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "serve": {
        "acknowledged/2 clients": {"at_least": 600},
        "append p99/2 clients": {"at_most": 80},
        "turn p99/2 live sessions": {"at_most": 150},
        **{f"errors/{case}": {"at_most": 0} for case in ("2 clients", "2 live sessions", OVERLOAD)},
        f"recovered/{OVERLOAD}": {"at_most": 10},
        "acknowledged and lost/": {"at_most": 0},
        "ended after SIGTERM/": {"at_most": 5},
    },
    "postgres": {
        "acknowledged/PostgreSQL, 4 clients in 2 processes": {"at_least": 1_000},
        **{f"append p99/PostgreSQL, {load}": {"at_most": 60} for load in ON_A_SERVER},
        **{f"acknowledged and lost/{case}": {"at_most": 0} for case in ("1 process", "2 processes")},
        "refused as busy/2 processes": {"at_most": 0},
        "claimed/PostgreSQL": {"at_least": 200},
        **{f"claimed twice or never/{name}": {"at_most": 0} for name in DATABASES},
        **{
            f"context p99/PostgreSQL, {size} messages{also}": {"at_most": 25}
            for size in (10, 40)
            for also in ("", SEARCHED)
        },
        "ratio of the p99/PostgreSQL, 40 messages to 10 messages": {"at_most": 1.5},
    },
    "large": {
        **{f"p50/{kind}": {"at_most": 20} for kind in SEARCHES},
        **{f"p99/{kind}": {"at_most": 250} for kind in SEARCHES},
        "answers with too few hits/by meaning": {"at_most": 0},
    },
    "append": {"acknowledged/16 clients": {"at_least": 2_000}, "acknowledged and lost/": {"at_most": 0}},
    "several_processes": {
        "p99/2 processes": {"at_most": 500},
        **{
            f"{name}/{case}": {"at_most": 0}
            for name in ("refused as busy", "acknowledged and lost")
            for case in PROCESSES
        },
    },
    "context": {
        **{f"p99/{case}": {"at_most": 15} for case in SESSIONS},
        **{f"p99/{case}{SEARCHED}": {"at_most": 25} for case in SESSIONS},
        "ratio of the p99/40 messages to 10 messages": {"at_most": 1.2},
    },
    "search": {
        f"{kind} {wait}/{size} messages of 60": {"at_most": bound}
        for kind in KINDS
        for wait, bound in (("p50", 20), ("p99", 100))
        for size in (10, 30)
    },
    "import": {
        "imported/alone": {"at_least": 3_000},
        **{f"ratio of the p99/{case} to none": {"at_most": 2} for case in IMPORTS},
    },
    "rebuild": {
        "rebuilt/": {"at_most": 300},
        "sessions whose summary speaks for other messages/": {"at_most": 0},
    },
    "cold_start": {"ready, the slowest start/": {"at_most": 3}},
}


@pytest.mark.parametrize("name", FIGURES)
async def test_a_question_gives_all_of_its_figures_with_their_targets(name: str) -> None:
    # outside of pytest's folders, which the user of an embedded server may not enter
    with tempfile.TemporaryDirectory(prefix="anaphora-bench-", ignore_cleanup_errors=True) as folder:
        result = await asked(QUESTIONS[name], Path(folder))
    found: dict[str, list[str]] = {}
    for figure in result.figures:
        found.setdefault(figure.name, []).append(figure.case)
        assert not isinstance(figure.value, str)
        assert figure.value >= 0, figure
    assert {title: sorted(cases) for title, cases in found.items()} == {
        title: sorted(cases) for title, cases in FIGURES[name].items()
    }
    with_target = {f"{each.name}/{each.case}": each.target.to_dict() for each in result.figures if each.target}
    assert with_target == TARGETS[name]
    lost = [each.value for each in result.figures if "lost" in each.name or "other messages" in each.name]
    assert lost == [0] * len(lost)
    check_account(result, Path(folder))


def check_account(result: Result, folder: Path) -> None:
    """A result says what it was measured on, and nothing about where or for whom."""
    text = json.dumps(result.to_dict())
    assert Result.from_dict(json.loads(text)) == result
    assert result.quick
    assert result.seconds > 0
    assert result.versions["python"] == platform.python_version()
    assert {"anaphora", "sqlite", "sqlalchemy"} <= set(result.versions)
    assert {"system", "arch", "cores", "memory_gib", "load"} == set(result.machine)
    assert str(folder) not in text
    assert str(Path.home()) not in text
    assert f'"{platform.node()}"' not in text


def test_every_question_is_tested_here_or_with_the_peers() -> None:
    assert {*FIGURES, "peers"} == set(QUESTIONS)


def test_questions_come_in_their_order_and_once_whatever_was_asked_for() -> None:
    assert [question.name for question in chosen(["search", "append", "search"])] == ["append", "search"]
    assert [question.name for question in chosen([])] == [name for name in QUESTIONS if name != "large"]
    assert [question.name for question in chosen(["large"])] == ["large"]


def test_a_question_that_nobody_asks_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="unknown question 'apend': did you mean 'append'"):
        chosen(["append", "apend"])
