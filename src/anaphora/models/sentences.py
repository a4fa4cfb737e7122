"""Sentences of a text, and what each is worth remembering, judged without a model."""

from __future__ import annotations

import re

from nupunkt import load

#: a sentence longer than this is cut between words
MAX_SENTENCE_CHARS = 400

_WIDE_END = re.compile(r"(?<=[。！？｡।॥۔؟])(?![」』”’）)\]])")
_BULLET = re.compile(r"^(?:[-*•‣◦]|#{1,6}|>|\(?\d{1,3}[.)])\s+")

#: scripts that put no blanks between words
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}][^\W{_UNSPACED}]*(?:'[a-z]+)?")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")

#: weight of a cue and the words that give it, in lower case
_CUE_WORDS: tuple[tuple[float, str], ...] = (
    (
        2.0,
        (
            r"allerg\w+|intoleran\w+|diagnos\w+|diabet\w+|pregnan\w+|vegetarian|vegan|medication\w*|my name is|call me"
            r"|remember (?:that|to|my)|don't forget|important"
        ),
    ),
    (
        1.5,
        (
            r"always|never|prefer\w*|favou?rite\w*|hate[ds]?|can't stand|must|mustn't|no longer|not any ?more|actually"
            r"|instead|correction|changed|from now on|decided|agreed|promised?|deadline|due|appointment|birthday"
            r"|anniversary|budget|password|code"
        ),
    ),
    (1.0, r"(?:i|we)(?:'m|'ve|'ll|'d| (?:am|are|was|were|have|had|will|need|want|love|like|live|don't|can't))"),
    (1.0, r"(?:i|we) (?:work|start|move|bought|book|plan|got|use|went|met|join|quit|sold|learn)\w*"),
    (1.0, r"(?:my|our)(?: [\w'-]+){1,4} (?:is|are|was|were|will|has|have|starts?|lives?|works?)"),
    (
        0.7,
        (
            r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|april|june|july|august|september|october"
            r"|november|december|today|tonight|tomorrow|yesterday"
            r"|(?:next|last|every) (?:day|week|month|year|spring|summer|autumn|fall|winter)"
        ),
    ),
)
_CUES = tuple((weight, re.compile(rf"\b(?:{words})\b")) for weight, words in _CUE_WORDS)
#: a word inside a sentence; a name if it begins with a capital
_INNER_WORD = re.compile(r"(?<=[\w,;:] )[^\W\d_][\w-]+")
_DIGIT = re.compile(r"\d")
_DIGIT_WEIGHT = 0.7
_PROPER_NAME_WEIGHT = 0.5
_MOST_NAMES = 3
_MOST_CUES = 4.0

_CHATTER_WORDS = """
    a again ahead all alright am amazing and any anytime are as assist at awesome bye can certainly cool course day do
    doing else enjoy even evening feel fine for free fun glad go good goodbye got great haha happy have hear hello help
    helps hey hi hmm how i i'm if in is it it's job just know later let lol lot love lovely luck makes me more morning
    much need nice night no nope not noted of oh ok okay perfect please pleasure problem questions really right see
    sense should so sorry sounds sure take talk thank thanks that that's the there this to too understood very welcome
    well what what's will with wonderful works wow yeah yep yes you you're your anything
"""
_CHATTER = frozenset(_CHATTER_WORDS.split())
_QUESTION = re.compile(r"[?？؟]\W*$")
_REQUEST = re.compile(
    r"(?:(?:can|could|would|will) (?:you|we|i)|tell me|help me|show me|give me|explain|how (?:do|does|can|to)"
    r"|what(?:'s| is| are)|any (?:ideas|tips|advice)) "
)

_QUESTION_FACTOR = 0.35
_CHATTER_FACTOR = 0.05
_SHORT_FACTOR = 0.4
_NOISE_FACTOR = 0.4
_BASE = 0.3


def split_sentences(text: str) -> list[str]:
    """The sentences of a text in order, each on one line, none empty, none longer than `MAX_SENTENCE_CHARS`.

    A new line ends a sentence unless it goes on in lower case. Scripts without blanks are split at their own marks.
    """
    return [
        part
        for line in _lines(text)
        for sentence in load("default").tokenize(line)
        for piece in _WIDE_END.split(sentence)
        for part in _short_enough(_BULLET.sub("", " ".join(piece.split())))
    ]


def _lines(text: str) -> list[str]:
    lines: list[str] = []
    for raw in text.splitlines():
        line = raw.strip()
        if line[:1].islower() and lines and lines[-1]:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return lines


def excerpt(text: str, max_chars: int) -> tuple[str, ...]:
    """A text in at most `max_chars`: all of it, or its head (five eighths) and its tail, cut between words."""
    if len(text) <= max_chars:
        return (text,)
    head, tail = text[: max_chars * 5 // 8], text[len(text) - max_chars * 3 // 8 :]
    return head.rsplit(None, 1)[0] if head.strip() else head, tail.split(None, 1)[-1] if tail.strip() else tail


def content_words(text: str) -> frozenset[str]:
    """What a text speaks of: words of four letters or more, numbers, and pairs of characters where no blanks are."""
    found: set[str] = set()
    for token in _TOKEN.findall(text.casefold()):
        if _UNSPACED_RUN.match(token):
            found.update(token[at : at + 2] for at in range(max(1, len(token) - 1)))
        elif len(token) > 3 or not token.isascii() or any(char.isdigit() for char in token):
            found.add(token)
    return frozenset(found)


def worth(sentence: str) -> float:
    """How much a sentence looks like something to remember, from about 0 (thanks) to about 4 (an allergy).

    Cue words are English; numbers, names, length and questions are judged in any script.
    """
    plain = sentence.replace("\u2019", "'")
    low = plain.casefold()
    words = _TOKEN.findall(low)
    cues = sum(weight for weight, pattern in _CUES if pattern.search(low))
    cues += _DIGIT_WEIGHT if _DIGIT.search(plain) else 0.0
    names = sum(1 for word in _INNER_WORD.findall(plain) if word[0].isupper())
    value = _BASE + min(_MOST_CUES, cues + _PROPER_NAME_WEIGHT * min(_MOST_NAMES, names))
    if all(word in _CHATTER for word in words):
        return value * _CHATTER_FACTOR
    if _QUESTION.search(plain) or _REQUEST.match(low):
        value *= _QUESTION_FACTOR
    if len(words) < 3 and cues == 0 and not _UNSPACED_RUN.search(plain):
        value *= _SHORT_FACTOR
    if sum(map(len, words)) * 2 < len(plain.replace(" ", "")):
        value *= _NOISE_FACTOR
    return value


def _short_enough(sentence: str) -> list[str]:
    parts = []
    while len(sentence) > MAX_SENTENCE_CHARS:
        blank = sentence.rfind(" ", MAX_SENTENCE_CHARS // 2, MAX_SENTENCE_CHARS)
        cut = blank if blank > 0 else MAX_SENTENCE_CHARS
        parts.append(sentence[:cut])
        sentence = sentence[cut:].lstrip()
    return [*parts, sentence] if sentence else parts
