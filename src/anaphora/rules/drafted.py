"""From what a summariser has drafted to the points of the next version: checked, merged as planned, within the size."""

from __future__ import annotations

from collections.abc import Sequence

from anaphora.domain.keys import SeqRange
from anaphora.domain.plans import Plan
from anaphora.domain.summaries import Point
from anaphora.errors import ModelOutputInvalid
from anaphora.ports.models import SummaryDraft
from anaphora.rules import points as rule
from anaphora.rules.tokens import Count
from anaphora.rules.validity import MAX_OVERSIZE, checked_statements, checked_text


def points_of(
    draft: SummaryDraft, kept: tuple[Point, ...], plan: Plan, *, deleted: Sequence[SeqRange], count: Count, last: bool
) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """The points of the new version, and those of them that are new, before all were brought to the size.

    Args:
        draft: what was drafted of `plan.read`.
        kept: the points that are carried on.
        plan: what was to be read, and how large the version may be.
        deleted: what is deleted of the session.
        count: the token counter.
        last: nobody is asked once more: what of the draft can be used is.

    Raises:
        ModelOutputInvalid: the draft cannot be used.

    """
    statements = checked_statements(
        draft.statements,
        plan.read,
        deleted=deleted,
        echoes=draft.echoes,
        max_chars=MAX_OVERSIZE * 6 * plan.max_tokens,
    )
    fresh = rule.place(statements, plan.read, method=draft.method, count=count)
    if draft.keep is not None:
        everything = rule.keep_only((*kept, *fresh), {*draft.keep, *range(len(kept), len(kept) + len(fresh))})
    else:
        everything = (*_merged(draft, kept, plan, count=count, last=last), *fresh)
    return rule.fit(everything, plan.max_tokens, count=count, new_from=plan.read.start), fresh


def _merged(draft: SummaryDraft, kept: tuple[Point, ...], plan: Plan, *, count: Count, last: bool) -> tuple[Point, ...]:
    """The kept points, the oldest as the one that they should become.

    A draft whose merged statement is far too long cannot be used. The last one can be without it: the oldest points
    give way where there is no room.
    """
    share = rule.shares(kept, plan.max_tokens)
    if not share.merge or draft.merged is None:
        return kept
    text = checked_text(draft.merged, echoes=draft.echoes)
    if count(text) > 2 * share.merged:
        if last:
            return kept
        raise ModelOutputInvalid("too_long", f"a merged statement of {count(text)} tokens")
    return (rule.merge(kept[: share.merge], text, method=draft.method, count=count), *kept[share.merge :])
