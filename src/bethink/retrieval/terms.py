"""Text to index terms, the same on the way in (`index_terms`) and on the way out (`query_terms`).

    text → NFKC, case and accents folded ─┬─ words                        one term each, English stems
                                          ├─ words joined by - ' . / : …   the parts; the whole without its joints
                                          ├─ scripts without spaces        characters and pairs of characters
                                          └─ emoji                         one term each

A term holds letters, digits, marks and emoji only, so a full-text engine that splits at spaces and ASCII punctuation (FTS5's
tokenizer `ascii`) sees exactly these terms, and no query can be mistaken for an operator. Any text is a valid query.

The English stemmer is applied to every word of plain Latin letters. For another language that is a mild, consistent loss of
endings; telling the language of a short chat turn is less reliable than that.
"""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Callable
from functools import lru_cache

__all__ = ["QUESTION_MARKS", "asking_terms", "index_terms", "query_part", "query_terms", "stop_words", "unspaced_runs"]

QUESTION_MARKS = ("?", "？", "؟")

MAX_TERM_LENGTH = 64
"""Longer words (hashes, base64) are cut into pieces of this length, in texts and in queries alike."""

MAX_QUERY = 8_192
"""Characters of a query that are read: of a longer one its first and its last half of so many (see `query_part`)."""
MAX_QUERY_TERMS = 512
"""Terms that are looked for: of more the first and the last half of so many. Each costs a look into the index."""

_STOP_WORDS = """
a about above after again against ain all am an and any are aren arent as at be because been before being below between
both but by can cannot cant could couldn couldnt did didn didnt do does doesn doesnt doing don dont down during each few for
from further had hadn hadnt has hasn hasnt have haven havent having he her here hers herself him himself his how i if in
into is isn isnt it its itself just me mightn mightnt more most mustn mustnt my myself needn neednt no nor not now of off on
once only or other our ours ourselves out over own same shan shant she should shouldn shouldnt so some such than that the
their theirs them themselves then there these they this those through to too under until up very was wasn wasnt we were
weren werent what when where which while who whom whose why will with won wont would wouldn wouldnt you your yours yourself
yourselves also d ll m s t re ve let lets might must shall
"""
stop_words: frozenset[str] = frozenset(_STOP_WORDS.split())
"""English function words, folded. They are indexed, and left out of a query that says anything else. ("may" is a month too.)"""

_ASKING_WORDS = """
anything something everything nothing anyone someone everyone anybody everybody many much kind kinds type types sort sorts way
ways manner name names number amount list example examples detail details specific specifically particular exactly certain
various different several say said tell told mention mentioned describe discuss talk speak explain share note report state
express suggest recommend advise ask answer call called refer make get go come take give use try start begin stop finish
continue keep become happen occur involve include add change plan decide choose want need like prefer think believe consider
feel know find see look seem receive attend participate join visit spend pursue engage organize create provide require achieve
accomplish complete perform experience encounter face handle deal manage got get done went taken given made thing item object
stuff place location area activity event occasion reason cause purpose goal result effect impact outcome role part aspect
feature factor issue problem challenge situation condition process step method approach option idea topic subject information
fact person people somebody individual group member attribute trait quality status time times date often recently currently
previous previously initially originally eventually first last next later earlier ago main important significant major typical
usual usually common general overall favorite new current recent potential possible likely upcoming regarding according based
related together besides another apart
"""


@lru_cache(maxsize=1)
def asking_terms() -> frozenset[str]:
    """Terms of words that English questions are put in, rather than words for what they are about: "what type of activity did
    they describe". A text that answers them seldom repeats them.
    """
    return frozenset(index_terms(_ASKING_WORDS).split())


def index_terms(text: str) -> str:
    """The terms of everything in `text`, joined by single spaces, in order, repeated as often as they occur.

    About 5 µs for a turn of 35 words whose words have been seen before.
    """
    # By pieces between spaces, which no term reaches across: most of them have been seen before. A plain dict and not
    # `lru_cache`, since a look-up in it is a tenth of a call, and a message is a hundred of them.
    pieces = _fold(text).split()
    known = _known
    try:
        return " ".join([terms for piece in pieces if (terms := known[piece])])
    except KeyError:
        return " ".join([terms for piece in pieces if (terms := _terms_of(piece))])


_known: dict[str, str] = {}
_MOST_KNOWN = 65_536


def _terms_of(piece: str) -> str:
    terms = _known.get(piece)
    if terms is None:
        terms = _terms_in(piece)
        if len(piece) <= MAX_TERM_LENGTH:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[piece] = terms
    return terms


def _terms_in(piece: str) -> str:
    """The terms of folded text without spaces, joined."""
    if piece.isascii():
        return " ".join(map(_joined, _ASCII_CHUNK.findall(piece)))
    return " ".join(
        " ".join(_characters(chunk, every=True)) if unspaced else _joined(chunk) for chunk, unspaced in _chunks(piece)
    )


def query_part(text: str) -> str:
    """What is read of a query: all of it, or of one longer than `MAX_QUERY` its first and its last half of that.

    A text so long is pasted, and what is asked about it stands before it or behind it. What no text may hold (NUL, half of a
    surrogate pair) says nothing and is a space.
    """
    if len(text) > MAX_QUERY:
        half = MAX_QUERY // 2
        text = f"{text[:half]} {text[-half:]}"
    return _IN_NO_TEXT.sub(" ", text)


_IN_NO_TEXT = re.compile("[\x00\ud800-\udfff]")


def query_terms(text: str, *, names: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The terms to look for, each once, in order of appearance; () for a text without any letter, digit or emoji.

    Args:
        text: what is asked, in any words: operators, quotes and wildcards are punctuation like any other.
        names: speakers whose names are left out (see `rank.speakers_in`): who spoke is matched against the speaker.

    Stop words and names are left out unless nothing else remains; of a run without spaces, pairs of characters and single
    Han characters are looked for. At most `MAX_QUERY_TERMS`.
    """
    found = _asked(text)
    named = {term for name in names for _, term in _asked(name)}
    telling = [pair for pair in found if pair[0] not in stop_words]
    unnamed = [pair for pair in telling if pair[1] not in named]
    terms = tuple(dict.fromkeys(term for _, term in unnamed or telling or found))
    return terms if len(terms) <= MAX_QUERY_TERMS else terms[: MAX_QUERY_TERMS // 2] + terms[-MAX_QUERY_TERMS // 2 :]


def unspaced_runs(text: str) -> tuple[tuple[str, str], ...]:
    """The runs of scripts without spaces in a query, folded, each once: their characters and pairs of them are its terms.

    Beside each the same with a space for each character of the words that questions are put in ("什么时候"). If there is
    nothing else in any of them they stay.
    """
    if text.isascii():
        return ()
    runs = dict.fromkeys(chunk for chunk, unspaced in _chunks(_fold(text)) if unspaced)
    told = {run: _ASKING_RUNS.sub(lambda word: " " * len(word.group()), run) for run in runs}
    return tuple(told.items()) if any(map(str.strip, told.values())) else tuple((run, run) for run in runs)


_ASKING_RUNS = re.compile(
    # Chinese
    "什么时候|怎么样|为什么|是不是|有没有|告诉我|什么|時候|时候|甚麼|什麼|怎么|怎麼|哪里|哪裡|哪儿|哪个|哪些|多少|请问|可以|关于"
    "|[我你他她]们|[我你他她]們|[的了吗嗎呢吧谁誰是我你他她]"
    # Japanese, katakana as hiragana
    "|ですか|でした|ました|ますか|ください|について|どんな|いくつ|いくら|どこ|いつ|だれ|なに|なぜ|どう|どの|です|ます|何"
    "|(?<=[\u4e00-\u9fff])[はがをにへとでもの](?=[\u4e00-\u9fff]|$)"
    # Korean
    "|언제|누구|누가|무엇|어디|어느|어떻게|얼마|이에요|예요|입니까|습니까|인가요|[했하]나요|나요|까요"
    # Thai
    "|เมื่อไหร่|เมื่อไร|เท่าไหร่|อย่างไร|ที่ไหน|อะไร|ทำไม|ยังไง|ใคร|ไหม|เป็น|คือ|ของ"
)


# -- folding --------------------------------------------------------------------------------------------------------------

_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŧ": "t", "ŋ": "n", "æ": "ae", "œ": "oe", "þ": "th", "ƒ": "f"}
    # One letter in the spellings of Arabic, Persian and Urdu, and in those of careful and of hasty writers.
    | {"ة": "ه", "ە": "ه", "ہ": "ه", "ھ": "ه", "ى": "ي", "ی": "ي", "ے": "ي", "ک": "ك", "ٱ": "ا"}
    # A nasal of Hindi; `_fold` has its other spelling.
    | {"ँ": "ं"}
    # The same word in either kana.
    | {chr(katakana): chr(katakana - 0x60) for katakana in range(0x30A1, 0x30F7)}
)
_ACCENTS = (
    (0x0300, 0x036F), (0x0483, 0x0489), (0x0591, 0x05C7), (0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670),
    (0x06D6, 0x06ED), (0x093C, 0x093C), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE00, 0xFE0F),
    (0xFE20, 0xFE2F),
)  # fmt: skip
"""Marks that a reader may leave out: Latin, Greek and Cyrillic accents, Hebrew and Arabic vowel points, the dot below of Hindi.
Not the vowel signs of Indic scripts, Thai or kana voicing, which are spelling."""
_JOINTS = {"’": "'", "‘": "'", "ʼ": "'", "ʻ": "'", "ʾ": "'", "ʿ": "'", "‐": "-", "‑": "-", "–": "-", "−": "-"}


class _Folding(dict[int, str]):
    """The table for `str.translate`, filled as characters are met."""

    def __missing__(self, codepoint: int) -> str:
        folded = self[codepoint] = _folded(chr(codepoint))
        return folded


def _folded(character: str) -> str:
    if character.isascii():
        return character
    if character in _JOINTS:
        return _JOINTS[character]
    kind = unicodedata.category(character)
    if kind == "Cf":
        # Joiners and soft hyphens stand inside words; the zero-width space stands between them.
        return " " if character == "\u200b" else ""
    if character == "\u0640" or _is_accent(character):
        return ""
    if kind == "So" and _PICTOGRAPH.match(character):
        # Letters of flags stand together, all others alone: of a family, each of its members.
        return character if "\U0001f1e6" <= character <= "\U0001f1ff" else f" {character} "
    if kind[0] not in "LMN":
        return " "
    if kind == "Nd":
        return str(unicodedata.decimal(character))
    decomposed = unicodedata.normalize("NFD", character)
    if len(decomposed) > 1 and all(map(_is_accent, decomposed[1:])):
        return decomposed[0].translate(_LETTERS)
    return character.translate(_LETTERS)


_PICTOGRAPH = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")


def _is_accent(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _ACCENTS)


_folding = _Folding()


def _fold(text: str) -> str:
    """`text` in lower case without accents; what is no letter, digit, mark or emoji is ASCII punctuation or a space."""
    if text.isascii():
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).translate(_folding)
        if "\u094d" in folded:
            # Hindi writes a nasal before a consonant as a dot or as the letter.
            folded = folded.replace("न\u094d", "ं")
    return _CONTRACTION.sub("", folded) if "'" in folded else folded


# -- chunks ---------------------------------------------------------------------------------------------------------------

_HAN_RANGES = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u19e0-\u19ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul: has spaces, but particles cling to its words
    "\u3041-\u30ff\u31f0-\u31ff"  # kana
) + _HAN_RANGES
_JOINT = "[-'./_:,@+]"
_WORD = rf"[^\x00-/:-`{{-\x7f\s{_UNSPACED}]{{1,{MAX_TERM_LENGTH}}}"
_HAN = re.compile(f"[{_HAN_RANGES}]")
# At most eight parts a chunk: an endless path or blob is then several chunks, and none is too long to remember.
_CHUNK = re.compile(f"([{_UNSPACED}]+)|({_WORD}(?:{_JOINT}{{1,3}}{_WORD}){{0,7}})")
_ASCII_CHUNK = re.compile("W(?:J{1,3}W){0,7}".replace("W", f"[a-z0-9]{{1,{MAX_TERM_LENGTH}}}").replace("J", _JOINT))
_PART = re.compile(r"[^-'./_:,@+]+")
# Written with the apostrophe first, which a search skips to.
_CONTRACTION = re.compile(r"'(?:(?<=[a-z]')(?:s|re|ve|ll|d|m)(?![a-z0-9])|(?<=n')(?=t(?![a-z0-9])))")
_DIGIT = re.compile(r"\d")


def _chunks(folded: str) -> list[tuple[str, bool]]:
    """Words, alone or joined by punctuation, and runs of scripts without spaces (True)."""
    return [(unspaced or words, bool(unspaced)) for unspaced, words in _CHUNK.findall(folded)]


@lru_cache(maxsize=65_536)
def _words(chunk: str) -> tuple[tuple[str, str], ...]:
    """Each word with its term: "qx-4071" is qx, 4071 and qx4071; "e-mail" is e, mail and email."""
    parts = _PART.findall(chunk)
    # "and/or" and "example.org" are words side by side; with a digit in it, the whole is a code, a number, a date or a time.
    if len(parts) > 1 and ("-" in chunk or "'" in chunk or _DIGIT.search(chunk)):
        parts.append("".join(parts)[:MAX_TERM_LENGTH])
    return tuple((part, _stem(part) if part.isascii() and part.isalpha() else part) for part in parts)


@lru_cache(maxsize=65_536)
def _joined(chunk: str) -> str:
    return " ".join(term for _, term in _words(chunk))


def _characters(run: str, *, every: bool) -> list[str]:
    """Characters, then pairs of characters. In a query single kana, Hangul or Thai letters would say next to nothing."""
    single = list(run) if every or len(run) == 1 else _HAN.findall(run)
    return single + [run[at : at + 2] for at in range(len(run) - 1)]


def _asked(text: str) -> list[tuple[str, str]]:
    """Each word of a query with its term, once, in order."""
    pairs: dict[tuple[str, str], None] = {}
    for chunk, unspaced in _chunks(_fold(text)):
        pairs.update(dict.fromkeys(((gram, gram) for gram in _characters(chunk, every=False)) if unspaced else _words(chunk)))
    return list(pairs)


# -- stems ----------------------------------------------------------------------------------------------------------------

_stemming = threading.Lock()


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    from Stemmer import Stemmer

    stem: Callable[[str], str] = Stemmer("english", 0).stemWord
    return stem


def _stem(word: str) -> str:
    # A Snowball stemmer keeps the word it works on in itself.
    with _stemming:
        return _stemmer()(word)


def _after_fork() -> None:
    """In the child: another thread of the parent may have been stemming."""
    global _stemming
    _stemming = threading.Lock()
    _stemmer.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
