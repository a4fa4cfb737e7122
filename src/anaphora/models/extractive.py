"""A summary without a language model: the sentences that say most, chosen, never written."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import mul

import anyio.to_thread

from anaphora.domain.messages import Message, Role, tool_calls, tool_results
from anaphora.domain.summaries import Method, Point
from anaphora.errors import ModelError
from anaphora.models.sentences import content_words, excerpt, split_sentences, worth
from anaphora.ports.models import Embedder, SummaryDraft, SummaryRequest, TokenCounter
from anaphora.rules.text import one_line, truncate
from anaphora.rules.tokens import arguments_text

#: characters that are read of one message, and of one request
MAX_MESSAGE_CHARS = 4000
MAX_REQUEST_CHARS = 200_000
MIN_MESSAGE_CHARS = 200
#: sentences that compete for a place; only these are embedded
POOL = 64
MAX_NAME_CHARS = 40
#: stands for a message without any, where nothing else was said
NO_TEXT = "(no text)"

_ROLE_WEIGHT = {Role.USER: 1.0, Role.ASSISTANT: 0.5, Role.TOOL: 0.35, Role.SYSTEM: 0.35}
_THEME_WEIGHT = 0.4
_CENTRAL_WEIGHT = 0.4
#: value below which a sentence is not worth its tokens
_FLOOR = 0.06
#: a sentence of this many tokens is of usual length; longer ones need to be worth more
_USUAL_TOKENS = 12
_LENGTH_EXPONENT = 0.35


@dataclass(frozen=True, slots=True, eq=False)
class _Sentence:
    """A sentence that may be chosen."""

    #: the message (by seq) or the point (by place) that it stands in
    source: int
    #: its place among all
    order: int
    speaker: str
    text: str
    value: float
    words: frozenset[str] = field(repr=False)


class ExtractiveSummariser:
    """Summarises by choosing sentences: deterministic, offline, in any language (its cue words are English).

    Each statement is what one message says best, with its speaker, and cites exactly that message. What is said by
    users, in the first person, with names, numbers and dates, counts most; questions and thanks count least; what was
    said already counts little. At least one statement always, and all together within `max_tokens`. A message that
    has nothing worth its tokens is not cited. Old points are never rewritten: where they should become one, the
    draft says which of them to keep.

    Args:
        counter: what measures `max_tokens`.
        embedder: if given, closeness of meaning tells what is central and what repeats; without one, or when it fails
            with a `ModelError`, shared words do.
        method: what the drafts are labelled with.

    """

    def __init__(
        self, counter: TokenCounter, embedder: Embedder | None = None, method: Method = Method.EXTRACTIVE
    ) -> None:
        self._counter = counter
        self._embedder = embedder
        self._method = method

    async def summarise(self, request: SummaryRequest) -> SummaryDraft:
        """Statements about the new messages; the work is done in a thread."""
        return await anyio.to_thread.run_sync(self._draft, request)

    def _draft(self, request: SummaryRequest) -> SummaryDraft:
        limit = max(1, request.max_tokens)
        said = _said(request.messages)
        lines = _lines(self._choose(said, limit))
        if said and not lines:
            best = min(said, key=lambda sentence: (-sentence.value, sentence.order))
            lines = {seq: self._fitted(text, limit) for seq, text in _lines([best]).items()}
        return SummaryDraft(
            statements=tuple((text, ((seq, seq),)) for seq, text in lines.items()),
            merged=None,
            method=self._method,
            model=None,
            prompt_version=None,
            keep=self._keep(request) if request.merge else None,
        )

    def _keep(self, request: SummaryRequest) -> tuple[int, ...]:
        """Which points stay: of those that should become one, the best within its size; and all that are newer."""
        chosen = self._choose(_remembered(request.points[: request.merge]), request.merged_tokens)
        return (*(sentence.source for sentence in chosen), *range(request.merge, len(request.points)))

    def _fitted(self, text: str, limit: int) -> str:
        shown = truncate(text, limit, self._counter.count)
        while self._counter.count(shown) > limit and len(shown) > 1:
            shown = shown[: len(shown) // 2].rstrip() or "…"
        return shown

    def _choose(self, sentences: Sequence[_Sentence], limit: int) -> list[_Sentence]:
        """Maximal marginal relevance (Carbonell and Goldstein 1998) under a token limit, in the order of the log."""
        pool = sorted(sentences, key=lambda s: (-s.value, s.order))[:POOL]
        likeness = self._likeness(pool)
        worths = [s.value + extra for s, extra in zip(pool, likeness.central, strict=True)]
        lengths = [max(_USUAL_TOKENS, self._counter.count(s.text)) for s in pool]
        values = [w / (n / _USUAL_TOKENS) ** _LENGTH_EXPONENT for w, n in zip(worths, lengths, strict=True)]
        repeated = [0.0] * len(pool)
        open_ = set(range(len(pool)))
        chosen: list[_Sentence] = []
        while open_:
            now = {at: values[at] * (1 - repeated[at]) for at in open_}
            at = min(open_, key=lambda at: (-now[at], pool[at].order))
            if now[at] < _FLOOR and chosen:
                break
            open_.discard(at)
            if self._cost([*chosen, pool[at]]) > limit:
                continue
            chosen.append(pool[at])
            for other in open_:
                repeated[other] = max(repeated[other], likeness.between(at, other))
        return sorted(chosen, key=lambda s: s.order)

    def _cost(self, chosen: Iterable[_Sentence]) -> int:
        lines = _lines(sorted(chosen, key=lambda s: s.order))
        return sum(self._counter.count(line) for line in lines.values())

    def _likeness(self, pool: Sequence[_Sentence]) -> _Likeness:
        if self._embedder is None or not pool:
            return _Likeness(pool)
        try:
            embedded = self._embedder.embed([sentence.text for sentence in pool])
        except ModelError:
            return _Likeness(pool)
        vectors = [tuple(map(float, vector)) for vector in embedded]
        # of one topic is not yet a repetition: that begins halfway from there to identity
        return _Likeness(pool, vectors, (1 + self._embedder.profile.same_topic_threshold) / 2)


class _Likeness:
    """How near sentences are to each other and to all of them: by meaning if there are vectors, else by words."""

    def __init__(
        self, pool: Sequence[_Sentence], vectors: Sequence[Sequence[float]] = (), threshold: float = 0.0
    ) -> None:
        self._pool = pool
        self._vectors = vectors
        self._threshold = threshold
        self.central = self._central()

    def between(self, one: int, other: int) -> float:
        """0 for sentences about different things, 1 for the same."""
        if self._vectors:
            cosine = _dot(self._vectors[one], self._vectors[other])
            return min(1.0, max(0.0, (cosine - self._threshold) / (1 - self._threshold)))
        a, b = self._pool[one].words, self._pool[other].words
        return len(a & b) / math.sqrt(len(a) * len(b)) if a and b else 0.0

    def _central(self) -> list[float]:
        if not self._vectors:
            return [0.0] * len(self._pool)
        mean = [math.fsum(column) for column in zip(*self._vectors, strict=True)]
        nearness = [_dot(vector, mean) for vector in self._vectors]
        low, high = min(nearness), max(nearness)
        span = (high - low) or 1.0
        return [
            _CENTRAL_WEIGHT * (near - low) / span * sentence.value
            for near, sentence in zip(nearness, self._pool, strict=True)
        ]


def _said(messages: Sequence[Message]) -> list[_Sentence]:
    """The sentences of the messages; each message has at least one."""
    chars = min(MAX_MESSAGE_CHARS, max(MIN_MESSAGE_CHARS, MAX_REQUEST_CHARS // max(1, len(messages))))
    found: list[tuple[int, str, str, float]] = []
    for message in messages:
        pieces = excerpt(_content(message), chars)
        texts = [text for piece in pieces for text in split_sentences(piece)]
        weight = _ROLE_WEIGHT[message.role] if texts else 0.0
        found.extend((message.seq, _speaker(message), text, weight) for text in texts or [NO_TEXT])
    return _weighed(found)


def _remembered(points: Sequence[Point]) -> list[_Sentence]:
    """Older points, each as one whole: it was chosen once, and what it cites is known."""
    weak = f"{Role.ASSISTANT.value.capitalize()}: "
    return _weighed(
        [
            (at, "", point.text, _ROLE_WEIGHT[Role.ASSISTANT if point.text.startswith(weak) else Role.USER])
            for at, point in enumerate(points)
        ]
    )


def _weighed(found: Sequence[tuple[int, str, str, float]]) -> list[_Sentence]:
    """Sentences with their values: what each is worth by itself, and how much it shares the theme of all."""
    words = [content_words(text) for _, _, text, _ in found]
    themes = Counter(word for some in words for word in some)
    loudest = math.log1p(max(themes.values(), default=1))
    sentences = []
    for order, ((source, speaker, text, weight), some) in enumerate(zip(found, words, strict=True)):
        theme = math.fsum(math.log(themes[word]) for word in some) / (len(some) or 1) / loudest
        value = weight * worth(text) * (1 + _THEME_WEIGHT * theme)
        sentences.append(_Sentence(source, order, speaker, text, value, some))
    return sentences


def _lines(chosen: Iterable[_Sentence]) -> dict[int, str]:
    """What was chosen of each source on one line, in order; a speaker is named where it changes."""
    lines: dict[int, str] = {}
    speakers: dict[int, str] = {}
    for sentence in chosen:
        before = lines.get(sentence.source, "")
        same = speakers.get(sentence.source) == sentence.speaker
        named = sentence.text if same or not sentence.speaker else f"{sentence.speaker}: {sentence.text}"
        lines[sentence.source] = f"{before} {named}".strip()
        speakers[sentence.source] = sentence.speaker
    return lines


def _content(message: Message) -> str:
    """What a message says; for one without text, what it calls or what came back."""
    if message.content.strip():
        return message.content
    calls = [f"called {call.get('name')} {arguments_text(call)}" for call in tool_calls(message.parts)]
    results = [str(result.get("content", "")) for result in tool_results(message.parts)]
    return "\n".join(calls + results)


def _speaker(message: Message) -> str:
    name = one_line(message.name or "")[:MAX_NAME_CHARS].strip()
    return name or message.role.value.capitalize()


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(map(mul, a, b))
