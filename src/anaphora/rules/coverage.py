"""The account of a conversation: what is summarised, what is verbatim, what is declared left out (I1)."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from anaphora.domain.context import Coverage
from anaphora.domain.keys import SeqRange, subtract, union
from anaphora.domain.summaries import Point


def account(
    head: int,
    *,
    summary_id: UUID | None,
    points: Iterable[Point],
    verbatim: Iterable[SeqRange],
    deleted: Iterable[SeqRange] = (),
) -> Coverage:
    """Each of the `head` messages in exactly one part.

    A message that was deleted counts as nothing else; one that stands word by word in the prompt counts as verbatim,
    whatever the points say; one that a shown point covers counts as summarised; every other is declared elided.
    """
    whole = (SeqRange(0, head),) if head else ()
    gone = union(deleted)
    shown = subtract(verbatim, gone)
    summarised = subtract((span for point in points for span in point.covered), (*gone, *shown))
    return Coverage(
        head=head,
        summary_id=summary_id,
        summarised=summarised,
        verbatim=shown,
        elided=subtract(whole, (*gone, *shown, *summarised)),
        deleted=gone,
    )
