"""What an agent answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from anaphora.domain.context import Context
from anaphora.domain.messages import Receipt

#: in `degraded`: the store failed, so that nothing was read from it or nothing written to it
STORE: Final = "store"
#: in `degraded`: the agent has tools, and its model cannot call any: it answered without them
TOOLS: Final = "tools"


class AgentAnswer(str):
    """The text of an answer, and what became of it. It is a `str`: whatever takes one takes this.

    Attributes:
        degraded: what did not work as it should: those of `Context.degraded`, "store" if the memory failed, and "tools"
            if there are some and the model is of a kind that can call none.
        remembered: whether the turn is on disk. False too for an agent that has no memory.
        context: the prompt that it answers; None where there was no memory to make it of.
        receipt: of the stored answer.

    """

    __slots__ = ("context", "degraded", "receipt", "remembered")

    degraded: tuple[str, ...]
    remembered: bool
    context: Context | None
    receipt: Receipt | None

    def __new__(
        cls,
        text: str,
        *,
        degraded: tuple[str, ...] = (),
        remembered: bool = False,
        context: Context | None = None,
        receipt: Receipt | None = None,
    ) -> Self:
        """The text with its account."""
        made = super().__new__(cls, text)
        made.degraded = degraded
        made.remembered = remembered
        made.context = context
        made.receipt = receipt
        return made

    @property
    def text(self) -> str:
        """The answer as an ordinary string."""
        return str.__str__(self)


@dataclass(slots=True)
class Told:
    """Filled by a stream: the answer when it is whole."""

    answer: AgentAnswer | None = None
