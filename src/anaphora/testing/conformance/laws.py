"""What every suite does: its laws are async tests, and what is left out is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest


class Laws:
    """A suite of laws, for subclasses that open what is to be tested.

    Attributes:
        left_out: the names of laws that are not kept, each with the reason. They are skipped, and the reason is shown:
            there is no quiet way to leave a law out.

    """

    pytestmark = pytest.mark.anyio
    left_out: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        """A suite that cannot open anything is an error: pytest would pass over it without a word."""
        super().__init_subclass__(**options)
        missing = [name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)]
        if missing and cls.__name__.startswith("Test"):
            raise TypeError(f"{cls.__name__} does not say how its laws are run: define {', '.join(missing)}")

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The laws run on asyncio, as Anaphora does."""
        return "asyncio"

    @pytest.fixture(autouse=True)
    def shown_if_left_out(self, request: pytest.FixtureRequest) -> None:
        """Skip a law that is left out, with its reason."""
        reason = self.left_out.get(request.function.__name__)
        if reason is not None:
            pytest.skip(f"left out: {reason}")

    @classmethod
    def law_names(cls) -> frozenset[str]:
        """The names of all laws of this suite."""
        return frozenset(name for name in dir(cls) if name.startswith("test_"))

    async def test_what_is_left_out_is_a_law_and_has_a_reason(self) -> None:
        """Every name in `left_out` is that of a law, and says why it is not kept."""
        assert set(self.left_out) - self.law_names() == set()
        assert [name for name, reason in self.left_out.items() if not reason.strip()] == []
