"""The commands of `anaphora topics`: their names, where they are, and what lists say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anaphora.cli.lazy import Entry, LazyGroup


class Topics(LazyGroup):
    """The commands of `anaphora topics`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "list": Entry(
            module="topics",
            function="list_topics",
            help="List what sessions of the strategy `topics` are cut into, newest first.",
            example="anaphora topics list --user alice",
        ),
        "show": Entry(
            module="topics",
            function="show",
            help="Show the topic that holds a message.",
            example="anaphora topics show 4 --user alice --session 1",
        ),
    }
