"""What of a message is not its sender's own statement: pasted, quoted, made up, taken back. Linear in the message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_DOCUMENT: Final = (
    r"article|e-?mail|mail|letter|log|logs|text|message|msg|post|tweet|review|paragraph|page|doc|document|file"
    r"|output|error"
    r"|trace|transcript|conversation|chat|story|poem|lyrics|song|quote|essay|abstract|excerpt|passage|snippet|code"
    r"|json"
    r"|prompt|template|example|draft|report|note from|notes from|listing|ad|description|bio|response|result"
    r"|results|data"
    r"|contents?|readme|section|recipe|comment|ticket|thread|job posting|posting|resume|cv|cover letter|sentence"
    r"|entry"
    r"|screenshot|newsletter|brochure|flyer|press release|website|wiki|summary|memo|dialogue|script|scene|chapter"
    r"|verse"
)
_TASK: Final = (
    r"translate|summari[sz]e|proof-?read|re-?write|rephrase|paraphrase|edit|correct|fix|polish|shorten|review"
    r"|analy[sz]e"
    r"|classify|extract|parse|explain|check|improve|format|convert|continue|complete|read|tag|label|annotate"
    r"|repeat|say"
    r"|transcribe|critique|grade|what does|copy|echo|print|übersetze|traduis|traduce|traduza|翻译"
)
_INTRO: Final = re.compile(
    rf"(?:\b(?:here(?:'s| is| are| comes)|this is|below is|these are|found|got|received|sent me|pasted?|pasting"
    rf"|forward(?:ed|ing)?"
    rf"|fwd|copied|from|see|reads?|says?|said|wrote|writes|goes|saw|attached|quote|consider|given"
    rf"|with)\b[^\n:]{{0,60}}?"
    rf"\b(?:{_DOCUMENT})\b[^\n:.!?]{{0,60}}|"
    rf"(?<!the )(?<!code )(?<!my )(?<!our )(?<!a )\b(?:{_TASK})\b[^\n:.!?]{{0,80}})(?::|：)(?=\s|\"|'|$)",
    re.IGNORECASE,
)
#: a request about a text, and after a blank line the text
_ASKED: Final = re.compile(
    r"(?=[^\n]*\b(?:this|these|the following|below|that|what does|attached|my (?:homework|grammar|essay"
    r"|translation))\b)[^\n]*\n\s*\n",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(
    r"\?|:|\b(?:rate|review|check|correct|fix|translate|summari[sz]e|explain|proofread|grade|means?|look|read"
    r"|analy[sz]e|rewrite|edit|polish|understand|reply|answer"
    r"|respond|improve|fill|compare|rank|score|shorten|tl;?dr|opinion|convert|extract|parse|print|got|found|see"
    r"|help)\b",
    re.IGNORECASE,
)
#: after what was pasted, the sender speaks again
_AGAIN: Final = re.compile(
    r"\n\s*\n(?=(?:fyi|btw|by the way|ps|p\.s\.|for context|context:|also|anyway|note that|thanks)\b)", re.IGNORECASE
)
_OWN_TEXT: Final = re.compile(
    r"\b(?:my own (?:bio|words|text|cv|resume|profile|diary|notes?)|(?:it'?s|this is|here(?:'s| is)) (?:my|about"
    r" me|all about me)(?: \w+)? (?:bio|profile|intro|cv|resume|about page"
    r"|introduction)|about myself|i wrote this about me)\b",
    re.IGNORECASE,
)
_SPEECH: Final = re.compile(
    r"\b(?:says?|said|told (?:me|us|him|her|them)|texted(?: me)?|wrote|writes|tells me|asked(?: me)?|goes|replied"
    r"|answered"
    r"|is like|was like|yelled|announced|claims?|claimed|posted)\s*[,:]\s*(?=[\"'A-Z])",
)
_FENCE: Final = re.compile(r"```|~~~")
_TAG: Final = re.compile(
    r"<(/?)([A-Za-z][\w|-]*)(?:\s[^<>\n]{0,200})?>|<\|[^|\n]{1,40}\|>"
    r"|\[/?(?:INST|SYS|pasted|quote|begin|start|copied|end)[^\]\n]{0,60}\]"
)
_LINE: Final = re.compile(r"[^\n]+")
_HEADER: Final = re.compile(
    r"(?:from|to|subject|date|sent|cc|bcc|reply-to|von|an|betreff|de|à|objet|asunto|para)\s?:\s", re.IGNORECASE
)
_TURN: Final = re.compile(
    r"(?:\[?\d{1,2}[:.]\d{2}[^\n]{0,12}\]?\s*[-–]?\s*)?(?:\*\*)?<?(?:[A-Z][\w .'-]{0,24}"
    r"|[\w.@-]{2,24})>?(?:\*\*)?\s?:\s+\S"
)
_ROLE: Final = re.compile(
    r"[\W_]*(?:system|assistant|user|human|ai|developer|tool|instruction|instructions|input|output|example"
    r"|examples|q|a|context"
    r"|note to (?:the )?(?:ai|assistant|model)|system (?:note|message|prompt)|begin|end)(?: \d+)?[\W_]*:(?!//)"
    r"|#{2,} ?\w+|-{3,}",
    re.IGNORECASE,
)
#: an example of one line, numbered
_RULE: Final = re.compile(r"[-=_*]{3,}")
_EXAMPLE: Final = re.compile(r"example \d+\s*:\s+\S", re.IGNORECASE)
_BLOCK: Final = re.compile(
    r"\s*[-*•]\s*\[\w[\w /-]{0,30}\]|\s*(?:known facts about|found in earlier messages|what was said earlier"
    r"|facts:|memories:"
    r"|memory:|remembered:)",
    re.IGNORECASE,
)
_DATA: Final = re.compile(
    r"\s*(?:[{\[]|\"[\w ]+\"\s*:|\|)|\s*\d{4}-\d\d-\d\d[T ]\d\d:|\s*(?:\[?(?:ERROR|INFO|WARN(?:ING)?|DEBUG)\b)"
)
_QUOTES: Final = re.compile(r"\"([^\"\n]{3,1000})\"|(?<![\w])'([^'\n]{1,400}(?:'\w[^'\n]{0,200}){0,20})'(?!\w)")
_FICTION: Final = re.compile(
    r"\b(?:in (?:my|the|this|our|a) (?:novel|story|book i'm writing|screenplay|game|campaign|dream|fanfic|script"
    r"|play|movie|role ?-?play"
    r"|rpg|scenario|simulation|lyrics|song|skit|sketch|poem)|(?:my|the|main|a) (?:character|protagonist|narrator"
    r"|hero|heroine|villain|oc"
    r"|avatar|persona|player)\b|role-?\s?play(?:ing)?|let'?s pretend|pretend (?:that|to|i|you|we|i'm)|imagine"
    r" (?:that|i|you|we|i'm|a)"
    r"|once upon a time|(?:write|draft|compose|create|generate|give|tell|make|invent) (?:me |us |up )?(?:an? "
    r"|another |some |the )?"
    r"(?:\w+[ -]){0,4}(?:story|poem|song|scene|dialogue|monologue|novel|script|haiku|limerick|joke|fairy tale"
    r"|persona|character|backstory"
    r"|lyrics|skit|sketch|rap|ballad|testimonial|fake \w+)|i dreamed|dreamt|had (?:a|the"
    r"|this) (?:\w+ )?dream|my superpower|in character|playing"
    r" (?:as )?an?\b|d&d|dnd"
    r"|my (?:elf|wizard|paladin|rogue|bard|barbarian|druid|sim|warlock|cleric)|\*[^*\n]{3,80}\*|act as|for the"
    r" sake of argument"
    r"|thought experiment|hypothetical(?:ly)?|let'?s (?:say|assume|suppose)|suppose\b|say,? for example|for"
    r" instance, say|as an example"
    r"|sample (?:text|sentence|data|user|profile)|test (?:sentence|data|user|profile|message|input)|lorem ipsum"
    r"|for example|e\.g\.)",
    re.IGNORECASE,
)
#: from here on it is meant again
_REAL: Final = re.compile(
    r"(?<=[.!?] )(?:woke up|then i woke|when i woke|what'?s (?:real|true)|in real(?:ity| life)|irl"
    r"|for real|the truth is|but seriously|seriously"
    r"|real talk"
    r"|anyway,? (?:i|my|we))\b",
    re.IGNORECASE,
)
_IN_LIFE: Final = re.compile(r"\b(?:in real life|irl|for real)\b", re.IGNORECASE)
_JOKE: Final = re.compile(
    r"\b(?:just (?:kidding|joking|messing|teasing)|i'?m (?:just )?(?:kidding|joking)|(?:was|were) (?:just |only"
    r" )?(?:kidding|joking)|jk|j/k"
    r"|april fools'?|kidding(?: aside)?!|not (?:really|seriously),? (?:lol|haha|though)|gotcha!|obviously not"
    r"|scratch that|strike that"
    r"|forget (?:that|what i (?:just )?said)|(?:i )?made that up|that was a (?:lie|joke|test)|sarcasm|never ?mind"
    r" that"
    r"|ignore (?:that|my last)|that'?s not (?:true|right|correct)|i (?:was|am) (?:lying|wrong)|wrong chat|wrong"
    r" window|i take that back|turned (?:it|them|that|him|her) down|i (?:declined|refused|said no))|/s\b",
    re.IGNORECASE,
)
_MOCKS: Final = re.compile(
    r"\b(?:oh (?:sure|great|joy|wonderful|yeah|yes|how)\b|yeah,? right\b|just LOVE\b|as if\b!?$)"
)
_AGENTS: Final = re.compile(
    r"\b(?:the user\b|(?:ai|assistant)s? (?:must|should|shall|will|reading|processing)|remember that the user"
    r"|(?:ignore|disregard|forget) "
    r"(?:all |any |the |your )*(?:previous|prior|above|earlier)|new instructions|system prompt|override)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A stretch of a message that is not the sender's own statement."""

    start: int
    stop: int
    #: "pasted", "quoted" or "fiction"
    why: str


def foreign(text: str) -> list[Foreign]:
    """Every such stretch of a text that is `plain`; they may overlap."""
    if _OWN_TEXT.search(text):
        return []
    found = [*_fences(text), *_tags(text), *_lines(text), *_quoted(text)]
    asked = _ASKED.match(text)
    if asked and _REQUEST.search(asked.group()):
        stop = len(text)
        if text[asked.end() : asked.end() + 1] == '"':
            stop = _reach(text, asked.end())
        fences = list(_FENCE.finditer(text))
        again = _AGAIN.search(text, asked.end() - 2)
        if again:
            stop = again.start()
        elif len(fences) > 1 and stop == len(text):
            stop = fences[-1].end()
        found.append(Foreign(asked.end(), stop, "pasted"))
    found.extend(Foreign(match.end(), _reach(text, match.end()), "pasted") for match in _INTRO.finditer(text))
    found.extend(Foreign(match.end(), _sentence_end(text, match.end()), "quoted") for match in _SPEECH.finditer(text))
    fiction = _FICTION.search(text)
    if fiction:
        found.extend(_fiction(text, _sentence_start(text, fiction.start()), _paragraph_end(text, fiction.end())))
    found.extend(
        Foreign(_sentence_start(text, match.start()), _closed(text, match.start(), match.end()), "pasted")
        for match in _AGENTS.finditer(text)
    )
    return found


def _fiction(text: str, start: int, stop: int) -> Iterator[Foreign]:
    """What is made up of a stretch: not the sentences about real life, and nothing after "but seriously"."""
    again = _REAL.search(text, start, stop)
    stop = _sentence_start(text, again.start()) if again else stop
    for real in _IN_LIFE.finditer(text, start, stop):
        yield Foreign(start, max(start, _sentence_start(text, real.start())), "fiction")
        start = _sentence_end(text, real.end())
    yield Foreign(start, stop, "fiction")


def taken_back(text: str) -> bool:
    """Whether the sender says that something just said was not meant."""
    return _JOKE.search(text) is not None


def mocks(text: str) -> bool:
    """Whether what the sender says is meant the other way round."""
    return _MOCKS.search(text) is not None


def plays(text: str) -> bool:
    """Whether a message opens a game in which nothing is meant."""
    return (
        re.search(
            r"\b(?:role-?\s?play|(?:do|play|start|continue|resume) (?:the|our|that|a) (?:\w+ ){0,3}(?:game|scene)\b"
            r"|(?:you are|you're|be) my (?:butler|servant|knight|queen|king|lord|squire|sidekick"
            r"|captain|wizard|boss|interviewer)"
            r"|you be (?:the|an?|my)\b|(?:you'?re|you are) (?:the|an?) [^.!?\n]{1,40}\b(?:and"
            r" )?i'?m (?:the|an?)\b|let'?s (?:pretend|play|practi[sc]e)|pretend (?:that|to be|you|i)|act as|you"
            r" are (?:now )?(?:an?|the) |imagine (?:that )?(?:i|you|we)\b"
            r"|(?:our|the|my) (?:campaign|adventure|quest)|dungeon|in character|let'?s (?:write|continue) (?:a|the"
            r"|our) (?:story|scene|novel))",
            text,
            re.IGNORECASE,
        )
        is not None
    )


def stops_playing(text: str) -> bool:
    """Whether a message ends such a game."""
    return (
        re.search(
            r"\b(?:out of character|ooc|back to reality|end (?:the )?(?:scene|role-?play)|stop (?:the"
            r" )?(?:role-?play|pretending)|for real|seriously|in real life|irl"
            r"|real question|in reality|stop here|enough (?:of that|role-?play))\b",
            text,
            re.IGNORECASE,
        )
        is not None
    )


def _fences(text: str) -> Iterator[Foreign]:
    places = [match.start() for match in _FENCE.finditer(text)]
    for at in range(0, len(places), 2):
        yield Foreign(places[at], places[at + 1] + 3 if at + 1 < len(places) else len(text), "pasted")


def _tags(text: str) -> Iterator[Foreign]:
    tags = list(_TAG.finditer(text))
    if tags:
        closed = [tag for tag in tags if tag.group(1)]
        yield Foreign(tags[0].start(), closed[-1].end() if closed else len(text), "pasted")


def _lines(text: str) -> Iterator[Foreign]:
    """Lines that look like mail, logs, transcripts, data, quotations and blocks of memory."""
    headers: list[re.Match[str]] = []
    turns: list[re.Match[str]] = []
    rules: list[re.Match[str]] = []
    for line in _LINE.finditer(text):
        content = line.group().lstrip(" \t>*#-")
        written = line.group()
        if written.lstrip().startswith(">") or _BLOCK.match(written) or _DATA.match(written):
            yield Foreign(line.start(), line.end(), "pasted")
        if _RULE.fullmatch(written.strip()):
            rules.append(line)
        elif _EXAMPLE.match(written.strip()):
            yield Foreign(line.start(), line.end(), "pasted")
        elif _ROLE.match(written.strip()):
            yield Foreign(line.start(), _closed(text, line.start(), line.end()), "pasted")
        if _HEADER.match(content):
            headers.append(line)
        elif _TURN.match(content) and len(content) < 2_000:
            turns.append(line)
    for at in range(0, len(rules), 2):
        end = rules[at + 1].end() if at + 1 < len(rules) else _paragraph_end(text, rules[at].end())
        yield Foreign(rules[at].start(), end, "pasted")
    if len(headers) > 1:
        yield Foreign(headers[0].start(), len(text), "pasted")
    if len(turns) > 1:
        yield Foreign(turns[0].start(), turns[-1].end(), "pasted")


def _quoted(text: str) -> Iterator[Foreign]:
    """Speech in quotation marks; a title of a few words is none."""
    for match in _QUOTES.finditer(text):
        inside = match.group(1) or match.group(2) or ""
        before = text[max(0, match.start() - 40) : match.start()].casefold()
        spoken = re.search(r"\b(?:i|i'm|my|you|you're|we|he|she|is|are|me)\b", inside.casefold())
        told = re.search(
            r"\b(?:said|says|say|told|wrote|texted|reads|goes|like|saying|quote|phrase|sentence)\W*$", before
        )
        if len(inside.split()) >= 3 and (spoken or told or len(inside.split()) > 8):
            yield Foreign(match.start(), match.end(), "quoted")


def _reach(text: str, start: int) -> int:
    """How far what was announced with a colon goes: a quotation, or else to the end."""
    opening = start + len(text[start : start + 3]) - len(text[start : start + 3].lstrip())
    mark = text[opening : opening + 1]
    if mark == '"':
        close = text.find('"', text.find('"', start) + 1)
        if close > 0:
            return close + 1
    if mark == "'":
        end = _CLOSED.search(text, opening + 1)
        return end.start() + 1 if end else len(text)
    if mark in {"{", "[", "<", ">"} and "\n" in text[start : opening + 1]:
        return _block_end(text, opening)
    return len(text)


#: a quotation mark that closes, and no apostrophe
_CLOSED: Final = re.compile(r"'(?=[\s.,!?;)]|$)")


def _closed(text: str, start: int, stop: int) -> int:
    """Where what begins there ends: with its line, if the line is closed like "<!-- ... -->", or with its paragraph."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", stop)
    line = text[first : last if last >= 0 else len(text)].strip()
    closed = any(line.startswith(one) and line.endswith(other) for one, other in ("<>", "{}", "[]"))
    return first + len(line) if closed and last >= 0 else _paragraph_end(text, stop)


def _block_end(text: str, at: int) -> int:
    """Where lines of data, tags or quoted mail end, and the sender speaks again."""
    for line in re.compile(r"[^\n]*\n?").finditer(text, at):
        content = line.group().strip()
        if content and not content.startswith(_OPENING) and not content.endswith(_ENDING):
            return line.start()
    return len(text)


_OPENING: Final = ("{", "[", "<", ">", "}", "]", '"')
_ENDING: Final = ("}", "]", ">", ",", "{", "[")


def _sentence_start(text: str, at: int) -> int:
    return max(text.rfind(mark, 0, at) for mark in (". ", "! ", "? ", "\n")) + 1


def _sentence_end(text: str, at: int) -> int:
    if text[at : at + 1] in {'"', "'"}:
        close = text.find(text[at], at + 1)
        at = close if close > 0 else at
    ends = [place for mark in (". ", "! ", "? ", "\n") if (place := text.find(mark, at)) >= 0]
    return min(ends, default=len(text))


def _paragraph_end(text: str, at: int) -> int:
    place = text.find("\n\n", at)
    return len(text) if place < 0 else place
