"""Words that turn a statement: denied, over, wished, uncertain, planned, supposed.

English has the most; of other languages the small words that deny, wish and doubt.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final


class Mood(IntEnum):
    """How far a statement is meant as a fact, from "it is so" to "is it so?"."""

    FACT = 0
    #: it is going to be
    PLAN = 1
    #: it is wanted
    WISH = 2
    #: it may be
    MAYBE = 3
    #: it would be, or is only almost
    CONDITION = 4
    QUESTION = 5
    #: it was wished for or nearly so: it is not
    UNREAL = 6


def _any(*patterns: str) -> str:
    return "|".join(patterns)


_D: Final = r"\w{1,6}'d"
_NT: Final = r"(?:\w{2,6}n't|cannot|not|never|\w{2,4}nt)"
_NEXT: Final = (
    r"next (?:week|weekend|month|year|spring|summer|autumn|fall|winter|term|semester|monday|tuesday|wednesday"
    r"|thursday"
    r"|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december)"
)

#: first the sayings that look like a "no" or a wish and are none
_AS_IT_IS: Final = _any(
    r"not an? (?:day|week|morning|night|weekend|month) (?:goes|passes)(?: by)? without|not that (?:i|we)"
    r" (?:don't|do not)|\w{2,6}n't just|not only|not just|no doubt|no problem|no worries|never mind|nevermind"
    r"|(?:nearly|almost) (?:all|every\w*|always|only|never|exclusively)|nobody \w+ like|no one \w+ like|nothing beats"
    r"|nothing like|why not|not bad",
    rf"{_NT} (?:wait\b|get enough|help\b|go wrong|live without|do without|function without|believe|beat|mind"
    rf"|skip(?:s|ped|ping)?|fail(?:s|ed)? to|forgot(?:ten)? to)",
    rf"{_NT} start (?:my|the|a) (?:day|morning) without|{_NT} (?:\w+ ){{0,5}}without|{_NT} (?:be )?(?:happier|better"
    rf"|prouder"
    rf"|more)",
    r"(?:no|not) (?:more|less|fewer|later|earlier) than",
    r"never (?:\w+ ){1,3}(?:so|such)(?: an?\b| much\b| many\b)?",
    r"(?:never|won't|wouldn't|can't|cannot|rarely|seldom|hardly ever) (?:miss(?:es|ed|ing)?|skip)"
    r"|not to mention|no matter|don't get me wrong|no kidding|no joke",
    r"(?:\w{1,6}'m|am|is|are|\w{2,6}'re|was|get|got|getting|be) (?:so |pretty |quite |very )?used to",
    rf"{_NT} (?:eat|drink|have|watch|get|go|use|read|travel|sleep|smoke|cook) (?:much|many|often|a lot|all|every)",
    rf"{_D}(?= [^,.;!?\n]{{1,60}}\b(?:any ?day|any ?time)\b)|(?:would|{_D}) (?:much|far|always|so much) rather"
    r"|a big if|no if",
    rf"would rather|{_D} rather|{_D} say|would say|{_D} never|would never|would prefer|{_D} prefer|would"
    rf" recommend",
    rf"{_D} appreciate|{_D} be (?:great|grateful|nice) if you|would be (?:great|grateful|nice) if you|{_D}"
    rf" describe",
    r"if you (?:must|want|need|can|could|don't mind|would|ask)|as if|even if|if (?:that|it) (?:helps|matters)",
    r"(?:want|like|need|love) you to|wants? to (?:know|ask|say|tell|mention|add|let you know|thank)",
    r"wanted to (?:say|tell|mention|ask|let you)|i think|want(?:ed)? (?:your|some) (?:help|advice)",
    r"hope (?:you|that helps|this helps|all)|stopped by|guess what|if i'm honest|wish me luck|i must say",
    r"(?:don't|do not|can't|never) forget|no idea|don't know (?:why|how|what|if)|hope so|no thanks|not gonna lie",
    r"not sure if i(?:'ve)? (?:told|mentioned|said)|if i (?:haven't|didn't) (?:say|said|tell|told|mention"
    r"|mentioned)",
    r"may i|might i|no,? but|don't think i(?:'ve)? (?:told|mentioned|said)|have i (?:told|mentioned)|did i"
    r" (?:tell|mention)",
    r"not (?:really )?sure (?:what|how|where|when|why|which)|no one but|nobody but|no rush|no offen[cs]e|don't"
    r" worry",
    r"(?:couldn't|can't) care less|if (?:at all )?possible|if i remember|if i recall|what if not|no way",
)
_OVER: Final = _any(
    r"(?:scratch|forget|ignore|disregard) what i (?:said|told you) about|not true that",
    rf"no longer|{_NT} [^,.;!?]{{0,40}}\bany ?more|{_NT} [^,.;!?]{{0,40}}\bany longer|used to|stopped|quit"
    rf"|gave up|given up|(?:gone|going) (?:\w+ )?off(?! to)",
    r"(?:stopping|quitting|ditched|ditching|cut out|cutting out|swore off|sworn off|came off|went off"
    r"|dropping|done with)(?= (?:\w+ ){0,2}\w+)",
    r"giving up|got rid of|grew out of|former|formerly|previously|back when|ex-(?!husband|wife|partner|boyfriend"
    r"|girlfriend|fianc)\w+|outgrew|until recently"
    r"|until last \w+",
    r"nicht mehr|früher|ehemal\w+|ya no|antes|solía|ne [^,.;!?]{1,30} plus|n'[^,.;!?]{1,30} plus|autrefois|já"
    r" não",
    r"non [^,.;!?]{1,20} più",
)
#: what came to an end with them is over, and that it did is a fact
_GONE: Final = _any(
    r"moved (?:\w+ ){0,3}out of|moved away from|sold|broke up|split up|dumped|left (?:him|her|me|us|them)"
    r"|passed away|died",
    r"resigned|retired from|dropped out|laid off|got fired|was fired|cancell?ed",
    r"left (?:my|the|that|his|her|their) (?:job|company|firm|position|role|team)",
    r"(?<=\bi )(?:(?:really|still|do|so) )?miss(?! (?:the|my) (?:bus|train|flight|deadline|point|call))",
)
_NO: Final = _any(
    r"not|no|never|none|nobody|nothing|neither|nor|cannot|cant|dont|doesnt|didnt|isnt|wasnt|wont|arent|havent"
    r"|hasnt",
    r"aint|hardly|barely|rarely|seldom|\w{2,6}n't|hates?|hated|hating|dislikes?|disliked|detests?|loathes?"
    r"|despises?",
    r"out of(?= (?:work|a job|money|stock)\b)|unable|incapable|zero(?= [a-z])|(?:decid|vot|advis"
    r"|opt)\w* against|chose against|rul(?:ed|es|ing) out"
    r"|abstain\w*|refrain\w*|steers? clear of|stays? away from|keeps? away from|far from(?= \w+ing\b)",
    r"avoids?|avoiding|avoided|sick of|tired of|fed up with|anything but|overrated|disgusting|lacks?|refuses?"
    r"|refused",
    r"(?:leave|leaving|left) (?:out|off)|hold the|stop(?= \w+ing)|fail(?:s|ed)? to|skips?|skipping|turned down",
    r"nicht|kein|keine|keinen|keiner|keinem|keinerlei|nie|niemals|nunca|jamás|tampoco|não|nem|ne|n'\w+|jamais"
    r"|aucune?",
    r"non|nessun\w*|mai|niet|geen|nooit|ikke|aldrig|inte|не|нет|никогда|değil|yok|hass(?:e|t)|odi(?:o|a|as|amos|an)"
    r"|odei(?:o|a)|d[eé]test(?:o|a|am|an|e|ent)",
)
_FLIP: Final = _any(
    r"rather than|instead of|without|except(?: for)?|excluding|as opposed to|statt|anstatt|ohne|sin|sans|sem"
    r"|senza",
    r"without me|w/o",
)
_LEAVING: Final = _any(
    r"(?:took over|taken over|inherited|moved|relocated|migrated|migrating|transitioned|switched|changed"
    r"|moving|transferred) (?:\w+ )?(?:from|out of)",
)
_VERSUS: Final = r"(?:over|than|to|compared to|als|que)(?! (?:all|any|every|other|the other|everything|anything))"
_MAYBE: Final = _any(
    r"doubt|doubts|probably|presumably|unlikely|doubtful|might|maybe|perhaps|possibly|could be"
    r"|(?:thinking|thought|talked|talking|joked"
    r"|dreamt|fantasi[sz]ed) (?:of|about)|(?:test|check|screen)(?:ed|s|ing)? (?:\w+ ){0,2}for|considers?"
    r"|considering|not sure|unsure|wondering",
    r"tempted|toying with|undecided|on the fence|debating|looking into|apparently|supposedly|allegedly"
    r"|rumou?r\w*",
    r"may (?=be|have|go|move|take|start|try|buy|get|need|switch|become|leave|join)|suspects?|i guess|not certain",
    r"could (?=move|become|be|try|go)|vielleicht|möglicherweise|eventuell|peut-être|quizás?|tal vez|talvez|forse",
)
_WISH: Final = _any(
    rf"wish|wishes|wished|wants?|wanted|wanna|(?:would|{_D}) (?:really |absolutely |so )?(?:love|like|kill)"
    rf"|hopes?|hoping",
    r"hoped|dreams?(?= (?:of|about|is|was|job|house|home|car|trip|to))|dreaming|dreamed|someday|some day|one"
    r" day|if only",
    r"remind (?:me|us) to|(?:was|were|am|are|is) (?:supposed|meant) to|fingers crossed|knock on wood"
    r"|here's hoping|hopefully",
    r"(?:dying|itching|longing|yearning|aching|eager|keen|desperate) to",
    r"aspires?|aspiring|bucket list|would be (?:nice|great|cool|fun|amazing)",
    r"(?:goal|target|aim)s? (?:is|are|of|was|would be)|aim(?:s|ing)? (?:for|at)",
    r"tried \w+ing|browsing|should|ought to|möchte|würde gern\w*"
    r"|hoffe|wünsch\w*|voudrais",
    r"aimerais|veux|j'espère|quisiera|quiero|me gustaría|ojalá|espero|queria|quero|gostaria|vorrei|voglio|spero",
)
#: what is done is a fact; what it is done for is not so yet
_ATTEMPT: Final = (
    r"(?:saving(?: up)?|shopping|looking) for|(?:try|tries|trying|tried|looking) to|looking at"
    r"|appl(?:ied|y|ying|ies) (?:for|to|at|with)|interview(?:ed|ing)? (?:at|with|for)"
)
_PLAN: Final = _any(
    rf"will|\w+'ll|going to (?=[a-z]+)|gonna|plans?|planned|planning|intends?|intending|about to|{_NEXT}"
    rf"|tomorrow|soon",
    r"getting married|expecting|having a baby",
    r"(?:start|starts|starting|begin|begins|beginning) (?:[\w']+ ){0,5}?(?:on|in|next|this|tomorrow) ",
    r"(?:\w{1,6}'m|am|is|are|\w{2,6}'re) (?:moving|starting|joining|leaving|flying|relocating|switching"
    r"|retiring)",
)
_CONDITION: Final = _any(
    r"(?:it's |its |it is |that's )?(?:not|isn't|wasn't) (?:like|as if|as though|because|that|true that|to say)"
    r"(?= (?:i|my|we|he|she"
    r"|they)\b(?! (?:don't|do not|can't)))",
    r"(?:don't|do not|doesn't) (?:think|mean|say|believe)(?: that)?(?= (?:i|my|we)\b)",
    r"if|unless|suppose|supposing|imagine|pretend|assuming|hypothetically|let's say|lets say|say i|in case"
    r"|were i",
    r"feels? (?:about|like)(?= \d)|feels? like(?= (?:i|i'm|im|we|we're)\b)|(?:looks?|seems?"
    r"|sounds?) (?:like|as if)(?= (?:i|i'm|we)\b)"
    r"|would have|not quite|basically|practically|virtually|might as well|what if|as though|in theory|had i"
    r"|wenn ich|falls|würde|hätte|wäre|si yo|si tuviera",
    r"si fuera|si j'\w+|si je|se eu|se io|serait|sería|imagina|stell dir",
)
#: what was so in an earlier part of a life may be over
YOUTH: Final = re.compile(
    r"\b(?:as an? (?:\w+ )?(?:boy|girl|child|kid|teen|teenager|toddler|youngster|student)"
    r"|when (?:i|he|she|we|they) (?:was|were) (?:a |an )?(?:little|young|younger|small|kids?|child"
    r"|children|boy|girl|\d+)"
    r"|in (?:my|his|her|our) (?:youth|childhood|teens|twenties|thirties|younger days)|growing up|back in the day)\b"
)
_UNREAL: Final = r"wish (?:i|we) (?:had|was|were|could|knew|lived|spoke|still|didn't)|almost|nearly|if only"
_WOULD: Final = rf"would|{_D}|might have|wouldn't"
_UNSPACED: Final = (
    ("as_it_is_too", r"不错|不过|差不多|不好意思|没关系|没问题|不仅|不但|不用"),
    ("over_too", r"以前|曾经|不再|もう\w{0,6}ない"),
    ("maybe_too", r"可能|也许|或许|考虑"),
    ("wish_too", r"想要|想去|想当|希望|梦想"),
    ("plan_too", r"打算|计划|将要"),
    ("condition_too", r"如果|要是|假如|假设"),
    ("no_too", r"不|没|沒|无|無|未|讨厌"),
)

#: where a word or a saying begins, what it does to the words after it; the name of the group says what
MARKERS: Final = re.compile(
    "|".join(
        [
            rf"(?P<{name}>(?<![\w'-])(?:{pattern})(?!\w))"
            for name, pattern in (
                ("as_it_is", _AS_IT_IS),
                ("over", _OVER),
                ("gone", _GONE),
                ("unreal", _UNREAL),
                ("maybe", _MAYBE),
                ("attempt", _ATTEMPT),
                ("wish", _WISH),
                ("plan", _PLAN),
                ("condition", _CONDITION),
                ("leaving", _LEAVING),
                ("flip", _FLIP),
                ("versus", _VERSUS),
                ("no", _NO),
                ("would", _WOULD),
            )
        ]
        + [rf"(?P<{name}>{pattern})" for name, pattern in _UNSPACED]
    )
)

#: where it stands in a sentence does not matter: all of it is only wished for
SOMEDAY: Final = re.compile(
    r"\b(?:bucket list|someday|some day|one of these days|(?:flat|house|apartment|job|home)[ -]?hunting|if i could"
    r"|would be (?:nice|great|cool|fun)|my dream)\b"
)
#: where it stands in a sentence does not matter either: it is still to come
COMING: Final = re.compile(r"\b(?:due (?:in|on|next|any)|pregnant with)\b")
#: the same, if a time to come is said after what is being done
UNDERWAY: Final = re.compile(
    r"\b(?:i'm|we're|he's|she's|they're|am|are|is) \w+ing\b[^.!?;,\n]{0,60}?\b(?:next (?:week|month"
    r"|year|spring|summer|autumn"
    r"|fall|winter|\w+day)|tomorrow|soon|in (?:two|three|four|a few|\d{1,2}) (?:days|weeks|months|years))\b"
)
#: what stands in such a sentence is over
ENDED: Final = re.compile(r"\b(?:never again|those days are (?:over|gone|behind))\b")
#: what stands with them in a clause, before or after, did not come to be
FAILED: Final = re.compile(
    r"\b(?:turned (?:me|us|him|her|it|them) down|rejected (?:me|us)|fell through|didn't work out"
    r"|(?:isn't|not) for me)\b"
)
_STATE: Final = re.compile(
    r"\b(?:was|were)\b(?! (?:just |recently |also |first |finally |then |only |originally |once )*"
    r"(?:born|\w+ed|\w+ing|told|given|made|able|taught|brought|sent|taken|chosen|hit|hurt|so |really ))"
    r"|\b(?:worked|lived|studied|resided|owned|smoked|dated)\b"
    r"|(?<!just )(?<!finally )(?<!recently )\bhad (?!to\b|been|my |our |me |dinner|lunch|breakfast|coffee|surgery"
    r"|an? (?:great|good|bad|long|baby|call"
    r"|fight))"
)
_BOUND: Final = re.compile(
    r"\b(?:was|were) (?:once )?(?:engaged|married|employed|enrolled|based|registered|contracted)\b"
)
_STILL: Final = re.compile(r"\b(?:still|since|now|ever since|always|have|has|\w+'ve|for the (?:last|past))\b")

#: what happened once is not over
_EVENT: Final = re.compile(
    r"\bborn\b|\b(?:was|were) (?:(?:this|last) (?:week|month|year|\w*day|morning|night|weekend|spring|summer|autumn"
    r"|fall|winter)\b(?!')|yesterday|today|on (?:the \d|\w+day))\b|\bit (?:was|were)\b.*\bwho\b"
)


#: what stands with them in a clause was so at an earlier time
BEFORE: Final = re.compile(
    r"\b(?:before (?:that|then)|back then|at the time|in those days|at first|initially|to begin with"
    r"|in the beginning)\b"
    r"|\b\w+(?:ed|nt|ew|ove|ote|ook|as|ad) [^.!?;]{0,40}\buntil (?:last|recently|(?:19|20)\d\d|i|we|he|she|they|then)\b"
)


def past_state(clause: str) -> bool:
    """Whether a clause (in lower case) tells of a state in the past, like "I worked at" or "I had a dog"."""
    return (
        (_STATE.search(clause) or _BOUND.search(clause)) is not None
        and _STILL.search(clause) is None
        and _EVENT.search(clause) is None
    )
