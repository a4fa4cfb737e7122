"""The commands of `anaphora agents`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anaphora.cli.lazy import Entry, LazyGroup


class Agents(LazyGroup):
    """The commands of `anaphora agents`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "run": Entry(
            module="agents",
            function="run",
            help="Talk to the agent of a configuration file.",
            example='anaphora agents run research.json --user alice --session 1 --message "Hello"',
        ),
        "check": Entry(
            module="agents",
            function="check",
            help="Say what is wrong with configuration files, and what may not be meant so.",
            example="anaphora agents check research.json",
        ),
    }
