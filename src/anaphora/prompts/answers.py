"""Answers that are JSON of a wanted shape; what is wrong with one that is not."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from anaphora.errors import ModelOutputInvalid

T = TypeVar("T", bound=BaseModel)


def answer_of(text: str, shape: type[T]) -> T:
    """The answer in a model's text.

    Raises:
        ModelOutputInvalid: the text is empty or no such JSON.

    """
    if not text.strip():
        raise ModelOutputInvalid("empty")
    try:
        return shape.model_validate_json(text)
    except ValidationError as error:
        raise _unparsable(error) from None


def _unparsable(error: ValidationError) -> ModelOutputInvalid:
    """The first thing that is wrong: where, and of which kind; nothing of what the model wrote."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return ModelOutputInvalid("unparsable", f"{where or 'answer'}: {first['type']}")
