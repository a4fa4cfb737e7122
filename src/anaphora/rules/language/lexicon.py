"""Families of words that the rules about facts share. English, and the smallest words of some other languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from anaphora.rules.language.meanings import by_topic
from anaphora.rules.language.rewordings import reworded
from anaphora.rules.language.stems import split, stem
from anaphora.rules.language.synonyms import BROADER, SAME


def stems(written: str) -> frozenset[str]:
    """The stems of the words."""
    return frozenset(stem(word) for word in written.split())


#: people and animals of whom one speaks as "my ..."
#: relatives, partners, friends and animals: a statement may not add one
KIN: Final = stems(
    "brother sister sibling twin mother father parent mom dad wife husband spouse partner girlfriend boyfriend gf bf "
    "fiance fiancé fiancee fiancée ex son daughter child kid baby toddler friend bestie buddy mate roommate flatmate "
    "housemate cousin aunt auntie uncle nephew niece grandma grandpa grandparent grandchild grandson granddaughter "
    "stepmother stepmom stepfather stepdad stepson stepdaughter stepsister stepbrother godson goddaughter godmother "
    "godfather in-law mother-in-law father-in-law sister-in-law brother-in-law dog puppy pup cat kitten pet horse "
    "pony gran gramps nan hubby missus youngest eldest oldest folks stepchild stepkid triplet "
    "parrot rabbit bunny hamster budgie turtle tortoise goldfish mare foal stallion "
    "hermano hermana madre padre hijo hija esposa esposo marido mujer novio novia amigo amiga abuelo abuela perro "
    "gato bruder schwester mutter vater sohn tochter frau mann freund freundin oma opa hund katze tante onkel "
    "frère soeur sœur mère père fils fille femme copain copine ami amie chien oncle grand-mère grand-père "
    "irmão irmã mãe pai filho filha namorado namorada avó avô cachorro fratello sorella figlio figlia moglie "
    "fidanzato "
    "fidanzata amico amica nonno nonna gatto "
    "mari épouse époux maman enfant parents compagne compagnon figli mamma babbo bambino bambina ragazza ragazzo "
    "kinder eltern ehemann ehefrau enkel enkelin cousine schwager schwägerin vrouw zoon dochter "
    "broer zus moeder vriend "
    "vriendin żona mąż syn córka siostra ojciec жена муж сын дочь брат сестра мама папа hijos niño niña suegra suegro "
    "cuñado cuñada pareja marida sogra sogro dotter bror syster pappa"
)
#: other people whom one speaks of
ROLES: Final = frozenset(
    split(
        "boy girl guy man woman lady colleague coworker co-worker boss manager supervisor mentor assistant intern "
        "client "
        "customer neighbour neighbor landlord landlady tenant tenants neighbours neighbors teacher professor tutor "
        "coach "
        "trainer doctor doc dentist therapist lawyer accountant student classmate teammate nurse vet patient guest "
        "passenger driver singer actor actress author character president king queen captain chef waiter owner "
        "director "
        "colleagues bosses clients customers students patients guests caretaker plumber electrician priest mayor "
        "gp surgeon specialist nutritionist dietitian physio physiotherapist psychologist psychiatrist consultant "
        "advisor agent mechanic hairdresser pharmacist optician midwife nanny babysitter supervisor headteacher editor "
        "investor contractor pastor vicar rabbi imam sergeant executor bandmate"
    )
)
PERSONS: Final = KIN | frozenset(stem(word) for word in ROLES)
#: "drives" and "owns" have the stem of "driver" and "owner"
_DOERS: Final = frozenset(
    {stem(word) for word in ROLES if word.endswith(("er", "or"))}
    - {stem(word) for word in ROLES if not word.endswith(("er", "or", "ers", "ors"))}
    - KIN
)


@lru_cache(maxsize=4096)
def is_person(low: str) -> bool:
    """Whether a word in lower case names somebody: "my driver" does, "drives a van" does not."""
    root = stem(low)
    if root not in PERSONS or (low.endswith("ing") and low != "sibling"):
        return False
    return root not in _DOERS or low.removesuffix("s").endswith(("er", "or", "ress"))


POSSESSIVES: Final = frozenset(
    split(
        "my our mi mis mein meine meinem meinen meiner mon ma mes meu minha meus minhas mio mia miei mie moj moja mój "
        "moje unser unsere unserem unseren notre nos nuestro nuestra nuestros nuestras nosso nossa nostro nostra mijn "
        "onze мой моя моё мои наш наша"
    )
)
THEIRS: Final = frozenset({"his", "her", "their", "your"})
FIRST: Final = frozenset(split("i i'm i've i'd i'll im ive ill id we we're we've we'd we'll ich yo je eu io wir nous"))
THIRD: Final = frozenset(
    split(
        "he he's he'd he'll she she's she'd she'll they they're they've they'd they'll er sie il elle ele ela lui lei"
    )
)
YOU: Final = frozenset(split("you you're you've you'd you'll u"))
GENERIC: Final = frozenset(
    split(
        "everyone everybody someone somebody people nobody anyone anybody others most folks humans experts scientists"
    )
)
IMPERSONAL: Final = frozenset(split("it it's its this that's that there there's here these those what"))
#: after these a new subject may stand without a comma
REPORTS: Final = frozenset(
    split(
        "think thinks thought know knows knew say says said believe believes hope hopes guess guesses wish wishes "
        "tell "
        "tells told claim claims claimed mean means suppose assume assumed swear swears bet heard hear feel feels "
        "sure "
        "glad happy realise realised realize realized mentioned figured noticed learned that because when while "
        "since "
        "if and but so or where whether until before after though although unless once as than whereas"
    )
)
#: what is there after a comma or "and" without a subject of its own, and begins a new statement
VERBS: Final = stems(
    "be have do go like love enjoy adore hate dislike prefer want need live work study play own buy move start "
    "begin stop "
    "quit eat drink cook bake read write run swim walk hike cycle ride drive travel visit speak learn teach make "
    "build "
    "sleep wake get take use keep wear collect watch listen hope plan think know feel call name join leave grow "
    "raise "
    "break cut burn lose find win spend pay finish graduate study carry cook clean fix host manage lead serve hire "
    "fire quit "
    "sell send give take bring come return retire open close publish record perform coach mentor supervise design "
    "develop "
    "test deploy ship earn owe invest save donate celebrate observe pray fast attend enrol pass fail apply accept "
    "refuse "
    "prefer enjoy miss fear suffer recover heal injure sprain tear twist catch hunt fish sail row climb ski skate "
    "surf dive "
    "knit sew weave carve brew roast grill garden plant water harvest feed breed foster rescue own lease renovate "
    "paint "
    "taste smell look sound need marry adopt train practise practice paint draw sing dance volunteer avoid follow "
    "meet see help sell rent lend lent borrow"
)
#: they need no support: they hold a statement together, or say what sort of thing is spoken of
FREE: Final = stems(
    "user speaker person name named called call known be have has having had do does own owns get got goes go "
    "going be "
    "currently now present presently still also usually really very lot bit much many several some various certain "
    "kind type sort something anything thing things one ones way time times day days year years "
    "works work working job profession occupation career employed "
    "lives living live resides reside based residing home hometown "
    "likes enjoys prefers preference favourite love fond interested interest hobby hobbies passionate particularly "
    "dislikes hates stand cannot can't unable avoids "
    "wants want plans planning plan intends hopes wishes would like considering thinking aims goal looking "
    "recently new newly just old aged age named located owner make makes made take takes "
    "pet pets animal food drink beverage sport language instrument city town country place member family "
    "relationship "
    "refers referred identifies describes considers feels finds regularly often frequently every each daily "
    "already ago since former formerly previously past no used anymore never not doesn't isn't stopped quit gave "
    "give up upcoming future soon own any else including include both together along away by with as user's "
    "le la les el los las lo un une una der die das den dem des ein eine einen einer ist sind es est sont il elle "
    "sie er hat tiene gusta gustan mag aime "
    "gosta piace encanta lebt wohnt arbeitet vive trabaja travaille habite heißt llama appelle l'a a-t "
    "unit system option setting version format mode service area field industry sector department brand model "
    "plus basic gegen contre contra contro against von für para pour per "
    "please always only use answer answers reply replies respond response responses assistant wants "
    "specific specifically particular general generally main mainly mostly primary"
)

#: part of the name of a place, whether it is said or not
GENERIC_NAMES: Final = stems(
    "gb tb mb kg km ram cpu eur usd gbp chf dr mr mrs ms sea ocean river lake mountain mountains "
    "island islands city university company "
    "coast park street mont mount monte cape port saint st san santa fort lago mt"
)


def _table() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group in SAME.split("|"):
        members = stems(group)
        for member in members:
            found.setdefault(member, set()).update(members)
    for line in BROADER.split("|"):
        broad, _, narrow = line.partition(": ")
        found.setdefault(stem(broad), set()).update(stems(narrow))
    for table in (by_topic(), reworded()):
        for word, evidence in table.items():
            found.setdefault(word, set()).update(evidence)
    return {word: frozenset(others) for word, others in found.items()}


#: which stems may stand in a source for a stem of the statement
MEANS: Final = _table()


#: they tell how, or how much, and hold a sentence together: half as telling as others
SOFT: Final = stems(
    "accept achieve act add adopt affect aim allow approximately around arrange arrive ask attend attempt "
    "automatic automatically basis bad beat become "
    "believe belong better big bring build busy care carry case cause celebrate certain chance change check choose "
    "close collection common commit complete completed "
    "concern condition connect constant consume contain continue cope create current cut daily deal decide deeply "
    "develop difficult do done drive drove during earn easy "
    "effect elect else end engage entire establish event eventually exclusively exist expect experience extensive "
    "face fact fail far finish fit fix "
    "follow fresh full gain gather general grow half handle hand happen hard head heavy help high hold host "
    "household huge immediate impair impaired improve "
    "include increase involve issue item journey keep kind lack large last late later lead left less level life "
    "limit limited long look lose lost low maintain "
    "major manage match matter mean method middle mind modern month multiple near nearly nearby need next night "
    "normal note number observe occasion occasional often open "
    "operate order original outside own paid part participate particular pass pay people per perform period plan "
    "point poor popular possess possible practice prepare "
    "present previous problem process produce project proper provide put quick quiet rate reach react ready real "
    "reason receive recent reduce refuse regard regular "
    "relate remain remember repeat report require rest result return routine run save schedule section see seem "
    "send separate serious serve service session set several "
    "share shift short show sick sickness side similar simple sit situation size skill slow small social solely "
    "solve source spend stage stand start state stay step stop strict "
    "strong stuff style suffer suitable support switch symptom system task teach tend term throughout tolerate "
    "total touch travel treat trouble try turn type typical undergo unable "
    "upset usual value variety view visit wait walk warm way weak week weekly whole wide work world worry year "
    "yearly young attend attends attending "
    "spell spelled eat drink wear watch use himself herself themselves based describes come comes coming came bring "
    "brings brought disease illness mostly mainly "
    "roughly nearly almost whenever whereas wherever together alone solo overall"
)
#: what one is when one does not: "vegetarian" for "no meat"
INVERSE: Final = {
    stem(word): stems(others)
    for word, others in (
        ("vegetarian", "meat animal"),
        ("vegan", "meat dairy animal milk eggs"),
        ("sober", "alcohol drink booze"),
        ("teetotal", "alcohol drink booze"),
        ("intolerant", "tolerate dairy milk lactose gluten wheat"),
        ("single", "relationship partner married"),
        ("unemployed", "job work"),
        ("atheist", "religious god believe"),
        ("avoid", "eat drink touch use"),
        ("refuse", "touch eat want"),
        ("quit", "smoke drink"),
        ("unable", "can"),
        ("insomnia", "sleep"),
        ("sibling", "only"),
        ("bad", "good"),
        ("terrible", "good"),
        ("hopeless", "good"),
        ("awful", "good"),
        ("childless", "kid child"),
        ("retire", "work"),
        ("blind", "see"),
        ("deaf", "hear"),
    )
}


_RIVALS: Final = """
violin viola cello guitar bass piano drum flute clarinet saxophone trumpet trombone harp accordion ukulele banjo oboe
football soccer tennis basketball volleyball handball rugby cricket hockey golf baseball badminton squash
french spanish german italian portuguese dutch mandarin cantonese japanese korean arabic russian polish turkish hindi
french spanish german italian portuguese english swedish danish norwegian finnish greek hebrew
tea coffee beer wine whisky vodka juice water milk cocoa
beef pork chicken lamb turkey fish
vegan vegetarian pescatarian keto paleo omnivore
red blue green yellow orange purple pink black white brown grey
spring summer autumn winter
left right
north south east west
daily weekly monthly yearly
bus train car tram bike boat plane ferry metro
husband wife girlfriend boyfriend
brother sister
son daughter
mother father
aunt uncle
niece nephew
grandma grandpa
dog cat rabbit hamster parrot horse
oldest youngest
older younger
physics chemistry biology mathematics history geography economics law medicine
christian muslim jewish hindu buddhist atheist
peanut almond cashew walnut hazelnut pistachio
single married divorced engaged widowed
bachelor master phd
buy rent sell
hot cold
tall short
knee hip shoulder ankle wrist elbow back neck
doctor nurse dentist lawyer teacher engineer architect accountant plumber electrician carpenter programmer chef pilot
""".strip()
#: of one kind, and not the same: who said the one did not say the other
RIVALS: Final = tuple(stems(group) for group in _RIVALS.splitlines())


#: they are written like names, and tell of what kind a thing is: "Swedish kronor"
NATIONS: Final = stems(
    "french spanish german italian portuguese english british scottish welsh irish dutch belgian "
    "swiss austrian swedish "
    "danish norwegian finnish icelandic polish czech slovak hungarian romanian bulgarian greek "
    "turkish russian ukrainian "
    "serbian croatian chinese japanese korean vietnamese thai indian pakistani bengali persian iranian arabic egyptian "
    "moroccan israeli hebrew nigerian kenyan ethiopian african american canadian mexican brazilian argentinian chilean "
    "colombian cuban australian european asian latin slovene slovenian estonian latvian lithuanian albanian maltese "
    "catalan basque georgian armenian filipino malay indonesian swahili tamil urdu punjabi cantonese mandarin afghan "
    "iraqi syrian lebanese peruvian venezuelan portugal scotland wales"
)


def supported(word: str, source: Iterable[str]) -> bool:
    """Whether one of the source's stems says what the stem of a statement says."""
    means = MEANS.get(word, frozenset())
    return any(other == word or other in means or _akin(word, other) for other in source)


def alike(one: str, other: str) -> bool:
    """Whether two stems are forms of one word."""
    return one == other or _akin(one, other)


#: endings that make nouns, adjectives and callings of each other: "dental" and "dentist"
_AFFIXES: Final = tuple(
    split(
        "ation ition ment ness ship hood ance ence able ible ical ician ian ist ism ity ious ous ive ful less "
        "al ary ory ry ic ion or er y"
    )
)


@lru_cache(maxsize=8192)
def _root(one: str) -> str:
    """A stem without such an ending."""
    for affix in _AFFIXES:
        if one.endswith(affix) and len(one) - len(affix) > 3:
            return one[: -len(affix)]
    return one


def _akin(one: str, other: str) -> bool:
    """Forms of one word that no ending explains: "photograph" and "photographer", "Portugal" and "Portuguese"."""
    shorter, longer = sorted((len(one), len(other)))
    if shorter > 4 and one[0] == other[0] and one[:4] == other[:4]:
        root = _root(one)
        if len(root) > 3 and root == _root(other):
            return True
    if shorter < 4 or not one[0].isalpha():
        # "CV" and "CVs"
        return shorter > 1 and longer == shorter + 1 and f"{one}s" in {other, f"{other}ss"}
    common = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        common += 1
    return (common == shorter == 4 or common >= max(5, shorter - 2)) and common * 10 >= longer * 6
