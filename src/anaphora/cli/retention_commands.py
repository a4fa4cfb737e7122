"""The commands of `anaphora retention`: their names, where they are, and what lists say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anaphora.cli.lazy import Entry, LazyGroup


class RetentionCommands(LazyGroup):
    """The commands of `anaphora retention`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "show": Entry(
            module="retention",
            function="show",
            help="Show how long sessions are kept, and what is out of sight.",
            example="anaphora retention show",
        ),
        "set": Entry(
            module="retention",
            function="set_days",
            help="Keep one session for another time.",
            example="anaphora retention set 7 --user alice --session 1",
        ),
        "run": Entry(
            module="retention",
            function="sweep",
            help="Let expire what is due now.",
            example="anaphora retention run",
        ),
        "restore": Entry(
            module="retention",
            function="restore",
            help="Bring an expired session back.",
            example="anaphora retention restore --user alice --session 1",
        ),
    }
