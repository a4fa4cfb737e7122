"""The commands of `anaphora notepad`: their names, where they are, and what lists say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anaphora.cli.lazy import Entry, LazyGroup


class Notepad(LazyGroup):
    """The commands of `anaphora notepad`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "show": Entry(
            module="notepad",
            function="show",
            help="Show what the notepad says now.",
            example="anaphora notepad show --user alice",
        ),
        "edit": Entry(
            module="notepad",
            function="edit",
            help="Rewrite the notepad.",
            example='anaphora notepad edit "Learns the cello; short answers help" --user alice',
        ),
        "revert": Entry(
            module="notepad",
            function="revert",
            help="Go back to an earlier page.",
            example="anaphora notepad revert 3 --user alice",
        ),
        "history": Entry(
            module="notepad",
            function="history",
            help="List the pages of the notepad.",
            example="anaphora notepad history --user alice",
        ),
    }
