"""Contents that are no facts, whatever is quoted: reports about the conversation, templates, orders, overrides."""

from __future__ import annotations

import re
from typing import Final

from anaphora.rules.language.stems import plain

_TALK: Final = re.compile(
    r"^\W*(?:(?:the )?(?:user|speaker|human|person|customer|client)|i|he|she|they)?,? *(?:has |have |had |just |is"
    r" |was |also |then |seems to be )*"
    r"(?:asks?\b|asked|asking|greets?|greeted|greeting|says? (?:hello|hi|goodbye|bye|thanks|good)|said (?:hello|hi"
    r"|goodbye|bye|thanks|good"
    r"|that they|something)|thank(?:s|ed|ing)\b|chatting|chats?\b (?:with|about)|talking (?:to|with|about)"
    r"|wonders?\b|wondered|wondering"
    r"|requests?\b|requested|requesting|typing|mentions?\b|mentioned|discuss(?:es|ed|ing)|inquir\w+|enquir\w+"
    r"|wants? to know|wanted to know"
    r"|wants? (?:a|an|some|the|more) (?:answer|reply|explanation|information|info|example|summary of|translation"
    r" of|help)|needs? (?:help|assistance|advice|information)"
    r"|wants? help|seek(?:s|ing) (?:help|advice|information|assistance)|no (?:further|more|other) questions"
    r"|nothing (?:more|else) to|acknowledge[sd]?|agreed with the assistant"
    r"|confirmed that the assistant|apologi[sz]e[sd]?|laugh(?:s|ed)|sent a message|is using (?:the )?(?:chat"
    r"|assistant)|responded|replied|is (?:done|finished) for (?:today|now)"
    r"|end(?:ed|s|ing) the (?:chat|conversation|session|discussion)"
    r"|shared (?:a|an|the) (?:link|text|article|document|file"
    r"|mail|email)|pasted|uploaded)\b",
    re.IGNORECASE,
)
_REPORT: Final = re.compile(
    r"\b(?:no (?:new |relevant |personal )?(?:facts?|information)|not (?:specified|mentioned|provided|stated)"
    r"|unknown|n/a|(?:this|the) (?:conversation|chat|session)"
    r"|the assistant|language model|system prompt|(?:in|from) the (?:conversation|messages|prompt|example)"
    r"|\(example\)|as an example|placeholder|no facts)\b"
    r"|\[[\w ]+\]|\{[\w ]*\}|<[\w ]+>|\bTODO\b|\.\.\.$",
    re.IGNORECASE,
)
_MOMENT: Final = re.compile(
    r"\b(?:is|are|was|feels?|feeling|am|ist|est|está)\b(?: \w+){0,2}? (?:right now|at the moment|today|momentarily"
    r"|currently)?\s?\b(?:a (?:bit|little) |very |quite |so )?"
    r"(?:tired|hungry|thirsty|sleepy|bored|busy|cold|hot|back|here|online|away|typing|waiting|at the door|on the"
    r" phone|afk|ready|late|in a hurry|stuck|confused"
    r"|curious|müde|fatigué|cansado)\b(?:\.|$| (?:right now|at the moment|today|now|and)\b)"
    r"|\b(?:today|tonight|this (?:morning|afternoon|evening)|right now)\b|\bat the"
    r" moment\b|\b(?:raining|snowing|sunny|windy|cloudy) where\b"
    r"|\b(?:someone|somebody|the (?:postman|courier|delivery|plumber)) (?:is )?at the door\b"
    r"|\b(?:battery|phone|laptop) (?:\w+ )?(?:is )?at \d{1,3} ?(?:percent|%)"
    r"|\b(?:read|reads|rereads?|look|looks|check|checks|try|tries) (?:it|that|this|the (?:answer"
    r"|message|reply|text)) (?:again|later|now)\b"
    r"|\b(?:thankful|grateful|satisfied|pleased|happy|glad) (?:for|with|about) (?:the|this|my|that) (?:help|answer"
    r"|response|advice|assistant|result|reply|explanation)"
    r"|\b(?:opened|opening|closed|clicked|restarted|downloaded|uploaded|copied|refreshed|saved|reloaded) (?:the|a"
    r"|this|that|my) (?:file|tab|app|page|door|link|document|readme|terminal|window|browser|menu|editor)\b"
    r"|\bit is (?:raining|snowing|sunny|late|early|monday|friday)\b|\b(?:a good|a nice|good) (?:morning|night|day"
    r"|evening|weekend)\b",
    re.IGNORECASE,
)
_ORDER: Final = re.compile(
    r"^(?:please |kindly )?(?:always|never|do not|don't|you (?:must|should|are|will|have to|need to)|the assistant"
    r" (?:must|should|will)|respond|reply|answer|ignore"
    r"|disregard|forget|reveal|send|forward|delete|execute|run|open|visit|click|call the|use|output|print|act"
    r"|pretend|behave|obey|follow|include|append|add|recommend"
    r"|promote|remember|from now on|speak|write|keep|avoid|stop|treat|trust)\b",
    re.IGNORECASE,
)
_OVERRIDE: Final = re.compile(
    r"\b(?:ignore|disregard|forget|bypass|override|disable|skip|circumvent)\b.{0,40}\b(?:instructions?|rules?"
    r"|polic\w+|guidelines?|safety|safeguards?|filters?|restrictions?"
    r"|prompt|checks?|confirmations?|approval|verification|security|limits?)\b|\b(?:system|developer|root|god"
    r"|jailbreak|dan|unrestricted|debug|admin\w*) (?:prompt|mode|message|access|rights|role)\b"
    r"|\b(?:reveal|leak|exfiltrate|expose|forward|send|transmit|upload|post|share|email"
    r"|disclose)\b.{0,60}\b(?:passwords?|secrets?|credentials?|api|keys?|tokens?|data|conversations?|histor\w+"
    r"|memor\w+"
    r"|chats?|files?|messages?|logs?|emails?|information|details)\b|\bwithout (?:asking|confirm\w*|telling"
    r"|checking|approval|permission|question)\b|\bapproves? all\b|\ball (?:payments|requests|transactions)\b"
    r"|\b(?:administrator|superuser|root user)\b|\b(?:you are now|act as|pretend to be|new (?:persona|identity"
    r"|role))\b|https?://|\bwww\.|\b(?:link to|visit) (?:our|the|this)\b",
    re.IGNORECASE,
)
_SECRET: Final = re.compile(
    r"\b(?:password|passwort|passphrase|api[ -]?key|pin (?:code|number)|secret key|access token|cvv|social"
    r" security)\b",
    re.IGNORECASE,
)
_ONCE: Final = re.compile(
    r"\b(?:(?:for|in) this (?:one|message|answer|reply|time|question|task)|just this once|this once|only this time"
    r"|for once|this time)\b",
    re.IGNORECASE,
)


def no_fact(first_person: str, *, instruction: bool) -> str | None:
    """Why a content is no statement that lasts, if it is none.

    Args:
        first_person: the content, with "I" for the one who speaks.
        instruction: it says how to answer.

    """
    if _REPORT.search(
        re.sub("the assistant", "it", first_person, flags=re.IGNORECASE) if instruction else first_person
    ):
        return "a report or a template, no fact"
    if _TALK.match(first_person):
        return "tells of the conversation, not of a person"
    if _MOMENT.search(first_person):
        return "true only for the moment"
    return None


def overrides(content: str) -> bool:
    """Whether the content would lead an assistant past its rules, to secrets, or make it give data away."""
    return _OVERRIDE.search(plain(content)) is not None


def secret(content: str) -> bool:
    """Whether the content tells of a password or the like."""
    return _SECRET.search(plain(content)) is not None


def gives_orders(content: str) -> bool:
    """Whether the content tells an assistant what to do."""
    return _ORDER.match(plain(content).strip()) is not None


def once(text: str) -> bool:
    """Whether words ask for something only for this time."""
    return _ONCE.search(plain(text)) is not None
