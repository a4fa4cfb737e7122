"""How well topic shifts are found, on dialogues of which it is known where each topic ends.

`[{"utterances": [texts], "segments": [lengths of consecutive segments]}]`, or one such object a line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from anaphora.domain.messages import Role
from anaphora.domain.topics import Utterance
from anaphora.domain.vectors import Scale
from anaphora.evals.boundaries import Marks, marks, pk, precision_and_recall, window, windowdiff
from anaphora.ports.models import Embedder
from anaphora.rules.topics.detector import Limits, Track, follow
from anaphora.rules.topics.views import Vector, dot
from anaphora.services.importing.records import records
from anaphora.services.importing.values import BadFile, Record, array, mapping, text

#: the baselines: after how many messages one always cuts, and at which cosine with the mean of the open topic
EVERY: Final = 8
COSINE: Final = 0.45
#: dialogues between two words of how far it is
_TOLD: Final = 50

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """What was said, and how many messages each topic has."""

    utterances: tuple[str, ...]
    segments: tuple[int, ...]


def read(path: Path) -> list[Dialogue]:
    """The dialogues of a file.

    Raises:
        BadFile: it cannot be read, holds none, or one has no utterances or segments that do not add up to them.

    """
    found = [_dialogue(record) for record in records(path)]
    if not found:
        raise BadFile(str(path), "", "expected dialogues with `utterances` and `segments`, but there are none")
    return found


def evaluate(
    dialogues: Sequence[Dialogue], embedder: Embedder | None, tell: Tell, limits: Limits | None = None
) -> dict[str, Any]:
    """Follow the topics of every dialogue, message by message, each as if the user had said it; no model is asked.

    Args:
        dialogues: at least one.
        embedder: None: words decide alone.
        tell: told how far it is.
        limits: when a topic may end, as the strategy is configured; None: its defaults. The baselines have their own.

    Returns:
        `pk`, `windowdiff` (means over the dialogues that are long enough to be measured, else None), `f1`,
        `precision`, `recall` (of all ends together), `dialogues`, `embedder` (its id or None), and `baselines`: the
        same figures of never cutting, of cutting every 8 messages, and of one cosine, the last with an embedder only.

    Raises:
        ModelError: the embedder failed.

    """
    scale = None if embedder is None else embedder.profile.scale
    found: dict[str, list[Marks]] = {}
    for number, dialogue in enumerate(dialogues, start=1):
        said = _said(dialogue, embedder)
        for name, ends in _systems(said, scale, limits).items():
            found.setdefault(name, []).append(ends)
        if number % _TOLD == 0:
            tell(f"{number:,} of {len(dialogues):,} dialogues")
    ours = found.pop("anaphora")
    return {
        **_figures(dialogues, ours),
        "dialogues": len(dialogues),
        "embedder": None if embedder is None else embedder.profile.id,
        "baselines": {name: _figures(dialogues, ends) for name, ends in found.items()},
    }


def shifts(said: Sequence[Utterance], scale: Scale | None = None, limits: Limits | None = None) -> tuple[bool, ...]:
    """For every message but the first, whether it opens a topic."""
    track, opened = Track(), []
    for message in said:
        track, verdict = follow(track, message, scale=scale, limits=limits)
        opened.append(verdict.shifts)
    return tuple(opened[1:])


def _systems(said: Sequence[Utterance], scale: Scale | None, limits: Limits | None) -> Mapping[str, Marks]:
    places = range(1, len(said))
    found = {
        "anaphora": shifts(said, scale, limits),
        "never": tuple(False for _ in places),
        f"every {EVERY}": tuple(place % EVERY == 0 for place in places),
    }
    vectors = [one.vector for one in said if one.vector is not None]
    return found | ({f"cosine {COSINE}": _by_cosine(vectors)} if vectors else {})


def _by_cosine(vectors: Sequence[Vector]) -> tuple[bool, ...]:
    """One cosine with the mean of the open topic, once that has the messages that it must have."""
    opened, start, least = [], 0, Limits().least_messages
    for place in range(1, len(vectors)):
        mean = [math.fsum(values) for values in zip(*vectors[start:place], strict=True)]
        cosine = dot(vectors[place], mean) / (math.hypot(*mean) or 1.0)
        opened.append(cosine <= COSINE and place - start >= least)
        start = place if opened[-1] else start
    return tuple(opened)


def _said(dialogue: Dialogue, embedder: Embedder | None) -> list[Utterance]:
    texts = dialogue.utterances
    vectors = [None] * len(texts) if embedder is None else embedder.embed(texts)
    return [
        Utterance(role=Role.USER, text=spoken, vector=vector) for spoken, vector in zip(texts, vectors, strict=True)
    ]


def _figures(dialogues: Sequence[Dialogue], found: Sequence[Marks]) -> dict[str, float | None]:
    pairs = [(marks(dialogue.segments), ends) for dialogue, ends in zip(dialogues, found, strict=True)]
    sizes = [window(dialogue.segments) for dialogue in dialogues]
    precision, recall = precision_and_recall(pairs)
    both = precision + recall
    return {
        "pk": _mean(pk(*pair, size) for pair, size in zip(pairs, sizes, strict=True)),
        "windowdiff": _mean(windowdiff(*pair, size) for pair, size in zip(pairs, sizes, strict=True)),
        "f1": round(2 * precision * recall / both, 4) if both else 0.0,
        "precision": round(precision, 4),
        "recall": round(recall, 4),
    }


def _mean(values: Iterator[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return round(fmean(measured), 4) if measured else None


def _dialogue(record: Record) -> Dialogue:
    place = record.place
    value = mapping(record.value, place, "a dialogue with `utterances` and `segments`")
    here = place.child("utterances")
    spoken = array(value.get("utterances"), here, "utterances")
    lengths = array(value.get("segments"), place.child("segments"), "segments")
    if not all(isinstance(length, int) and length is not True and length > 0 for length in lengths):
        raise place.child("segments").bad("expected the lengths of the segments as whole numbers from 1")
    if not spoken or sum(lengths) != len(spoken):
        raise place.child("segments").bad(
            f"the segments have {sum(lengths)} messages together, the dialogue has {len(spoken)}"
        )
    return Dialogue(
        utterances=tuple(text(one, here.child(number), "an utterance") for number, one in enumerate(spoken)),
        segments=tuple(lengths),
    )
