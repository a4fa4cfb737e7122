"""Where and with what a question is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anaphora.bench.words import Words
from anaphora.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What every question is given."""

    #: empty at the start, removed at the end; on the disk whose speed is the question
    folder: Path
    seed: int
    #: for processes that a question starts
    environment: Mapping[str, str]
    #: where the files of the local embedder are, if they are here
    models: Path
    #: told what is going on, in a few words
    say: Callable[[str], None]

    def words(self) -> Words:
        """What is said, by the seed."""
        return Words(self.seed)


def plain_settings(db: Path | str, **changes: Any) -> Settings:  # noqa: ANN401 - settings by name
    """The defaults with these changes, without the local embedder: neither the environment nor a file has a say.

    Figures must not depend on who measures.
    """
    return Settings.model_construct(**{"db": str(db), "embedder": "none", **changes})
