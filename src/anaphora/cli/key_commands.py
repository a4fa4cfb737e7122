"""The commands of `anaphora keys`: their names, where they are, and what lists say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anaphora.cli.lazy import Entry, LazyGroup


class KeyCommands(LazyGroup):
    """The commands of `anaphora keys`."""

    table: ClassVar[Mapping[str, Entry]] = {
        "create": Entry(
            module="keys",
            function="create",
            help="Make a key for a person, or for the operator; it is shown once.",
            example="anaphora keys create --user alice --scopes all",
        ),
        "list": Entry(
            module="keys",
            function="show",
            help="List keys, without what makes them keys.",
            example="anaphora keys list --user alice",
        ),
        "revoke": Entry(
            module="keys",
            function="revoke",
            help="Let a key let nobody in any more.",
            example="anaphora keys revoke 5f3a9c21",
        ),
        "rotate": Entry(
            module="keys",
            function="rotate",
            help="Make a key like another one, which lasts a while longer.",
            example="anaphora keys rotate 5f3a9c21 --overlap 24",
        ),
    }
