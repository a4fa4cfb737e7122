"""The reranker that asks a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anaphora.ports.models import ChatModel, TokenCounter
from anaphora.prompts import rerank
from anaphora.rules.memory_block import mark

#: the same passages get the same grades
_TEMPERATURE: Final = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReranker:
    """Fulfils `Reranker` with one call for all passages, answered by JSON schema."""

    model: ChatModel
    counter: TokenCounter
    #: the store's own: no text can forge a mark that is made with it
    secret: bytes
    #: tokens of passages in one prompt
    input_tokens: int

    @property
    def name(self) -> str:
        """The model, and how it is asked."""
        return f"{self.model.name} ({rerank.VERSION})"

    async def rerank(self, question: str, passages: Sequence[str]) -> Sequence[float | None]:
        """The grade of each passage, 0 to 10; None for one that the model left out.

        Raises:
            ModelError: the model failed, or answered no such JSON.

        """
        texts = (text.encode("utf-8", "replace") for text in (question, *passages))
        prompt = rerank.build(
            question,
            passages,
            mark=mark(self.secret, b"rerank", *texts),
            input_tokens=self.input_tokens,
            count=self.counter.count,
        )
        completion = await self.model.complete(
            prompt, schema=rerank.SCHEMA, max_tokens=rerank.answer_room(len(passages)), temperature=_TEMPERATURE
        )
        # as they are: a passage that answers passes nearly everything that does not
        return rerank.parse(completion.text, len(passages))
