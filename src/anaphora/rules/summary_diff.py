"""What changed from one version of a summary to another: points, and words inside points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from anaphora.domain.differences import Difference, PointChange, Words
from anaphora.domain.keys import SeqRange
from anaphora.domain.summaries import Point, Summary


def difference(before: Summary, after: Summary) -> Difference:
    """Points with equal range and text are kept; what is left with equal ranges is changed, the rest came or went."""
    same = {_identity(point) for point in before.points} & {_identity(point) for point in after.points}
    old = {point.range: point for point in before.points if _identity(point) not in same}
    new = {point.range: point for point in after.points if _identity(point) not in same}
    return Difference(
        kept=len(same),
        removed=tuple(point for span, point in old.items() if span not in new),
        added=tuple(point for span, point in new.items() if span not in old),
        changed=tuple(
            PointChange(before=old[span], after=point, words=tuple(words(old[span].text, point.text)))
            for span, point in new.items()
            if span in old
        ),
    )


def words(before: str, after: str) -> Iterator[Words]:
    """The shortest way from one text to the other, word by word."""
    old, new = before.split(), after.split()
    for tag, old_start, old_stop, new_start, new_stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield Words("keep", _joined(old[old_start:old_stop]))
            continue
        if old_stop > old_start:
            yield Words("remove", _joined(old[old_start:old_stop]))
        if new_stop > new_start:
            yield Words("add", _joined(new[new_start:new_stop]))


def _identity(point: Point) -> tuple[SeqRange, str]:
    return point.range, point.text


def _joined(parts: Sequence[str]) -> str:
    return " ".join(parts)
