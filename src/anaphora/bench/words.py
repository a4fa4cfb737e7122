"""What is said in benchmarks: made of a seed, the same on every machine, with a few common words and many rare ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import accumulate, count

#: the most frequent words, in the order of their frequency; those after them are made of syllables
_COMMON = (
    "the to and a of I in it that is you for my we on with this have was but be at so not can are do as if they from "
    "what about would will one time out up there me your how all some when then more day had just like think know get "
    "good make want need work home week really still morning people thing help call plan find back next last take look "
    "keep try tell book garden kitchen friend sister doctor train ticket house water school meeting letter dinner "
    "recipe coffee market weekend summer winter spring street window table money price phone photo music movie story "
    "project team office report email invoice laptop password server budget contract customer deadline travel airport "
    "hotel museum beach mountain river forest weather rain snow health medicine allergy peanut bread cheese apple "
    "tomato pepper chicken soup cake birthday party gift wedding baby child parent brother cousin neighbour dog cat "
    "horse bicycle engine repair paint wood garage battery light camera piano guitar concert theatre painting language "
    "lesson exam teacher student library history science energy exercise running swimming football chess"
)
_ONSETS = ("b", "br", "d", "dr", "f", "g", "gl", "h", "k", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "tr", "v")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ou")
_ENDS = ("l", "n", "r", "s", "t", "nd", "rk")

VOCABULARY = 4_096
#: how many words of a text; what assistants say is longer
_SHORT, _SPREAD, _LONGER = 7, 12, 2
#: the first words say little: they are in nearly every message
_MEANING_FROM = 64
#: the n-th word comes with weight 1 / (n + 3) to this power: a little steeper than English, for want of more words
_STEEPNESS = 1.15
#: how many 16-bit numbers there are
_TABLE = 65_536


class Words:
    """A language of `VOCABULARY` words whose frequencies fall as in real ones.

    Texts depend on the seed and on the place where they are said, not on who asked for them first.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.vocabulary = _vocabulary()
        self._table = _frequencies(len(self.vocabulary))

    def talk(self, place: str) -> Iterator[tuple[str, str]]:
        """Role and text of the messages of one conversation, question and answer in turn, without end."""
        for number in count():
            yield ("user", "assistant")[number % 2], self.sentence(f"{place}/{number}", longer=number % 2 == 1)

    def sentence(self, place: str, *, longer: bool = False) -> str:
        """What is said at one place: one sentence of 7 to 18 words, or of twice as many."""
        most = (_SHORT + _SPREAD) * _LONGER
        chance = hashlib.shake_256(f"{self._seed}:{place}".encode()).digest(2 * most + 1)
        size = (_SHORT + chance[-1] % _SPREAD) * (_LONGER if longer else 1)
        words = [self.vocabulary[self._table[chance[2 * at] << 8 | chance[2 * at + 1]]] for at in range(size)]
        return f"{words[0].capitalize()} {' '.join(words[1:])}."

    def question(self, place: str) -> str:
        """A question of the next user: a few words as they are said, whatever their frequency."""
        return f"{' '.join(self.sentence(place).split()[:6]).rstrip('.')}?"

    def rare(self, place: str, size: int = 3) -> str:
        """Words of the last half of the vocabulary."""
        return self._among(place, size, VOCABULARY // 2, VOCABULARY)

    def middling(self, place: str, size: int = 3) -> str:
        """Words that a few messages of a hundred have."""
        return self._among(place, size, 2 * _MEANING_FROM, 4 * _MEANING_FROM)

    def common(self, place: str, size: int = 3) -> str:
        """The most frequent words that mean something."""
        return self._among(place, size, _MEANING_FROM, _MEANING_FROM + 24)

    def _among(self, place: str, size: int, start: int, stop: int) -> str:
        chance = hashlib.shake_256(f"{self._seed}?{place}".encode()).digest(2 * size)
        picks = [chance[2 * at] << 8 | chance[2 * at + 1] for at in range(size)]
        return " ".join(self.vocabulary[start + pick % (stop - start)] for pick in picks)


def _vocabulary() -> Sequence[str]:
    """The common words, then words of syllables, each once."""
    found = dict.fromkeys(_COMMON.split())
    syllables = [onset + vowel for onset in _ONSETS for vowel in _VOWELS]
    numbers = count()
    while len(found) < VOCABULARY:
        number = next(numbers)
        # a step that shares no factor with the number of syllables, so that neighbours do not look alike
        first, second = syllables[number * 37 % len(syllables)], syllables[number // len(syllables) % len(syllables)]
        found.setdefault(first + second + _ENDS[number % len(_ENDS)])
    return tuple(found)


def _frequencies(size: int) -> Sequence[int]:
    """For each 16-bit number the word that it stands for, so that each word has its share of the numbers."""
    totals = list(accumulate((rank + 3) ** -_STEEPNESS for rank in range(size)))
    table: list[int] = []
    for rank, total in enumerate(totals):
        table += [rank] * (round(total / totals[-1] * _TABLE) - len(table))
    return tuple(table)
