"""All questions, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from anaphora.bench import (
    append,
    cold_start,
    context,
    importing,
    large,
    postgres,
    rebuild,
    search,
    serve,
    several_processes,
)
from anaphora.bench.peers import question as peers
from anaphora.bench.question import Question
from anaphora.errors import UnknownName

QUESTIONS: Mapping[str, Question[Any]] = MappingProxyType(
    {
        module.QUESTION.name: module.QUESTION
        for module in (
            append,
            several_processes,
            context,
            search,
            importing,
            rebuild,
            cold_start,
            serve,
            postgres,
            peers,
            large,
        )
    }
)


def chosen(names: Sequence[str]) -> Sequence[Question[Any]]:
    """The questions of these names, each once, in the order of the list; if none is named, all but the long ones.

    Raises:
        UnknownName: nobody asks that.

    """
    for name in names:
        if name not in QUESTIONS:
            raise UnknownName("question", name, QUESTIONS)
    return [question for name, question in QUESTIONS.items() if (name in names if names else not question.long)]
