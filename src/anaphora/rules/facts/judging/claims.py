"""What must not be made of words: a liking, a home, a calling or a degree that nobody spoke of. English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from anaphora.rules.facts.judging.senses import OTHERS
from anaphora.rules.facts.judging.unsaid import called, main_verb, works
from anaphora.rules.facts.judging.weighed import Source, Weighed
from anaphora.rules.language.lexicon import FREE, PERSONS, alike, is_person, stems
from anaphora.rules.language.markers import Mood
from anaphora.rules.language.numerals import numbers
from anaphora.rules.language.said import Said, Who
from anaphora.rules.language.stems import split, stem
from anaphora.rules.language.words import STOP

LIKES: Final = stems("like love enjoy adore fond fan keen passion passionate favourite interest interested enthusiast")
_LIKE_SHOWN: Final = re.compile(
    r"\b(?:like|likes|liked|love|loves|loved|loving|lovin|enjoy\w*|adore\w*|fond|fan|keen|passion\w*|favou?rite\w*"
    r"|fave|fav|prefer\w*|great|best|amazing"
    r"|awesome|delicious|tasty|yum\w*|fun|wonderful|fantastic|brilliant|beautiful|obsess\w*|addict\w*|crazy|nuts"
    r" about|hooked|into|happy|happiest|relax\w*"
    r"|thing|jam|weakness|miss|exci\w+|glad|sucker|soft spot|live for|all night|all day|for hours|swear by"
    r"|can't get enough|live without|start"
    r" (?:my|the) (?:day|morning)|joy|heaven|bliss|perfect|support\w*|root for"
    r"|favorites?|religiously|nerd|geek|buff|lover|heart|mag|mage|liebe|gern\w*|adore|j'aime|aime"
    r"|gusta\w*|encanta\w*|gosto|adoro|piace|rather|interest\w*"
    r"|devour\w*|binge\w*|never (?:tire|get tired)|soothing|calming|peaceful|every weekend|whenever"
    r"|as often as|call me|big on|mad about|therap\w+|happy place"
    r"|guilty pleasure|only|still|give"
    r" me|anytime|any day|every (?:\w+ ){0,3}(?:book|film|movie|album|song|game|episode|season))\b|喜欢|爱|<3|!",
    re.IGNORECASE,
)
_SEEMS: Final = re.compile(
    r"\b(?:tast\w+|look\w*|sound\w*|feel\w*|felt|seem\w*|smell\w*|something|anything|stuff|things|just|more|was|is"
    r"|it's) like\b",
    re.IGNORECASE,
)
DISLIKES: Final = stems("dislike hate detest loathe avoid stand despise refuse")
_CALLINGS: Final = stems(
    "chef cook nurse teacher doctor driver pilot writer author musician artist painter photographer programmer "
    "developer "
    "engineer farmer gardener carpenter lawyer accountant journalist scientist researcher sailor soldier singer dancer "
    "actor coach trainer manager cleaner baker mechanic builder translator designer carer caregiver landlord founder"
)
#: who speaks of them speaks of work
_JOBS: Final = _CALLINGS | stems(
    "work job employ teach nurse drive write translate code program develop design manage run lead build repair sell "
    "bake cook paint trabajo trabajar arbeite arbeiten travaille lavoro team project boss colleague coworker shift"
)
_LIVES: Final = stems("live reside based resident")
_LIFE_SHOWN: Final = re.compile(
    r"\b(?:liv(?:e|es|ed|ing)|based|mov(?:e|ed|ing)|resid\w+|my (?:home|town|city|village|street|building"
    r"|neighbou?r\w*)|at home|apartment|flat|house|place|settled|rent\w*|stay\w*"
    r"|here|flatmates?|roommates?|housemates?|i'm (?:up |down |over |back |out )?(?:in|near)|we're (?:in|near)"
    r"|im in|relocat\w+"
    r"|home|since then|grew up|end(?:ed|ing)? up in|yard|garden|commut\w+|suburb\w*|wohne?n?|lebe?n?|vivo|vive"
    r"|vivimos|habite"
    r"|been in|been here|floor|narrowboat|boat|farm|village|she's (?:in|near)|he's (?:in|near)|they're in"
    r"|all (?:still )?in)\b|住",
    re.IGNORECASE,
)
#: who is there for a time does not live there
_STAY: Final = re.compile(
    r"\b(?:this (?:week|weekend|month)|on holiday|on vacation|on a trip|visiting|for (?:the|a|one|two|three"
    r"|\d)"
    r" (?:week|weekend|days?|night|month)s?|business trip|tonight|until (?:sun|mon|tues|wednes|thurs|fri"
    r"|satur)day)\b",
    re.IGNORECASE,
)
_OWNED: Final = re.compile(
    r"\b(?:my|our|mine|ours|own\w*|bought|buying|have|has|had|got|get|i've|we've|mein\w*|unser\w*|mon|ma|mes|notre|mi"
    r"|mis"
    r"|nuestr\w+|paid|mortgage|inherited|adopted)\b",
    re.IGNORECASE,
)
#: how much, how well: what was said weaker must not come out stronger
_STRONG: Final = stems(
    "fluent professional expert avid huge passionate wealthy rich severe severely chronic addicted "
    "obsessed famous deeply extremely "
    "always never everyone only world-class competitively competitive professionally renowned skilled talented "
    "award-winning champion serious "
    "seriously heavily constant constantly"
)


def check_identity(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """Who "is a nurse" must have said so: a nurse who was met, or a café that is vegetarian, is somebody else."""
    _check_calling(mine, sources, found)
    what = _predicate(mine)
    if what is None:
        return
    places = [
        (source.words, at)
        for source in sources
        if source.rank < 2
        for at, word in enumerate(source.words)
        if word.stem == what.stem
    ]
    literal = any(alike(what.stem, word.stem) for source in sources for word in source.words)
    if not literal and what.stem in _CALLINGS and not works(sources):
        found.added.append("a calling that nobody spoke of")
    if places and not any(_is_self(words, at) for words, at in places):
        found.conflicts.append(OTHERS)


def _check_calling(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """Who has a lawyer is none: "my sister is suing her lawyer"."""
    noun = called(mine)
    if noun is None or noun.stem not in PERSONS | _CALLINGS:
        return
    before = [
        {word.low for word in source.words[max(0, at - 4) : at] if word.clause == source.words[at].clause}
        for source in sources
        if source.rank < 2
        for at, word in enumerate(source.words)
        if word.stem == noun.stem
    ]
    owners = [
        _owner(source.words, at)
        for source in sources
        if source.rank < 2
        for at, word in enumerate(source.words)
        if word.stem == noun.stem
    ]
    if owners and all(owners):
        found.conflicts.append(OTHERS)
    elif (
        before and noun.stem in _CALLINGS and all(words & {"a", "an", "the"} and not words & _BEING for words in before)
    ):
        found.added.append("a calling that nobody spoke of")


def _owner(words: Sequence[Said], at: int) -> bool:
    """Whether it is said whose it is, and not who is it: "suing her lawyer", but not "is her lawyer"."""
    for place in range(at - 1, max(-1, at - 4), -1):
        if words[place].low in {"her", "his", "their", "your"}:
            return place == 0 or words[place - 1].low not in _BEING
        if words[place].low in {"a", "an", "the"}:
            return place > 0 and words[place - 1].low in _MET
        if words[place].low in STOP:
            return False
    return False


#: who stands after them is somebody else: "under a manager", "saw a doctor"
_MET: Final = frozenset(split("under with to for from by about against see saw met need want like unlike called hired"))


def _predicate(mine: Sequence[Said]) -> Said | None:
    """What the one who speaks is: the noun or adjective after "I am a"."""
    if len(mine) < 3 or mine[0].low not in {"i", "ich"} or mine[1].low not in {"is", "am", "was", "are"}:
        return None
    if mine[2].low.endswith("ing"):
        return None
    phrase = list(takewhile(lambda word: word.low not in _PREPOSITIONS, mine[2:5]))
    rest = [word for word in phrase if word.clause == mine[1].clause and word.low not in STOP and word.stem not in FREE]
    return rest[-1] if rest and len(mine) <= 6 and not rest[-1].negative and not numbers(rest[-1].low) else None


_PREPOSITIONS: Final = frozenset(split("by for of in at on with from to because since about than as"))


def _is_self(words: Sequence[Said], at: int) -> bool:
    word = words[at]
    if is_person(word.low) and word.low.endswith("s") and not any(other.low in _WE for other in words):
        # "two students" are others
        return False
    after = words[at + 1] if at + 1 < len(words) else None
    if after is not None and after.low in _COMPOUNDS and after.start - word.end == 1:
        return False
    before = [other for other in words[max(0, at - 7) : at] if other.clause == word.clause]
    if word.who is Who.SPEAKER and not any(other.low in _DETERMINERS for other in before[-3:]):
        return True
    if word.stem == "twin":
        return True
    if word.who in {Who.SPEAKER, Who.OPEN} and any(other.low in _BEING for other in before):
        return word.who is Who.SPEAKER or not any(other.low in {"the", "this", "that", "these"} for other in before[:2])
    return (
        word.who is Who.OPEN and len(before) < 4 and not any(other.low in {"the", "this", "that"} for other in before)
    )


_WE: Final = frozenset(split("we we're we've us our both"))
_DETERMINERS: Final = frozenset(split("a an the this that these those my our his her their your some any no every"))
#: a "vet school" is no vet
_COMPOUNDS: Final = frozenset(
    split(
        "school student class course shop office friend friends family restaurant place food clinic training exam bed"
    )
)
_BEING: Final = frozenset(
    split(
        "i'm im am is be i've as being become became was were been work works got get getting call me we're feel "
        "feeling called since yet"
    )
)


def check_acts(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """Who watches a thing does not do it."""
    verb = main_verb(mine)
    near = [word for source in sources if source.rank == 0 for word in source.words]
    looks = any(word.low in _LOOKING and word.who in {Who.SPEAKER, Who.OPEN} for word in near)
    if verb is not None and looks and not any(alike(verb.stem, word.stem) for word in near):
        found.added.append("an act that was only watched")


_LOOKING: Final = frozenset(split("watch watched watching saw heard listened listening documentary"))


_THEN: Final = re.compile(r"\b(?:did|was|were|had) (?:you|he|she|they|your)\b")


def check_present(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """What was asked of the past is not so now because of the answer."""
    asked = [source.text.casefold() for source in sources if source.rank == 3]
    if any(word.low in {"currently", "still", "nowadays"} for word in mine) and any(map(_THEN.search, asked)):
        found.added.append("a present that nobody spoke of")


def check_strength(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """A word of degree that nobody used makes more of what was said."""
    told = " ".join(word.low for word in mine)
    if _MUCH.search(told) and not any(_MUCH_SHOWN.search(source.text) for source in sources):
        found.added.append("a degree that nobody spoke of")
    if _ALL.search(told) and not any(_ALL_SHOWN.search(source.text) for source in sources):
        found.added.append("a degree that nobody spoke of")
    never = any(word.low == "never" and word.mood is Mood.FACT for word in mine)
    if never and not any(_NEVER_SHOWN.search(source.text) for source in sources):
        found.added.append("a degree that nobody spoke of")
    if any(word.low == "always" for word in mine) and not any(_ALWAYS_SHOWN.search(source.text) for source in sources):
        found.added.append("a degree that nobody spoke of")
    said = {word.stem for source in sources for word in source.words}
    for word in mine:
        if word.stem in _STRONG and word.stem not in said and word.low not in STOP and not word.negative:
            found.added.append("a degree that nobody spoke of")


_NEVER_SHOWN: Final = re.compile(
    r"\b(?:never|not|no|\w+n't|dont|cant|wont|didnt|havent|nobody|nothing|none|neither|nor|zero|without|cannot|ever|hate"
    r"|nie\w*|nunca|jamais|mai|kein\w*|nicht|no way|first time|refuse\w*|avoid\w*|allergic)\b",
    re.IGNORECASE,
)
_ALWAYS_SHOWN: Final = re.compile(
    r"\b(?:always|every\w*|each|all|whenever|any\s?time|forever|never|only|constant\w*|without fail"
    r"|whatever|whichever|no"
    r"|immer|jede\w*|siempre|toujours|sempre|must|not|\w+n't|please|from now on|since|daily|usual\w*"
    r"|prefer\w*|days)\b|!",
    re.IGNORECASE,
)
_ALL: Final = re.compile(r"\b(?:both|all|entire|entirely|whole|fully|completely|totally)\b")
_ALL_SHOWN: Final = re.compile(
    r"\b(?:both|all|every\w*|each|what\w*ever|whenever|wherever|anything|anywhere|entire\w*|whole|full\w*|complete\w*|total\w*|always|any|no|never|none|two|couple"
    r"|neither|only|just|max\w*|done|finished)\b",
    re.IGNORECASE,
)
_MUCH: Final = re.compile(r"\b(?:a lot|lots|often|frequently|regularly|heavy|habitually)\b")
_MUCH_SHOWN: Final = re.compile(
    r"\b(?:lots?|often|frequent\w*|regular\w*|much|many|every|each|all|always|daily|weekly|tons?|loads?|constant\w*"
    r"|most"
    r"|\w+days|times|again|twice|usual\w*|heav\w+|so|never stop|whenever|too)\b|\d|!",
    re.IGNORECASE,
)


_AVERSE: Final = stems("dislike hate detest loathe despise resent")
#: any "no" and any complaint may show a dislike
_DISLIKE_SHOWN: Final = re.compile(
    r"(?i:\b(?:not|no|never|\w+n't|dont|cant|wont|hat(?:e|es|ed|ing)|dislik\w+|detest\w*|loath\w+|despis\w+|avoid\w*|without"
    r"|worst|awful|terribl\w+|horribl\w+|gross|yuck\w*|ugh|eww*|disgust\w*|annoy\w*|boring|bored|ruins?|sucks?|nasty|allerg\w*"
    r"|tastes? like|sick of|tired of|fed up|pet peeve|nightmare|scar\w+|stress\w*|drives? me|makes? me|mad|crazy|gag"
    r"|hell|pain|bother\w*|cringe\w*|skip|over ?rated|rather|nope|nah|neither|nor|too|unbearable"
    r"|odi\w+|hass\w*|detest\w*"
    r"|nicht|kein\w*|jamais|pas|do my head in|insufferable|cannot|hardly|barely)\b)|[\u0370-\uffff]{2}"
)
#: and any choice a preference
_PREFERENCE_SHOWN: Final = re.compile(
    r"(?i:\b(?:prefer\w*|rather|like|likes|liked|love|loves|enjoy\w*|better|best|beats?|favou?r\w*|fave|only|always|never|over"
    r"|instead|any ?day|please|pls|plz|want|wants|need|needs|no|not|\w+n't|dont|cant|must|should|keep"
    r"|use|give|make|write|ideally"
    r"|than|into|fan|thing|hate|hates|more|less|ok|okay|fine|works?|go for|pick|choose|chose|every"
    r"|usually|mostly|all|just"
    r"|without|same|perfect|great|would|'d|i'd|lieber|bevor\w+|prefier\w*|préfèr\w*|whatever|whenever"
    r"|for me|nothing)\b|!)"
    r"|[\u0370-\uffff]{2}"
)


def _check_dislikes(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """A dislike and a preference must have shown as well."""
    if any(word.stem in _AVERSE for word in mine) and not any(_DISLIKE_SHOWN.search(source.text) for source in sources):
        found.added.append("a liking that nobody showed")
    prefers = any(word.low in {"prefers", "prefer", "favours", "favors"} for word in mine)
    if prefers and not any(_PREFERENCE_SHOWN.search(source.text) for source in sources):
        found.added.append("a liking that nobody showed")


#: where somebody comes from
_FROM: Final = re.compile(
    r"\b(?:is|are|am|was|comes?|came|originally|hails?|originates?) from (?!home\b|work)"
    r"|\bborn (?:and raised )?in [a-z]"
    r"|\bgrew up in\b|\bnative of\b"
)
_FROM_SHOWN: Final = re.compile(
    r"(?i:\b(?:from|born|bred|grew|grow|grown|raised|native|home\w*|roots?|origin\w*|came|come|comes|moved|left|childhood"
    r"|geboren|aus|née?|nacid[oa]|nací|nat[oa]|soy de|vengo|viens|komme|de|di|da|where|birth\w*|local|kid|lived)\b)"
    r"|[\u0370-\uffff]{2}"
)


def _settled(text: str) -> str:
    """The text without the sentences that tell of a stay."""
    return "\n".join(sentence for sentence in re.split(r"[.!?\n]", text) if not _STAY.search(sentence))


def check_likes(mine: Sequence[Said], sources: Sequence[Source], found: Weighed) -> None:
    """A liking and a home must have shown in what was said."""
    told = " ".join(word.low for word in mine)
    likely = {stem(match.split()[-1]) for match in _SEEMS.findall(told)}
    likes = [word for word in mine if word.stem in LIKES - likely and not word.negative and not word.mood]
    shown = [_SEEMS.sub(" ", source.text) for source in sources]
    lives = [
        word
        for word in mine
        if word.stem in _LIVES
        and word.who is not Who.OTHERS
        and not (word.low == "based" and mine[0].low in {"my", "our"})
        and word.stem not in {other.stem for other in mine if other.negative}
    ]
    if any(word.low in {"own", "owns"} for word in mine) and not any(map(_OWNED.search, shown)):
        found.added.append("a possession that nobody spoke of")
    _check_dislikes(mine, sources, found)
    if _FROM.search(told) and not any(_FROM_SHOWN.search(source.text) for source in sources):
        found.added.append("an origin that nobody spoke of")
    theirs = [word for word in mine if word.stem in _LIVES and word.who is Who.OTHERS]
    if theirs and all(_STAY.search(text) or not text for text in shown[:1]):
        found.added.append("a home that nobody spoke of")
    near = [text for source, text in zip(sources, shown, strict=True) if source.rank in {0, 3}]
    working = re.search(r"^i (?:\w+ )?work(?:s|ing)? with\b", told)
    if working and not works(sources) and not any(word.stem in _JOBS for source in sources for word in source.words):
        found.added.append("a calling that nobody spoke of")
    if lives and not any(_LIFE_SHOWN.search(_settled(text)) for text in near):
        found.added.append("a home that nobody spoke of")
    for group in (LIKES, DISLIKES, _LIVES):
        acting = [word for source in sources for word in source.words if word.stem in group]
        mind = [word for word in mine if word.stem in group and word.who is Who.SPEAKER]
        if mind and acting and all(word.who in {Who.OTHERS, Who.THEY, Who.ANYBODY} for word in acting):
            found.added.append("a liking or a home of somebody else")
    if likes and not any(_LIKE_SHOWN.search(text) for text in shown):
        found.added.append("a liking that nobody showed")
