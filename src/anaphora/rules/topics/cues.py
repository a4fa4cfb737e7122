"""What the wording of a message tells about where it belongs. Cues are English and German alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from anaphora.domain.topics import Traits
from anaphora.rules.language.stems import pieces, plain, split, stem, words
from anaphora.rules.language.words import STOP

#: characters at both ends of a message in which cues are looked for: what stands between tells of its matter alone
_REACH: Final = 300
#: characters of a message whose words are counted
_READ: Final = 4_000
#: telling words of one message
_MAX_WORDS: Final = 64

#: they are in every conversation, whatever it is about
_SMALL_TALK: Final = frozenset(
    split(
        "thanks thank great good nice cool awesome lovely wow lol haha hi hello hey bye goodbye welcome sure right "
        "really actually maybe well get got getting go goes going gonna want wants wanted need needs know think "
        "thought like likes love loves lot lots thing things something anything everything way much many make makes "
        "made take see say said tell told let look looking one two time today day sorry hope glad please would could "
        "also too ever never always true sounds sound guess mean bit kind sort ask help "
        # German
        "der die das den dem des ein eine einen einem einer eines und oder aber ich du er sie es wir ihr mich dich "
        "mir dir uns euch mein meine meinen dein deine deinen sein seine ihre ihren ist sind war waren bin bist habe "
        "hast hat haben hatte wird werden wurde kann kannst können könnte muss soll will möchte nicht kein keine "
        "keinen ja nein doch auch noch schon nur sehr mal so wie was wer wo wann warum wenn dann da dass als für mit "
        "von vom zu zum zur im in an am auf aus bei nach um über unter vor durch bitte danke gut gerne super toll "
        "prima hallo guten morgen tag abend tschüss okay etwas alles hier dort jetzt heute man sich"
    )
)
_SILENT: Final = STOP | _SMALL_TALK


def _phrases(*lists: str) -> str:
    """One pattern of phrases that are separated by bars."""
    return "|".join(phrase for listed in lists for phrase in listed.split("|"))


def _anywhere(*lists: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_phrases(*lists)})\b", re.IGNORECASE)


def _at_start(*lists: str) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{_phrases(*lists)})\b", re.IGNORECASE)


_QUESTION_MARK: Final = re.compile(r"[?？]\W*\Z")
_ASKING: Final = _at_start(
    "what|what's|who|who's|where|where's|when|when's|why|which|whose|how|how's|do|does|did|is|are|can|could|will|would",
    "was|wer|wo|wann|warum|wieso|weshalb|welche[rsnm]?|wie|wohin|woher|gibt es|kannst|könntest|können|hast|bist|ist",
)
_ABOUT_YOU: Final = _anywhere(
    "do you|are you|have you|did you|would you|what about you|how about you|and you|your",
    "hast du|bist du|magst du|kennst du|machst du|haben sie|sind sie|mögen sie|und du|und sie|dein(?:e[nrs]?)?",
)
_REQUESTS: Final = _anywhere(
    "i need|i want|i'd like|i would like|i'm looking for|i am looking for|looking for|can you|could you|can i get"
    "|please|help me|give me|show me|tell me|find me|find a|find the",
    "ich brauche|ich möchte|ich will|ich hätte gern|ich suche|kannst du|könntest du|können sie|könnten sie|bitte"
    "|hilf mir|gib mir|zeig mir|sag mir",
)
_REPLIES: Final = _at_start(
    "yes|yeah|yep|yup|no|nope|nah|ok|okay|sure|right|true|exactly|indeed|of course|maybe|oh|ah|aw|wow|haha|lol|cool"
    "|nice|great|awesome|good|neat|sorry|i see|i agree|me too|me neither|same|not|that|that's|it|it's|they|those"
    "|these|he|she|and|but|so|because|why|then|either|both|sounds?",
    "ja|nein|nee|doch|klar|genau|stimmt|natürlich|vielleicht|ach|oh|aha|gut|toll|schön|das|es|die|der|er|sie|und"
    "|aber|weil|warum|dann|ich auch|klingt",
)
_POINTS_BACK: Final = _anywhere(
    "it|its|it's|that|that's|they|them|their|those|these|this|he|she|him|her|his|there|one|ones|both|either|same",
    "es|das|dies(?:e[rsnm]?)?|jene[rsnm]?|ihn|ihm|ihnen|dort|davon|dafür|damit|darüber|daran|dabei|beide[ns]?",
)
_CLOSES: Final = _anywhere(
    "thanks|thank you|bye|goodbye|good night|that's all|that is all|that will be all|that'll be all|all i need(?:ed)?"
    "|have a (?:good|great|nice)|see you|take care|talk to you later|you're welcome|you are welcome|no problem"
    "|my pleasure",
    "danke|dankeschön|vielen dank|tschüss|auf wiedersehen|bis bald|bis dann|das war alles|das ist alles|gern geschehen"
    "|schönen tag|gute nacht",
)
_OFFERS: Final = _anywhere(
    "anything else|something else|anything more|help you with anything|help with anything|further assistance"
    "|any other questions?|anything i can|what else|assist you|help you further",
    "sonst noch|noch etwas|noch fragen|weitere fragen|weiterhelfen|sonst etwas",
)
_TURNS: Final = _anywhere(
    "by the way|btw|anyway|anyways|another question|different question|new topic|chang(?:e|ing) the subject"
    "|on another note|on a different note|something else|one more thing|unrelated|moving on|next question|i also need"
    "|i also want|other than that|besides that|speaking of",
    "übrigens|jedenfalls|andere frage|anderes thema|themenwechsel|themawechsel|noch eine frage|noch was|was anderes"
    "|etwas anderes|nächste frage|apropos|außerdem brauche ich|nebenbei",
)
_ABOUT_ME: Final = _at_start("i|i'm|i've|i'd|i'll|im|my|we|our", "ich|mein|meine|meinen|wir|unser|unsere")
_GOES_BACK: Final = _anywhere(
    "back to|return(?:ing)? to|earlier|from before|as before|(?:talked|spoke|asked) about before|where were we"
    "|picking up",
    "zurück zu[mr]?|zurückkommen auf|noch ?mal zu[mr]?|wieder zu[mr]?|vorhin|wo waren wir",
)


def traits(text: str) -> Traits:
    """What the wording tells. No more than 4,000 characters are read, cues at both ends only."""
    shown = plain(text[:_READ])
    start = shown[:_REACH]
    ends = start if len(text) <= _REACH else f"{start}\n{plain(text[-_REACH:])}"
    asks = _QUESTION_MARK.search(ends) is not None or (len(text) <= _REACH and _ASKING.match(start) is not None)
    return Traits(
        words=telling(shown),
        length=len(words(shown)) + len(pieces(shown)),
        asks=asks,
        about_you=asks and _ABOUT_YOU.search(ends) is not None,
        requests=_REQUESTS.search(ends) is not None,
        replies=_REPLIES.match(start) is not None,
        points_back=_POINTS_BACK.search(start) is not None,
        closes=_CLOSES.search(ends) is not None,
        offers=_OFFERS.search(ends) is not None,
        turns=_TURNS.search(start) is not None,
        about_me=_ABOUT_ME.match(start) is not None,
    )


def telling(text: str) -> frozenset[str]:
    """The stems of the words that say what a text is about, at most 64; of scripts without blanks two letters each."""
    return frozenset(islice(dict.fromkeys(_telling(text)), _MAX_WORDS))


def telling_words(text: str) -> Iterator[tuple[str, str]]:
    """The words that say what a text is about, in order: the stem of each, and how it is written."""
    for word in words(text):
        folded = word.casefold()
        if folded not in _SILENT and len(word) > 1:
            yield stem(folded), word


def goes_back(text: str) -> bool:
    """Whether it says that it goes back to something: "going back to ...", "noch mal zu ..."."""
    return _GOES_BACK.search(plain(text[:_REACH])) is not None


def _telling(text: str) -> Iterator[str]:
    written = (word.casefold() for word in words(text))
    yield from (stem(word) for word in written if word not in _SILENT and len(word) > 1)
    yield from pieces(text)
