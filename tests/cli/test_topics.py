"""`anaphora topics list` and `topics show`."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from tests.cli.conftest import Run
from tests.cli.knowing import USER

from anaphora import Memory
from anaphora.settings import load

NETWORKS = (
    "I want to learn about neural networks and deep learning",
    "Can you explain how neural networks use backpropagation?",
    "How does gradient descent work with backpropagation in neural networks?",
)
LUNCH = (
    "By the way, I want to go to Waffle House for lunch now",
    "Does Waffle House serve hash browns for lunch?",
)
BACK = "Going back to neural networks, what was backpropagation again?"
LIST, SHOW = ("topics", "list", *USER), ("topics", "show")


def talk(database: Path, *said: str, agent: str | None = None, strategy: str = "topics", session: str = "t") -> None:
    async def talked() -> None:
        async with Memory.open(settings=load(db=str(database)), worker=False) as memory:
            chat = memory.session(user="alice", session=session, agent=agent, strategy=strategy)
            for text in said:
                await chat.add("user", text)
                await chat.add("assistant", f"You ask about this: {text}")
                await memory.work()

    anyio.run(talked)


@pytest.fixture
def returned(imported: Path) -> Path:
    """A conversation about two things, which goes back to the first."""
    talk(imported, *NETWORKS, *LUNCH, BACK)
    return imported


def test_topics_are_listed_newest_first_with_what_they_continue(run: Run, returned: Path) -> None:
    assert returned.exists()
    found = run(*LIST, "--json").document["topics"]
    assert [(each["range"], each["opened"], each["goes_on_from"]) for each in found] == [
        ([10, 12], "return", 0),
        ([6, 10], "shift", None),
        ([0, 6], "first", None),
    ]
    head, _, *rows = run(*LIST).out.splitlines()
    assert head.split() == ["user", "agent", "session", "messages", "state", "begins", "with", "continues", "name"]
    assert [row.split()[:7] for row in rows] == [
        ["alice", "default", "t", "10-11", "open", "return", "0"],
        ["alice", "default", "t", "6-9", "described", "shift", "-"],
        ["alice", "default", "t", "0-5", "described", "first", "-"],
    ]


def test_what_a_topic_continues_is_what_show_takes(run: Run, returned: Path) -> None:
    assert returned.exists()
    shown = run(*SHOW, "11", *USER, "--session", "t").out.splitlines()
    assert shown[0] == "No name yet: messages 10-11, open, continues 0"
    assert shown[-2].endswith(BACK)
    before = run(*SHOW, "0", *USER, "--session", "t")
    assert (before.code, before.err) == (0, "")
    assert before.out.splitlines()[0].endswith(": messages 0-5, described")
    assert [said["content"] for said in run(*SHOW, "0", *USER, "--session", "t", "--json").document["said"]][::2] == [
        *NETWORKS
    ]


def test_two_agents_are_told_apart(run: Run, imported: Path) -> None:
    talk(imported, "One thing", agent="cook")
    talk(imported, "Another", agent="tutor")
    assert [row.split()[1] for row in run(*LIST).out.splitlines()[2:]] == ["tutor", "cook"]
    assert [row.split()[1] for row in run(*LIST, "--agent", "cook").out.splitlines()[2:]] == ["cook"]


def test_topics_that_are_not_there_are_said_to_be_so(run: Run, imported: Path) -> None:
    assert imported.exists()
    assert run(*LIST).out == "There are no topics: only sessions of the strategy `topics` keep them.\n"
    assert run(*LIST, "--json").document == {"topics": []}
    assert "--session needs --user" in run("topics", "list", "--session", "1").complaint


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("0", "--session", "1"), "session '1' of user 'alice' with agent 'default' keeps no topics"),
        (("99", "--session", "1"), "session '1' of user 'alice' with agent 'default' has no message 99"),
        (("0", "--session", "1", "--agent", "cook"), "session '1' of user 'alice' with agent 'cook' has no message 0"),
    ],
)
def test_what_show_cannot_find_is_named_with_its_agent(
    words: tuple[str, ...], says: str, run: Run, imported: Path
) -> None:
    assert imported.exists()
    done = run(*SHOW, *words, *USER)
    assert done.code == 1
    assert says in done.complaint
