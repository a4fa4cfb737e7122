"""The comparison: the same for all, and plain about what differs."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.bench.asking import result, setup

from anaphora.bench.machine import versions
from anaphora.bench.peers.embedding import HashedEmbedder, TimedEmbedder, shared_embedder
from anaphora.bench.peers.ours import open_ours
from anaphora.bench.peers.pragmas import durability
from anaphora.bench.peers.question import NAMES, QUESTION, RELATIVE, Sizes, asked, check_installed, compared
from anaphora.bench.peers.side import Order, Plan, measured, orders
from anaphora.bench.peers.with_mem0 import quiet
from anaphora.bench.tables import table
from anaphora.errors import MissingExtra
from anaphora.memory import Memory

SIZES = QUESTION.quick


def times(outcome: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """The outcome of a system that takes so many times as long, half of it in the embedder, and as much room."""
    longer = {
        name: [(factor * taken, factor * taken / 2) for taken, _ in outcome[name]]
        for name in ("single", "many", "search")
    }
    return {**outcome, **longer, "bytes": factor * outcome["bytes"]}


@pytest.mark.anyio
async def test_anaphora_takes_part_in_a_process_of_its_own(tmp_path: Path) -> None:
    outcome = (await asked(["anaphora"], SIZES, setup(tmp_path)))["anaphora"]
    assert [len(outcome[name]) for name in ("single", "many", "search")] == [6, 2, 4]
    assert all(taken > 0 and embedding == 0 for taken, embedding in outcome["single"])
    assert outcome["bytes"] == sum(path.stat().st_size for path in (tmp_path / "anaphora").iterdir()) > 0
    assert outcome["embedder"] == "hashed-words"
    assert outcome["facts"]["a commit is"] == "synchronous full, journal wal"


@pytest.mark.anyio
async def test_every_message_of_the_plan_is_appended_and_can_be_found(tmp_path: Path) -> None:
    plan = SIZES.plan(1)
    outcome = measured(open_ours, plan, tmp_path, TimedEmbedder(HashedEmbedder()), orders(plan, parts=3))
    assert outcome["found"] >= plan.queries  # each query is a part of a message
    async with Memory.open(tmp_path / "memory.db", worker=False, embedder="none") as memory:
        rows = {row.key.user: row.head for row in await memory.sessions()}
    assert rows == {"warm": 1, "user0": plan.messages / 2, "user1": plan.messages / 2}


def outcomes(folder: Path) -> dict[str, Mapping[str, Any]]:
    plan = SIZES.plan(1)
    first = {
        **measured(open_ours, plan, folder, TimedEmbedder(HashedEmbedder()), orders(plan)),
        "embedder": "hashed-words",
    }
    return dict(zip(NAMES, (first, times(first, 2), times(first, 10)), strict=True))


def test_the_systems_stand_side_by_side_with_every_figure(tmp_path: Path) -> None:
    figures = tuple(compared(outcomes(tmp_path), SIZES))
    drawn = table(result(*figures, question="peers"))
    assert drawn.columns == ("", *NAMES.values())
    names = [row[0] for row in drawn.rows]
    for wanted in ("append", "append of 4 in one call", "append p99", "search p50", "search p99", "database"):
        assert wanted in names
    for wanted in ("at an append", "search goes by", "a commit is", "SQLite"):
        assert wanted in names
    assert names[-len(RELATIVE) :] == [f"{name}, times Anaphora's" for name in names if name in RELATIVE]


def test_the_others_are_shown_as_multiples_of_anaphora(tmp_path: Path) -> None:
    found = {
        (figure.name, figure.case): figure.value
        for figure in compared(outcomes(tmp_path), SIZES)
        if figure.name.endswith("times Anaphora's")
    }
    one, double, ten = NAMES.values()
    assert found["append, times Anaphora's", one] == 1
    assert found["append, times Anaphora's", double] == pytest.approx(0.5, abs=0.02)
    assert found["append without embedding, times Anaphora's", double] == pytest.approx(1.0, abs=0.02)
    assert found["search p50, times Anaphora's", ten] == pytest.approx(10, abs=0.1)
    assert found["database, times Anaphora's", double] == pytest.approx(2, abs=0.1)


def test_without_the_packages_of_the_others_one_line_says_how_to_get_them() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'anaphora\[bench\]'$"):
        check_installed(["pytest", "no-such-package-anywhere"])
    check_installed(["pytest"])


@pytest.mark.parametrize("text", ["", "one", "Several words, some of them twice twice."])
def test_hashed_vectors_are_unit_vectors_that_depend_on_the_text_alone(text: str) -> None:
    embedder = HashedEmbedder()
    (vector,) = embedder.embed([text])
    assert len(vector) == embedder.profile.dimensions
    assert math.hypot(*vector) == pytest.approx(1)
    assert vector == HashedEmbedder().embed_query(text)


def test_texts_that_share_words_have_nearer_hashed_vectors() -> None:
    apple, also, other = HashedEmbedder().embed(["the apple tree", "an apple tree", "my new bicycle"])
    assert math.dist(apple, also) < math.dist(apple, other)


def test_the_time_of_the_embedder_is_counted_and_its_vectors_are_its_own(tmp_path: Path) -> None:
    embedder = shared_embedder(tmp_path)
    assert embedder.profile.id == "hashed-words"
    before = embedder.seconds
    assert embedder.embed(["a", "b"]) == HashedEmbedder().embed(["a", "b"])
    assert embedder.seconds > before


def test_a_connection_says_how_safe_its_commits_are(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        assert durability(connection) == "synchronous normal, journal wal"


def test_mem0_is_kept_from_telling_anybody(tmp_path: Path) -> None:
    assert quiet(tmp_path) == {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(tmp_path)}


def test_only_packages_that_are_here_have_a_version() -> None:
    found = versions(["pytest", "no-such-package-anywhere"])
    assert "pytest" in found
    assert "no-such-package-anywhere" not in found


def test_a_plan_counts_its_messages() -> None:
    sizes = Sizes(users=2, single=5, calls=3, per_call=4, queries=1)
    assert sizes.plan(9) == Plan(seed=9, users=2, single=5, calls=3, per_call=4, queries=1, limit=10)
    assert sizes.plan(9).messages == 17


def test_the_parts_of_a_plan_are_the_plan() -> None:
    plan = Plan(seed=1, users=1, single=7, calls=2, per_call=3, queries=0, limit=1)
    parts = list(orders(plan, parts=3))
    assert parts[:3] == [
        Order(what="single", start=0, stop=2),
        Order(what="single", start=2, stop=4),
        Order(what="single", start=4, stop=7),
    ]
    assert [(part.start, part.stop) for part in parts if part.what == "many"] == [(0, 1), (1, 2)]
    assert not any(part.what == "search" for part in parts)
