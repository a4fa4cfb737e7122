"""Whether a proposed fact may be believed: it must be quoted, meant and said by the owner. No model is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from anaphora.domain.facts import Candidate
from anaphora.domain.keys import SeqRange
from anaphora.domain.messages import Message, Role, Trust
from anaphora.rules.facts.judging import contents, voice
from anaphora.rules.facts.judging.clauses import parse, quoted_sentences
from anaphora.rules.facts.judging.counts import corrects
from anaphora.rules.facts.judging.quoting import places, verbatim
from anaphora.rules.facts.judging.support import first_person, weigh
from anaphora.rules.facts.judging.weighed import Source, Weighed
from anaphora.rules.language.markers import Mood
from anaphora.rules.language.said import Said, Who
from anaphora.rules.language.stems import plain, stem
from anaphora.rules.language.words import content_key, core, numbers

#: whose own words are believed
_BELIEVED: Final = (Trust.OWNER_SAID, Trust.OWNER_CONFIRMED)
#: characters around the quote that are looked at
_WINDOW: Final = 6_000
#: characters of a quote, and how often it is looked for
_LONGEST_QUOTE: Final = 2_000
_MOST_PLACES: Final = 10
#: messages before and after that may hold a name or a noun
_NEIGHBOURS: Final = 5
#: characters within which a message begins to put something right
_OPENING: Final = 20
#: telling words that stand in the quote's own message
_SEVERAL: Final = 2
_YES: Final = re.compile(
    r"^\W*(?:(?:haha|lol|ha|oh|well|um|hm+|ah)\W+)*(?:yes|yep|yeah|yup|yea|ya|right|exactly|correct|true|sure"
    r"|indeed|absolutely|definitely|of course|that's right|both|ja|genau|oui|sí|si|sim"
    r"|exact(?:ement)?|stimmt|richtig|da|(?:you|i|we|it|they|she|he) (?:do|am|have|did|is|are|does|was)(?=[.,!]))\b"
    r"|^\W*(?:对|是的?|嗯|没错|はい)",
    re.IGNORECASE,
)
_NO: Final = re.compile(
    r"^\W*(?:(?:sadly|unfortunately|actually|honestly|haha|well|oh|um|alas|sorry|luckily|afraid)\W+)*"
    r"(?:no|nope|nah|not (?!only|just|to mention)|never|nein|non|não)\b|^\W*(?:不|没有)",
    re.IGNORECASE,
)


class Outcome(StrEnum):
    """What becomes of a proposed fact."""

    ACCEPT = "accept"
    #: somebody should look at it; it stands in no prompt
    REVIEW = "review"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What was decided, and why."""

    outcome: Outcome
    #: in a few words, without anything that was said
    reason: str
    #: as it stands in the message; empty if it does not
    quote: str
    #: the messages that support the fact
    span: SeqRange


class _Refused(Exception):
    """A check failed; carries the outcome and the reason."""

    def __init__(self, reason: str, outcome: Outcome = Outcome.REJECT) -> None:
        super().__init__(reason)
        self.reason = reason
        self.outcome = outcome


@dataclass(slots=True)
class _Case:
    """What is looked at together."""

    candidate: Candidate
    messages: Sequence[Message]
    message: Message
    speaker: str | None
    subject: str | None
    #: the message, `plain`, and where the quote stands in it
    text: str = ""
    start: int = 0
    stop: int = 0

    @property
    def instruction(self) -> bool:
        return self.candidate.category == "instruction"


def judge(
    candidate: Candidate,
    messages: Sequence[Message],
    *,
    speaker: str | None,
    subject: str | None = None,
    memory: Sequence[str] = (),
    echoes: Sequence[str] = (),
) -> Judgement:
    """Whether the candidate may be believed.

    Args:
        candidate: what a model or a rule proposes.
        messages: the stretch that was read, in order, without deleted ones.
        speaker: the name of the owner, if it is known; "the user" is understood as well.
        subject: whom or what the facts are about, if not the owner.
        memory: lines of memory that stood in the prompt: what only repeats them is no news.
        echoes: sentences of the extraction prompt itself.

    """
    message = next((item for item in messages if item.seq == candidate.seq), None)
    place = SeqRange(max(candidate.seq, 0), max(candidate.seq, 0) + 1)
    if message is None:
        return Judgement(outcome=Outcome.REJECT, reason="quotes no message that was read", quote="", span=place)
    case = _Case(candidate=candidate, messages=messages, message=message, speaker=speaker, subject=subject)
    quote = ""
    try:
        _check_who(case)
        _locate(case)
        quote = verbatim(message.content, case.start, case.stop)
        _check_content(case, memory, echoes)
        used = _check_support(case)
    except _Refused as refused:
        return Judgement(outcome=refused.outcome, reason=refused.reason, quote=quote, span=place)
    used.add(message.seq)
    return Judgement(
        outcome=Outcome.ACCEPT,
        reason="said by the owner",
        quote=quote,
        span=SeqRange(min(used), max(used) + 1),
    )


def _check_who(case: _Case) -> None:
    message = case.message
    if message.role is not Role.USER or message.trust not in _BELIEVED or message.deleted:
        raise _Refused("quotes what the owner did not say")
    if _other_speaker(message, case):
        raise _Refused("quotes another speaker")


def _other_speaker(message: Message, case: _Case) -> bool:
    if message.name is None or case.speaker is None:
        return False
    return stem_key(message.name) != stem_key(case.speaker) and not stem_key(case.speaker).startswith(
        stem_key(message.name)
    )


def stem_key(name: str) -> str:
    """A name for comparing."""
    return content_key(name)


def _locate(case: _Case) -> None:
    """Find the quote outside of what is pasted, quoted or made up."""
    case.text = plain(case.message.content)
    refused: _Refused | None = None
    if len(case.candidate.quote) > _LONGEST_QUOTE:
        raise _Refused("the quote is too long")
    for start, stop in islice(places(case.candidate.quote, case.text), _MOST_PLACES):
        reason = _foreign(case, start, stop)
        if reason is None:
            case.start, case.stop = start, stop
            # the quote goes over the end of a line: there it is one sentence
            case.text = case.text[:start] + case.text[start:stop].replace("\n", " ") + case.text[stop:]
            return
        refused = refused or _Refused(reason)
    raise refused or _Refused("the quote does not stand in the message")


def _foreign(case: _Case, start: int, stop: int) -> str | None:
    low, high = max(0, start - _WINDOW), min(len(case.text), stop + _WINDOW)
    for stretch in voice.foreign(case.text[low:high]):
        inside = min(stop, stretch.stop + low) - max(start, stretch.start + low)
        if inside * 2 > stop - start:
            return f"the quote is {stretch.why}, not the owner's own statement"
    return None


def _check_content(case: _Case, memory: Sequence[str], echoes: Sequence[str]) -> None:
    content = case.candidate.content
    mine = first_person(plain(content), case.speaker and plain(case.speaker))
    reason = contents.no_fact(mine, instruction=case.instruction)
    if reason:
        raise _Refused(reason)
    key = content_key(content)
    for echo in echoes:
        said = content_key(echo)
        if len(said) > 8 and (
            said in key or (len(key) > 8 and key in said) or said in content_key(case.candidate.quote)
        ):
            raise _Refused("repeats the prompt")
    quoted = core(case.candidate.quote)
    for line in memory:
        if content_key(line) == content_key(case.candidate.quote):
            raise _Refused("repeats what is remembered")
        if content_key(line) == key and not quoted & core(content):
            raise _Refused("repeats what is remembered")
    if contents.overrides(content):
        raise _Refused("would lead past rules or give data away")
    if contents.gives_orders(content) and not case.instruction:
        raise _Refused("gives orders")


def _check_support(case: _Case) -> set[int]:
    sources = list(_sources(case))
    content = plain(first_person(plain(case.candidate.content), case.speaker and plain(case.speaker)))
    free = _free(case)
    if case.instruction and contents.once(sources[0].text):
        raise _Refused("asked for only this time")
    weighed = weigh(content, sources, free=free, instruction=case.instruction)
    if weighed.conflicts:
        # one thing against several that were said so: somebody should look
        doubtful = (len(weighed.conflicts) == 1 and weighed.near > _SEVERAL) or not _same_script(case)
        raise _Refused(weighed.conflicts[0], Outcome.REVIEW if doubtful else Outcome.REJECT)
    if weighed.added:
        raise _Refused(weighed.added[0], Outcome.REVIEW)
    _check_near(case, weighed)
    if weighed.more:
        raise _Refused("says more than was said", Outcome.REVIEW)
    if numbers(content) and _corrected_next(case, numbers(content)):
        raise _Refused("corrected in the same breath", Outcome.REVIEW)
    if _taken_back(case):
        raise _Refused("taken back or a joke", Outcome.REVIEW)
    return weighed.used


def _same_script(case: _Case) -> bool:
    """Whether the statement is written in letters of the quote: of another script nothing can be compared."""
    quote, content = case.text[case.start : case.stop], case.candidate.content
    return _is_latin(quote) == _is_latin(content)


def _is_latin(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return sum(char < "ʰ" for char in letters) * 2 >= len(letters)


def _check_near(case: _Case, weighed: Weighed) -> None:
    """The message itself must say some of it, or say yes to the question before it."""
    if weighed.near or not weighed.total:
        return
    if any(answer.match(text) for answer in (_YES, _NO) for text in (case.text[case.start :], case.text)):
        return
    raise _Refused("the quote does not say it", Outcome.REVIEW)


def _free(case: _Case) -> frozenset[str]:
    found = {"i", "my", "ich", "我"}
    for name in filter(None, (case.speaker, case.subject)):
        for word in plain(name).casefold().replace("-", " ").split():
            found |= {word, stem(word)}
    return frozenset(found)


def _sources(case: _Case) -> Iterator[Source]:
    """What was said, the nearest first."""
    own = _own_words(case.text, case.start, case.stop)
    touched = quoted_sentences(own, case.start, case.stop)
    near = [word for word in own if word.sentence in touched]
    far = [word for word in own if word.sentence not in touched]
    yield Source(near, _text(case.text, near), 0, case.message.seq, case.text[case.start : case.stop])
    yield Source(far, _text(case.text, far), 1, case.message.seq)
    at = next(place for place, item in enumerate(case.messages) if item.seq == case.message.seq)
    before = list(reversed(case.messages[max(0, at - _NEIGHBOURS) : at]))
    after = list(case.messages[at + 1 : at + 1 + _NEIGHBOURS])
    for item in (*before, *after):
        if item.role is Role.USER and item.trust in _BELIEVED and not _other_speaker(item, case):
            text = plain(item.content)[:_WINDOW]
            words = _own_words(text, 0, 0)
            yield Source(words, _text(text, words), 2, item.seq)
    if before and before[0].role is Role.ASSISTANT:
        yield from _asked(case, before[0])


def _asked(case: _Case, item: Message) -> Iterator[Source]:
    """What the assistant asked just before, or said and was confirmed."""
    text = plain(item.content)[-_WINDOW:]
    yes, no = _YES.match(case.text) is not None, _NO.match(case.text) is not None
    if "?" not in text and "？" not in text and not yes:
        return
    words = _chosen(parse(text), {word.stem for word in parse(case.text)})
    if not yes:
        # what was only said beside the question is not answered
        put = {word.sentence for word in words if word.mood is Mood.QUESTION}
        words = [word for word in words if word.sentence in put] or words
    if not yes and numbers(case.text[:_WINDOW]):
        # the number of the answer counts, not the one of the question
        words = [word for word in words if not numbers(word.low)]
        text = " ".join(word.low for word in words)
    denying = any(word.negative for word in parse(case.text[:_WINDOW]))
    for word in words:
        if word.mood in {Mood.QUESTION, Mood.CONDITION, Mood.MAYBE, Mood.WISH}:
            word.mood = Mood.FACT
        word.negative = word.negative != no
        word.denied |= denying
        word.whom = frozenset()
        word.who = Who.OPEN
    yield Source(words, text, 3, item.seq)


def _chosen(asked: list[Said], answered: set[str]) -> list[Said]:
    """The words of a question without the alternatives that were not taken: "tea or coffee?" "tea"."""
    at = next((place for place, word in enumerate(asked) if word.low == "or"), None)
    if at is None:
        return asked
    around = range(max(0, at - 1), min(len(asked), at + 2))
    if not any(asked[place].stem in answered for place in around):
        return asked
    return [word for place, word in enumerate(asked) if place not in around or word.stem in answered]


def _own_words(text: str, start: int, stop: int) -> list[Said]:
    """The words of a message that are its sender's own."""
    low, high = max(0, start - _WINDOW), min(len(text), stop + _WINDOW)
    strange = voice.foreign(text[low:high])
    words = parse(text, start=low, stop=high)
    return [word for word in words if not any(item.start + low <= word.start < item.stop + low for item in strange)]


def _text(text: str, words: Sequence[Said]) -> str:
    """The sentences that the words stand in."""
    if not words:
        return ""
    pieces: list[str] = []
    start, last = words[0].start, words[0]
    for word in words[1:]:
        if word.start - last.end > 40 or word.sentence > last.sentence + 1:
            pieces.append(text[start : last.end + 2])
            start = word.start
        last = word
    pieces.append(text[start : last.end + 2])
    return "\n".join(pieces)


def _corrected_next(case: _Case, counted: frozenset[str]) -> bool:
    """Whether the next message of the owner puts another number in the place of one: "wait, 7:21"."""
    later = [item for item in case.messages if item.seq > case.message.seq and item.role is Role.USER]
    said = plain(later[0].content)[:400] if later else ""
    if not later or not corrects(said) or not numbers(said):
        return False
    others = numbers(said) - counted
    # "sorry, eleven" after "book it for twelve", whatever else is said again
    return others == numbers(said) or (corrects(said[:_OPENING]) and bool(others) and bool(counted - numbers(said)))


def _taken_back(case: _Case) -> bool:
    at = next(place for place, item in enumerate(case.messages) if item.seq == case.message.seq)
    following = [item for item in case.messages[at + 1 : at + 4] if item.role is Role.USER]
    later = case.text[case.start : case.stop + 400]
    if voice.taken_back(plain(case.candidate.content)):
        return False
    if (
        voice.mocks(case.text[max(0, case.start - 40) : case.stop])
        or voice.taken_back(later)
        or any(voice.taken_back(plain(item.content)[:2_000]) for item in following[:1])
    ):
        return True
    playing = False
    for item in case.messages[: at + 1]:
        text = plain(item.content)[:_WINDOW]
        if item.role is Role.USER and voice.stops_playing(text):
            playing = False
        elif item.role in {Role.USER, Role.ASSISTANT} and voice.plays(text):
            playing = True
    return playing
