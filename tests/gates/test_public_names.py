"""What users may import is written down here: a name comes or goes by a decision, not by accident."""

from __future__ import annotations

import inspect
import re
from importlib import metadata
from types import ModuleType

import pytest

import anaphora
import anaphora.errors
import anaphora.testing

PUBLIC = {
    "anaphora": {
        "AnaphoraError",
        "Answer",
        "AsideFor",
        "Context",
        "Coverage",
        "Document",
        "Fact",
        "FactCounts",
        "FactState",
        "FactVersion",
        "Line",
        "Memory",
        "Message",
        "Page",
        "PageAction",
        "Point",
        "Receipt",
        "ReceiptState",
        "Role",
        "Segment",
        "SeqRange",
        "Session",
        "SessionKey",
        "Settings",
        "Source",
        "Subject",
        "Summary",
        "Topic",
        "Visibility",
    },
    "anaphora.testing": {"FakeClock", "KillAt", "RaiseAt", "Recorder", "SeededRandom"},
    "anaphora.errors": {
        "AnaphoraError",
        "BudgetTooSmall",
        "ConfigError",
        "InvalidInput",
        "Erased",
        "KeyReused",
        "LeaseLost",
        "Taken",
        "MissingExtra",
        "ModelError",
        "ModelOutputInvalid",
        "ModelRefused",
        "ModelUnavailable",
        "NotFound",
        "CommitUnknown",
        "StoreBusy",
        "StoreClosed",
        "StoreError",
        "StoreFull",
        "StoreReadOnly",
        "StoreTooNew",
        "UnknownName",
    },
}
BRANCH = re.compile(r"^(?P<indent>[ │]*)(?:[├└]── )?(?P<name>[A-Z]\w+)")


def drawn_tree(docstring: str) -> dict[str, str | None]:
    """Each class in a drawing of a tree, with the class that it hangs from."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in docstring.split("\n\n")[1].splitlines():
        found = BRANCH.match(line)
        assert found is not None, f"not a branch: {line!r}"
        depth = found.start("name") // 4 - 1
        path[depth:] = [found["name"]]
        parents[found["name"]] = path[depth - 1] if depth else None
    return parents


def real_tree(root: type) -> dict[str, str | None]:
    """Each class below `root` that its own module defines, with its parent."""
    tree: dict[str, str | None] = {}
    children: list[type] = root.__subclasses__()
    for child in children:
        if child.__module__ == root.__module__:
            tree |= {child.__name__: root.__name__} | real_tree(child)
    return tree


@pytest.mark.parametrize("module", [anaphora, anaphora.testing], ids=lambda module: module.__name__)
def test_the_names_that_users_import_are_the_ones_written_down(module: ModuleType) -> None:
    assert set(module.__all__) == PUBLIC[module.__name__]


def test_the_version_is_the_one_of_the_installed_package() -> None:
    assert anaphora.__version__ == metadata.version("anaphora")


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    exported = {name: getattr(anaphora, name) for name in anaphora.__all__}
    exported |= {name: getattr(anaphora.testing, name) for name in anaphora.testing.__all__}
    undocumented = [
        name
        for name, value in exported.items()
        if (inspect.isclass(value) or inspect.isroutine(value)) and not (value.__doc__ or "").strip()
    ]
    assert undocumented == []


def test_the_list_of_public_names_is_in_order() -> None:
    assert list(anaphora.__all__) == sorted(anaphora.__all__)


def test_the_errors_are_the_ones_written_down() -> None:
    defined = {
        name
        for name, value in vars(anaphora.errors).items()
        if inspect.isclass(value) and value.__module__ == anaphora.errors.__name__
    }
    assert defined == PUBLIC["anaphora.errors"]


def test_the_drawn_tree_of_errors_is_the_real_one() -> None:
    drawn = drawn_tree(anaphora.errors.__doc__ or "")
    assert drawn == {"AnaphoraError": None} | real_tree(anaphora.errors.AnaphoraError)


@pytest.mark.parametrize("name", sorted(PUBLIC["anaphora.errors"]))
def test_every_error_can_be_caught_as_ours(name: str) -> None:
    assert issubclass(getattr(anaphora.errors, name), anaphora.AnaphoraError)
