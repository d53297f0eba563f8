"""The words that times are told in: English, and of other languages those that mean nothing else in English. All folded."""

from __future__ import annotations

__all__ = [
    "COUNTED",
    "DAYS_AWAY",
    "EVERY_MONTH",
    "FUNCTION_WORDS",
    "MONTHS",
    "NUMBER",
    "OTHER_MONTHS",
    "PLAIN_MONTHS",
    "SEASONS",
    "SHORT_WEEKDAYS",
    "STEPS",
    "UNITS_AWAY",
    "UNSPACED_DAYS_AWAY",
    "UNSPACED_UNITS_AWAY",
    "WEEKDAYS",
    "fold",
    "number_of",
]


def fold(text: str) -> str:
    """`text` in lower case, every character in its place."""
    folded = text.lower()
    if len(folded) != len(text):  # "İ" becomes two characters
        folded = "".join(lower if len(lower := character.lower()) == 1 else character for character in text)
    return folded


# -- names ----------------------------------------------------------------------------------------------------------------

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SHORT_WEEKDAYS = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4, "sat": 5, "sun": 6}

MONTHS = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9,
    "october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8,
    "sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
PLAIN_MONTHS = ("january", "february", "july", "september", "october", "november", "december")
"""Months whose name means nothing else."""

_TWELVES = """
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
styczniu lutym marcu kwietniu maju czerwcu lipcu sierpniu wrześniu październiku listopadzie grudniu
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре
"""
_FOREIGN = _TWELVES.split()
OTHER_MONTHS = {name: at % 12 + 1 for at, name in enumerate(_FOREIGN) if name not in MONTHS}
"""German, French, Spanish, Italian, Portuguese, Dutch, Polish and Russian, the last two in two cases."""
EVERY_MONTH = MONTHS | OTHER_MONTHS

SEASONS = {"spring": "spring", "summer": "summer", "autumn": "autumn", "fall": "autumn", "winter": "winter"}

# -- numbers --------------------------------------------------------------------------------------------------------------

_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
}  # fmt: skip
_VAGUE = {"couple": (2, 2), "few": (2, 5), "several": (3, 7)}
NUMBER = rf"(?:\d{{1,3}}|(?:a\s+)?couple\s+of|(?:a\s+)?few|several|{'|'.join(_NUMBERS)})"
"""A pattern without groups."""


def number_of(words: str) -> tuple[int, int]:
    """The least and the most that a match of `NUMBER` stands for."""
    for vague, bounds in _VAGUE.items():
        if vague in words:
            return bounds
    number = _NUMBERS[words] if words in _NUMBERS else int(words)
    return number, number


# -- counted from today ---------------------------------------------------------------------------------------------------

STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "upcoming": 1}

DAYS_AWAY = {
    "yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1, "the day before yesterday": -2, "the day after tomorrow": 2,
    "last night": -1, "this morning": 0, "this afternoon": 0, "this evening": 0,
    "vorgestern": -2, "gestern": -1, "heute": 0, "anteayer": -2, "ayer": -1, "avant-hier": -2, "aujourd'hui": 0,
    "aujourd’hui": 0, "ieri": -1, "oggi": 0, "ontem": -1, "anteontem": -2, "hoje": 0, "gisteren": -1, "wczoraj": -1,
    "dzisiaj": 0, "позавчера": -2, "вчера": -1, "сегодня": 0,
}  # fmt: skip
"""Without "hier" and "ce matin" and their like: French for yesterday is German for here."""
UNITS_AWAY = {
    "letzte woche": ("week", -1), "letzten monat": ("month", -1), "letztes jahr": ("year", -1), "diese woche": ("week", 0),
    "la semaine dernière": ("week", -1), "le mois dernier": ("month", -1), "l'année dernière": ("year", -1),
    "la semana pasada": ("week", -1), "el mes pasado": ("month", -1), "el año pasado": ("year", -1),
    "la settimana scorsa": ("week", -1), "il mese scorso": ("month", -1), "l'anno scorso": ("year", -1),
    "semana passada": ("week", -1), "mês passado": ("month", -1), "ano passado": ("year", -1),
    "vorige week": ("week", -1), "vorige maand": ("month", -1), "vorig jaar": ("year", -1),
}  # fmt: skip
UNSPACED_DAYS_AWAY = {
    "前天": -2, "昨天": -1, "今天": 0, "明天": 1, "一昨日": -2, "昨日": -1, "今日": 0, "그저께": -2, "어제": -1, "오늘": 0,
}  # fmt: skip
UNSPACED_UNITS_AWAY = {
    "上周": ("week", -1), "上週": ("week", -1), "上星期": ("week", -1), "这周": ("week", 0), "這週": ("week", 0),
    "先週": ("week", -1), "今週": ("week", 0), "지난주": ("week", -1), "上个月": ("month", -1), "上個月": ("month", -1),
    "先月": ("month", -1), "今月": ("month", 0), "지난달": ("month", -1), "前年": ("year", -2), "去年": ("year", -1),
    "今年": ("year", 0), "작년": ("year", -1), "올해": ("year", 0),
}  # fmt: skip

# -- what tells a time from something else --------------------------------------------------------------------------------

_FUNCTION = """
a about after all am an and any are around as at because before but by can could did do does during for from had has he her
his how i if in into is it its my of on or our over she should so that the their them then there they this to until was we
were what when where which while who why will with would you your
"""
FUNCTION_WORDS = frozenset(_FUNCTION.split())
"""What may follow a time that is a phrase by itself. Where a noun follows, it may be "the 3rd floor"."""

_COUNTABLE = """
bytes calories chars characters commits days different dollars entries eur euro euros files gb hits hours items kb kg km
kilometers kilometres lines mb messages meters metres miles min minutes months more ms of other people percent persons pieces
points pounds records requests rows seconds steps tests times tokens units usd users weeks words years
"""
COUNTED = frozenset(_COUNTABLE.split())
"""What stands behind a number that is no year."""
