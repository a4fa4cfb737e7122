"""Processes that a question starts: heard, and never left behind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.bench.asking import setup

from anaphora.bench.children import Child, ChildFailed, started
from anaphora.bench.setup import Setup
from anaphora.bench.writers import WRITING

pytestmark = pytest.mark.anyio


async def call(
    module: str, document: Mapping[str, object], given: Setup, more: Mapping[str, str] | None = None
) -> None:
    """Start a process, tell it one thing, and hear its answer."""
    async with started(module, given, more) as child:
        await child.tell(document)
        await child.hear()


def told(folder: Path) -> dict[str, object]:
    what = {"name": "writer", "seed": 1, "clients": 2, "messages": 4, "connections": 1}
    return {"db": str(folder / "x.db"), "tenant": "default", **what}


async def test_a_child_does_what_it_is_told_when_it_is_told(tmp_path: Path) -> None:
    async with started(WRITING, setup(tmp_path)) as child:
        await child.tell(told(tmp_path))
        assert await child.hear() == {"ready": True}
        await child.tell({"go": True})
        answer = await child.hear()
    assert (len(answer["waits"]), answer["failed"]) == (4, 0)


async def test_a_child_that_fails_says_why_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ChildFailed, match=r"the folder .*nowhere does not exist"):
        await call(WRITING, told(tmp_path / "nowhere"), setup(tmp_path))


async def test_a_child_that_cannot_even_start_is_told(tmp_path: Path) -> None:
    with pytest.raises(ChildFailed, match="No module named"):
        await call("anaphora.bench.programs.nothing", {}, setup(tmp_path))


async def test_a_child_without_a_word_is_told_with_its_exit_code(tmp_path: Path) -> None:
    async with started(WRITING, setup(tmp_path)) as child:
        await child.tell(told(tmp_path))
        await child.hear()
        child._process.kill()
        with pytest.raises(ChildFailed, match="ended with code -9 and no word"):
            await child.hear()


async def test_no_child_outlives_a_question_that_fails(tmp_path: Path) -> None:
    left: list[Child] = []

    async def fail() -> None:
        async with started(WRITING, setup(tmp_path)) as child:
            await child.tell(told(tmp_path))
            await child.hear()
            left.append(child)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert left[0]._process.returncode == -9


async def test_a_child_has_the_environment_that_it_was_given(tmp_path: Path) -> None:
    broken = replace(setup(tmp_path), environment={**os.environ, "PYTHONHOME": str(tmp_path)})
    with pytest.raises(ChildFailed):
        await call(WRITING, told(tmp_path), broken)
    with pytest.raises(ChildFailed):
        await call(WRITING, told(tmp_path), setup(tmp_path), more={"PYTHONHOME": str(tmp_path)})
