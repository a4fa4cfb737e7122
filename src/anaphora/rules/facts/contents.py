"""Contents that are no facts, whatever is quoted: reports about the conversation, templates, orders, overrides."""

from __future__ import annotations

import re
from typing import Final

from anaphora.rules.facts.stems import plain

_TALK: Final = re.compile(
    r"^\W*(?:(?:the )?(?:user|speaker|human|person|customer|client)|i|he|she|they)?,? *(?:has |have |had |just |is |was |also |then |seems to be )*"
    r"(?:asks?\b|asked|asking|greets?|greeted|greeting|says? (?:hello|hi|goodbye|bye|thanks|good)|said (?:hello|hi|goodbye|bye|thanks|good"
    r"|that they|something)|thank(?:s|ed|ing)\b|chatting|chats?\b (?:with|about)|talking (?:to|with|about)|wonders?\b|wondered|wondering"
    r"|requests?\b|requested|requesting|typing|mentions?\b|mentioned|discuss(?:es|ed|ing)|inquir\w+|enquir\w+|wants? to know|wanted to know"
    r"|wants? (?:a|an|some|the|more) (?:answer|reply|explanation|information|info|example|summary of|translation of|help)|needs? (?:help|assistance|advice|information)"
    r"|wants? help|seek(?:s|ing) (?:help|advice|information|assistance)|no (?:further|more|other) questions|nothing (?:more|else) to|acknowledge[sd]?|agreed with the assistant"
    r"|confirmed that the assistant|apologi[sz]e[sd]?|laugh(?:s|ed)|sent a message|is using (?:the )?(?:chat|assistant)|responded|replied|is (?:done|finished) for (?:today|now)"
    r"|ended the|end(?:s|ing) the (?:chat|conversation)|shared (?:a|an|the) (?:link|text|article|document|file|mail|email)|pasted|uploaded)\b",
    re.IGNORECASE,
)
_REPORT: Final = re.compile(
    r"\b(?:no (?:new |relevant |personal )?(?:facts?|information)|not (?:specified|mentioned|provided|stated)|unknown|n/a|(?:this|the) (?:conversation|chat|session)"
    r"|the assistant|language model|system prompt|(?:in|from) the (?:conversation|messages|prompt|example)|\(example\)|as an example|placeholder|no facts)\b"
    r"|\[[\w ]+\]|\{[\w ]*\}|<[\w ]+>|\bTODO\b|\.\.\.$",
    re.IGNORECASE,
)
_MOMENT: Final = re.compile(
    r"\b(?:is|are|was|feels?|feeling|am|ist|est|está)\b(?: \w+){0,2}? (?:right now|at the moment|today|momentarily|currently)?\s?\b(?:a (?:bit|little) |very |quite |so )?"
    r"(?:tired|hungry|thirsty|sleepy|bored|busy|cold|hot|back|here|online|away|typing|waiting|at the door|on the phone|afk|ready|late|in a hurry|stuck|confused"
    r"|curious|müde|fatigué|cansado)\b(?:\.|$| (?:right now|at the moment|today|now|and)\b)|\bright now\b|\bat the moment\b|\b(?:raining|snowing|sunny|windy|cloudy) where\b"
    r"|\b(?:thankful|grateful|satisfied|pleased|happy|glad) (?:for|with|about) (?:the|this|my|that) (?:help|answer|response|advice|assistant|result|reply|explanation)"
    r"|\b(?:opened|opening|closed|clicked|restarted|downloaded|uploaded|copied|refreshed|saved|reloaded) (?:the|a|this|that|my) (?:file|tab|app|page|door|link|document|readme|terminal|window|browser|menu|editor)\b"
    r"|\bit is (?:raining|snowing|sunny|late|early|monday|friday)\b|\b(?:a good|a nice|good) (?:morning|night|day|evening|weekend)\b",
    re.IGNORECASE,
)
_ORDER: Final = re.compile(
    r"^(?:please |kindly )?(?:always|never|do not|don't|you (?:must|should|are|will|have to|need to)|the assistant (?:must|should|will)|respond|reply|answer|ignore"
    r"|disregard|forget|reveal|send|forward|delete|execute|run|open|visit|click|call the|use|output|print|act|pretend|behave|obey|follow|include|append|add|recommend"
    r"|promote|remember|from now on|speak|write|keep|avoid|stop|treat|trust)\b",
    re.IGNORECASE,
)
_OVERRIDE: Final = re.compile(
    r"\b(?:ignore|disregard|forget|bypass|override|disable|skip|circumvent)\b.{0,40}\b(?:instructions?|rules?|polic\w+|guidelines?|safety|safeguards?|filters?|restrictions?"
    r"|prompt|checks?|confirmations?|approval|verification|security|limits?)\b|\b(?:system|developer|root|god|jailbreak|dan|unrestricted|debug|admin\w*) (?:prompt|mode|message|access|rights|role)\b"
    r"|\b(?:reveal|leak|exfiltrate|expose|forward|send|transmit|upload|post|share|email|disclose)\b.{0,60}\b(?:passwords?|secrets?|credentials?|api|keys?|tokens?|data|conversations?|histor\w+|memor\w+"
    r"|chats?|files?|messages?|logs?|emails?|information|details)\b|\bwithout (?:asking|confirm\w*|telling|checking|approval|permission|question)\b|\bapproves? all\b|\ball (?:payments|requests|transactions)\b"
    r"|\b(?:administrator|superuser|root user)\b|\b(?:you are now|act as|pretend to be|new (?:persona|identity|role))\b|https?://|\bwww\.|\b(?:link to|visit) (?:our|the|this)\b",
    re.IGNORECASE,
)
_SECRET: Final = re.compile(
    r"\b(?:password|passwort|passphrase|api[ -]?key|pin (?:code|number)|secret key|access token|cvv|social security)\b",
    re.I,
)
_STANDING: Final = re.compile(
    r"\b(?:always|never|from now on|going forward|in (?:the )?future|every time|each time|whenever|don't|do not|stop|no more|please no|prefer|rather|keep|call me|address me|refer to me"
    r"|answers|replies|responses|explanations|messages|emojis?|by default|unless|until|with me|to me|for me|only|i (?:want|like|need)|instead|use|ab jetzt|immer|nie|toujours|jamais|siempre|nunca|bitte"
    r"|goes by|name is|weekly|daily|when i|if i|is fine|remind|skip)\b|以后|总是|不要|请|别",
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


def standing(text: str) -> bool:
    """Whether words ask for something from now on, not only once."""
    return _STANDING.search(plain(text)) is not None
