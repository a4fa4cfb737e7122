"""Words for numbers, months and days of the week. English, and small ones of some other languages."""

from __future__ import annotations

from typing import Final

from anaphora.rules.language.stems import split

MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: of months in other languages that are no English words
_MONTH_ROWS: Final = (
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
)
FOREIGN_MONTHS: Final = {word: month for row in _MONTH_ROWS for word, month in zip(split(row), MONTHS, strict=True)}
ONES: Final = split(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
#: from two on, in other languages; without those that are English words too
_FOREIGN: Final = (
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "deux trois quatre cinq six sept huit neuf dix onze douze",
    "dos tres cuatro cinco seis siete ocho nueve diez",
    "dois três quatro cinco seis sete oito nove dez",
    "duas tre quattro cinque sei sette otto nove dieci",
    "twee drie vier vijf zes zeven acht negen tien",
    "två tre fyra fem sex sju åtta nio tio",
    "dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć",
    "iki üç dört beş altı yedi sekiz dokuz",
    "два три четыре пять шесть семь восемь девять десять",
)
#: larger ones, and forms of the small ones; without those that are English words too
_FOREIGN_TENS: Final = (
    "2 две двух",
    "3 трёх трех",
    "11 elva одиннадцать jedenaście undici",
    "12 doce dodici dwanaście двенадцать tolv",
    "13 dreizehn treize trece tredici тринадцать",
    "14 vierzehn quatorze catorce quattordici четырнадцать",
    "15 fünfzehn quinze quince quindici piętnaście пятнадцать",
    "16 sechzehn dieciséis шестнадцать",
    "18 achtzehn dieciocho восемнадцать",
    "20 zwanzig vingt veinte vinte twintig tjugo dwadzieścia двадцать yirmi",
    "30 dreißig trente treinta trinta dertig trettio trzydzieści тридцать otuz",
    "40 vierzig quarante cuarenta quarenta veertig сорок kırk",
    "50 fünfzig cinquante cincuenta cinquenta vijftig пятьдесят elli",
)
VALUES: Final = (
    {word: value for value, word in enumerate(ONES)}
    | {word: 10 * at for at, word in enumerate(_TENS, start=2)}
    | {word: value for row in _FOREIGN for value, word in enumerate(split(row), start=2) if word != "sex"}
    | {"dozen": 12, "twice": 2, "thrice": 3}
    | {word: int(value) for value, *row in map(split, _FOREIGN_TENS) for word in row}
)
ORDINALS: Final = {
    word: value
    for value, word in enumerate(
        split(
            "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
            "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
        ),
        start=2,
    )
} | {"first": 1, "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60}
SCALES: Final = {"hundred": 100, "thousand": 1_000, "grand": 1_000, "million": 10**6, "billion": 10**9}
KNOWN: Final = frozenset((*VALUES, *ORDINALS, *SCALES, "and"))
SUFFIXES: Final = {"k": 1_000, "m": 10**6, "mn": 10**6, "bn": 10**9}
