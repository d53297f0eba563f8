"""Which language a text is in, as far as its script and its function words tell. Rules of thumb that would rather say nothing.

Used for two things: to name the language in which a model is to write, and to notice that it wrote in another. A wrong "it is
another" costs a good summary, so each answer needs a clear lead; a text of code, names or few words is in no language.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["LANGUAGE_NAMES", "in_another_language", "language_of", "script_of"]

# Of each language some of its most frequent words, without accents.
_FUNCTION_WORDS = {
    "en": "the and is was are were of to in that it with for on this have has not you we they will would which been from by an"
    " a i do if what can my your he she his her but there at or how some about",
    "de": "der die das und ist nicht ein eine ich wir sie mit auf fur von zu den dem des im auch wird wurde haben hat sich",
    "fr": "le la les et est des un une du dans pour pas que qui sur avec je nous vous il elle au aux ce cette ont sont mais",
    "es": "el los las y es una en que por para con no se su del al lo como mas pero esta son fue muy ya hay ha yo nos",
    "it": "il lo gli e di che la un una per non sono con del della dei nel nella si da alla ha ho ma anche piu questo come",
    "pt": "o os as e um uma em que para com nao se do da dos das no na por mais mas foi sao esta ele ela eu voce ao pelo",
    "nl": "de het een en van ik niet is dat zijn op te met voor aan er hij we ze maar ook heeft hebben wordt naar deze bij",
    "sv": "och att det som en ett ar inte jag vi den pa for med av till har de om kan ska var sig fran men eller",
    "da": "og at det som en et er ikke jeg vi den pa for med af til har de om kan skal var sig fra men eller",
    "pl": "i w na z sie nie jest do to ze co jak o dla po od ale tak czy przez ma sa byl bedzie oraz juz tego",
    "cs": "a v na se je ze to s z do pro jako by si ale jsem jsou byl bylo nebo tak podle k uz po od",
    "tr": "ve bir bu da de ile icin cok ben sen var yok degil olarak daha ne gibi kadar ama sonra her olan mi",
    "id": "dan yang di ke dari untuk ini itu dengan tidak akan pada saya anda kami adalah juga bisa sudah ada karena atau",
    "ro": "si de la in cu pe nu este un o sa ca mai pentru din sunt se am ai au care dar fost prin ce",
    "fi": "ja on ei se etta han ovat oli mutta kun niin myos kuin joka tama ole minun sen voi jos olen mina",
    "hu": "a az es hogy nem is egy van volt meg csak de ez mint el kell ki vagy ha mar nagyon meg azt",
    "ru": "и в не на что с я он она это как но по из у за для мы вы так его был было есть от о же бы",
    "uk": "і в не на що з я він вона це як але по із у за для ми ви так його був було є від та до чи",
}  # fmt: skip

LANGUAGE_NAMES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese", "nl": "Dutch",
    "sv": "Swedish", "da": "Danish", "pl": "Polish", "cs": "Czech", "tr": "Turkish", "id": "Indonesian", "ro": "Romanian",
    "fi": "Finnish", "hu": "Hungarian", "ru": "Russian", "uk": "Ukrainian", "ja": "Japanese", "zh": "Chinese", "ko": "Korean",
    "he": "Hebrew", "el": "Greek", "th": "Thai",
}  # fmt: skip
"""The languages that can be told, by code (ISO 639-1)."""

_OF_SCRIPT = {"HANGUL": "ko", "HEBREW": "he", "GREEK": "el", "THAI": "th"}
"""Scripts that are practically one language's. Chinese and Japanese share one here and are told apart by kana."""
_SCRIPT_OF = {"ru": "CYRILLIC", "uk": "CYRILLIC", "ja": "EAST ASIAN", "zh": "EAST ASIAN"} | {
    language: script for script, language in _OF_SCRIPT.items()
}

_WORD = re.compile(r"[^\W\d_]+")
# Of a longer text only so much is looked at.
_MOST_READ = 20_000
# A script is a text's own from this share of its letters on; it is foreign to a text below the other.
_MAIN, _FOREIGN = 0.6, 0.1
_FEWEST_LETTERS = 20
# A language is told from so many function words on, so many of them different, at this share of the words at least, and by
# this lead over the next.
_FEWEST_WORDS, _FEWEST_DIFFERENT, _LEAST_SHARE, _LEAD = 4, 3, 0.15, 1.5
_KANA_SHARE = 0.1


def script_of(text: str) -> str:
    """The script of most of its letters ("LATIN", "CYRILLIC", "EAST ASIAN", ...); "" where none has most, or there are few."""
    scripts = _scripts(text)
    letters = sum(scripts.values())
    if letters < _FEWEST_LETTERS:
        return ""
    script, count = min(scripts.items(), key=lambda pair: (-pair[1], pair[0]))
    return script if count >= _MAIN * letters else ""


def language_of(text: str) -> str:
    """The language's code, one of `LANGUAGE_NAMES`; "" where it cannot be told."""
    text = text[:_MOST_READ]
    script = script_of(text)
    if script == "EAST ASIAN":
        kana = sum("\u3041" <= character <= "\u30ff" for character in text)
        return "ja" if kana >= _KANA_SHARE * _scripts(text)[script] else "zh"
    if script not in ("LATIN", "CYRILLIC"):
        return _OF_SCRIPT.get(script, "")
    words = _WORD.findall(_without_accents(text.lower()))
    found: dict[str, Counter[str]] = {language: Counter() for language in _FUNCTION_WORDS}
    for word in words:
        for language in _LANGUAGES_OF.get(word, ()):
            found[language][word] += 1
    (best, hits), (_, next_hits) = sorted(found.items(), key=lambda pair: (-pair[1].total(), pair[0]))[:2]
    told = (
        hits.total() >= max(_FEWEST_WORDS, _LEAST_SHARE * len(words), _LEAD * next_hits.total())
        and len(hits) >= _FEWEST_DIFFERENT
    )
    return best if told else ""


def in_another_language(text: str, said: Sequence[str], asked: str = "") -> bool:
    """Whether `text` is clearly in a language that nobody spoke in `said`, or that is not the one asked for.

    Args:
        text: what a model wrote.
        said: the texts it was written of, each of which may be in a language of its own.
        asked: a code of `LANGUAGE_NAMES`; "" for any language of `said`.
    """
    language, script = language_of(text), script_of(text)
    if asked:
        return bool(language and language != asked) or bool(script and script != _SCRIPT_OF.get(asked, "LATIN"))
    whole = "\n".join(said)
    scripts = _scripts(whole)
    letters = sum(scripts.values())
    if script and letters >= _FEWEST_LETTERS and scripts[script] < _FOREIGN * letters:
        return True
    if not language or language == (spoken := language_of(whole)):
        return False
    each = {found for found in map(language_of, said) if found}
    return bool(spoken or each) and language not in each


def _scripts(text: str) -> Counter[str]:
    """How many letters of each script there are."""
    counts: Counter[str] = Counter()
    for character, count in Counter(text[:_MOST_READ]).items():
        if script := _script(character):
            counts[script] += count
    return counts


@lru_cache(maxsize=65_536)
def _script(character: str) -> str:
    """The first word of a letter's Unicode name; "" for what is no letter."""
    if not character.isalpha():
        return ""
    script = unicodedata.name(unicodedata.normalize("NFKC", character)[0], "").partition(" ")[0]
    return "EAST ASIAN" if script in ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else script


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    # The breve stays: with it a letter is another one (й).
    letters = [mark for mark in unicodedata.normalize("NFD", text) if mark == "\u0306" or not unicodedata.combining(mark)]
    return unicodedata.normalize("NFC", "".join(letters)).replace("ł", "l")


def _by_word(words: dict[str, str]) -> dict[str, tuple[str, ...]]:
    languages: dict[str, list[str]] = {}
    for language, listed in words.items():
        for word in dict.fromkeys(_without_accents(listed).split()):
            languages.setdefault(word, []).append(language)
    return {word: tuple(found) for word, found in languages.items()}


_LANGUAGES_OF = _by_word(_FUNCTION_WORDS)
