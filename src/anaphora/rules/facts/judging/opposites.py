"""A statement must not say the opposite of a word that was said: "passed" for "failed". English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from anaphora.rules.facts.judging.weighed import Source, Weighed
from anaphora.rules.language.lexicon import stems
from anaphora.rules.language.said import Said

OPPOSITE: Final = "the opposite was said"
_PAIRS: Final = """
pass | fail
win | lose
start begin join | stop quit end finish leave
work live study belong attend | leave quit resign
alive | dead died deceased passed
open | close shut
buy purchase | sell
accept agree approve | decline refuse reject deny
increase raise rise grow gain up | down decrease reduce drop lower fall shrink cut
lend | borrow owe
hire | fire
arrive | depart
remember | forget
succeed | fail
add | remove delete
like love enjoy adore | hate dislike loathe detest dread
early earlier | late later
more | less fewer
longer | shorter
bigger larger | smaller
cheaper | dearer pricier
older elder eldest oldest | younger youngest
best | worst
easy easier | hard harder difficult
hot | cold
married | divorced separated single
alive | dead died
safe | dangerous
healthy | ill sick
full-time | part-time
inside | outside
above over | below under
minimum least | maximum most
morning | evening night
employed | unemployed
well brilliantly | badly terribly awfully poorly horribly
trust | distrust mistrust
allow permit | forbid ban prohibit
"""
_OPPOSITES: Final = tuple(
    pair
    for line in _PAIRS.strip().splitlines()
    for one, _, other in [line.partition(" | ")]
    for pair in ((stems(one), stems(other)), (stems(other), stems(one)))
)


def check_opposites(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """A word whose opposite stands in the quote must stand there too, or be denied."""
    quoted = next((source.quoted for source in sources if source.quoted), "").casefold()
    near = [word for source in sources if source.rank == 0 for word in source.words]
    inside = [word for word in near if word.low in quoted]
    told = [word for word in mine if not word.negative and not word.denied]
    for these, those in _OPPOSITES:
        word = next((word for word in told if word.stem in these), None)
        if word is None or any(other.stem in those for other in mine):
            continue
        against = any(other.stem in those and not _denied(inside, at) for at, other in enumerate(inside))
        if against and not any(other.stem in these for other in inside):
            found.conflicts.append(OPPOSITE)


_TIMES: Final = (re.compile(r"\bfull[ -]?time\b"), re.compile(r"\bpart[ -]?time\b"))


def check_hours(content: str, sources: Sequence[Source], found: Weighed) -> None:
    """Who works part time does not work full time."""
    low, said = content.casefold(), " ".join(source.text for source in sources if source.rank < 2).casefold()
    for mine, theirs in (_TIMES, _TIMES[::-1]):
        if mine.search(low) and theirs.search(said) and not mine.search(said):
            found.conflicts.append(OPPOSITE)


def _denied(words: Sequence[Said], at: int) -> bool:
    """Whether a word is denied by what stands before it; "failed" alone denies nothing."""
    return at > 0 and words[at - 1].negative and words[at - 1].clause == words[at].clause
