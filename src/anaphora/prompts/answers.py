"""What is wrong with an answer that is not of the wanted shape."""

from __future__ import annotations

from pydantic import ValidationError

from anaphora.errors import ModelOutputInvalid


def unparsable(error: ValidationError) -> ModelOutputInvalid:
    """The first thing that is wrong: where, and of which kind; nothing of what the model wrote."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return ModelOutputInvalid("unparsable", f"{where or 'answer'}: {first['type']}")
