"""How facts about oneself are stated in German, Spanish, French and Portuguese: data, and the little that reads it.

    sentence ─▶ no question, no condition, no hedge ─▶ the first phrase of a language that it begins with ─▶ values

Far fewer ways than in English (`rules`), those that people use to introduce themselves and to say what they must not or like to
have. A statement is in the slot that its English twin is in, so "I live in Porto" and "vivo en Gante" are two answers to one
question; its text is in the language it was said in, and what has another word in each language ("vegetarisch") is compared by
the English one. A sentence that begins otherwise states nothing: precision goes before recall here too.
"""

# ruff: noqa: E501 - a pattern is read whole

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from bethink.insights.shapes import Value, key
from bethink.records import Importance, Topic

__all__ = ["LANGUAGES", "Language", "Phrase", "Said", "may_state", "phrases_in"]


class Phrase(msgspec.Struct, frozen=True):
    """One way to begin a statement; what follows it is the answer.

    Attributes:
        begins: a regular expression, matched at the start of the sentence, with its subject and verb.
        slot: with `{key}`, the answer in its short form.
        says: the record's text, with `{value}`.
        names: the answer begins with a capital, and is one.
        known: the only answers there are, each with its English word.
    """

    begins: str
    topic: Topic
    slot: str
    says: str
    importance: Importance = "medium"
    negative: bool = False
    names: bool = False
    known: dict[str, str] = msgspec.field(default_factory=dict)


class Language(msgspec.Struct, frozen=True):
    """What is to be known of a language.

    Attributes:
        code: ISO 639-1.
        triggers: words without one of which no phrase begins, in small letters.
        opening: what may precede a statement without changing it.
        ends: what ends an answer.
        hedges: a sentence with one of these states nothing.
        no_answer: how nothing begins that is understood elsewhere.
        joins: "and", "or", and the like: they join answers.
    """

    code: str
    triggers: frozenset[str]
    opening: str
    ends: str
    hedges: str
    no_answer: str
    joins: str
    phrases: tuple[Phrase, ...]


class Said(msgspec.Struct, frozen=True):
    """A statement: the phrase it is made with, and its answer."""

    phrase: Phrase
    value: Value


def _diets(vegetarian: str, vegan: str) -> dict[str, str]:
    return dict.fromkeys(vegetarian.split(), "vegetarian") | dict.fromkeys(vegan.split(), "vegan")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HIGH: Importance = "high"

LANGUAGES = (
    Language(
        "de",
        _words("heiße heisse name wohne lebe arbeite allergisch bin mag liebe hasse esse trinke umgezogen"),
        r"(?:(?:hallo|hi|guten tag|ja|nein|also|übrigens|und|aber|eigentlich)[\s,!.]+)*",
        r"\s*[,;:.!?()–—]|\s+(?:aber|weil|denn|wenn|obwohl|seit|und ich|und mein|und es|sehr|jetzt|gerade|zur zeit|am liebsten)\b",
        r"\b(?:vielleicht|wahrscheinlich|würde|könnte|wäre|hätte|angeblich|falls|wenn|wünschte|glaube)\b",
        r"(?:es|das|dich|sie|ihn|ihm|dass|zu|nicht|mir|mich|wie|was|diese[rsnm]?|dein\w*|euch)\b",
        "und|oder|sowie",
        (
            Phrase(r"(?:ich heiße|ich heisse|mein name ist)", "identity", "name", "Name: {value}", _HIGH, names=True),
            Phrase(r"(?:ich wohne|ich lebe|wir wohnen|wir leben) (?:jetzt |inzwischen |seit \w+ )?in", "identity", "residence", "wohnt in {value}", names=True),
            Phrase(r"ich bin (?:\w+ )?nach(?= [\w ]+ (?:um)?gezogen)", "identity", "residence", "wohnt in {value}", names=True),
            Phrase(r"ich arbeite (?:jetzt )?(?:bei|für)", "identity", "employer", "arbeitet bei {value}", names=True),
            Phrase(r"ich bin nicht allergisch (?:gegen|auf)", "constraint", "allergy:{key}", "nicht allergisch gegen {value}", _HIGH, negative=True),
            Phrase(r"ich bin (?:\w+ )?allergisch (?:gegen|auf)", "constraint", "allergy:{key}", "allergisch gegen {value}", _HIGH),
            Phrase(r"ich bin(?: jetzt)?(?: eine?)?", "constraint", "diet", "{value}", _HIGH, known=_diets("vegetarier vegetarierin vegetarisch", "veganer veganerin vegan")),
            Phrase(r"ich esse (?:keine?n?|nie)", "constraint", "eats:{key}", "isst kein {value}", _HIGH, negative=True),
            Phrase(r"ich trinke (?:keine?n?|nie)", "constraint", "drinks:{key}", "trinkt kein {value}", negative=True),
            Phrase(r"(?:ich mag keine?n?|ich hasse)", "preference", "likes:{key}", "mag nicht: {value}", negative=True),
            Phrase(r"(?:ich mag|ich liebe)", "preference", "likes:{key}", "mag {value}"),
        ),
    ),
    Language(
        "es",
        _words("llamo nombre vivo vivimos mudé trabajo alérgico alérgica soy como bebo gusta gustan encanta encantan odio"),
        r"(?:(?:hola|sí|no,|bueno|pues|y|pero|además|ahora|por cierto|yo)[\s,!.]+)*",
        r"\s*[,;:.!?()–—]|\s+(?:pero|porque|cuando|si|aunque|desde|ahora|y (?:yo|me|mi|vivo|soy|no)|mucho|muchísimo|también|hace)\b",
        r"\b(?:quizás?|tal vez|probablemente|podría|sería|me gustaría|ojalá|creo|si)\b",
        r"(?:que|lo|la idea|te|tu|tus|cuando|cómo|como|mucho|eso|esto|ese|esta|este|esos|estas|mi casa)\b",
        "y|e|o|u",
        (
            Phrase(r"(?:me llamo|mi nombre es)", "identity", "name", "nombre: {value}", _HIGH, names=True),
            Phrase(r"(?:vivo|vivimos) en", "identity", "residence", "vive en {value}", names=True),
            Phrase(r"me (?:he mudado|mudé) a", "identity", "residence", "vive en {value}", names=True),
            Phrase(r"trabajo (?:en|para)", "identity", "employer", "trabaja en {value}", names=True),
            Phrase(r"no soy alérgic[oa] (?:al|a los|a las|a la|a)", "constraint", "allergy:{key}", "no tiene alergia: {value}", _HIGH, negative=True),
            Phrase(r"soy (?:muy )?alérgic[oa] (?:al|a los|a las|a la|a)", "constraint", "allergy:{key}", "alergia: {value}", _HIGH),
            Phrase(r"soy", "constraint", "diet", "{value}", _HIGH, known=_diets("vegetariano vegetariana", "vegano vegana")),
            Phrase(r"no como", "constraint", "eats:{key}", "no come {value}", _HIGH, negative=True),
            Phrase(r"no bebo", "constraint", "drinks:{key}", "no bebe {value}", negative=True),
            Phrase(r"(?:no me gustan?|odio)", "preference", "likes:{key}", "no le gusta: {value}", negative=True),
            Phrase(r"me (?:gustan?|encantan?)", "preference", "likes:{key}", "le gusta: {value}"),
        ),
    ),
    Language(
        "fr",
        _words("appelle nom habite vis déménagé travaille allergique suis mange bois aime adore déteste"),
        r"(?:(?:bonjour|salut|oui|non|bon|alors|et|mais|maintenant|au fait)[\s,!.]+)*",
        r"\s*[,;:.!?()–—]|\s+(?:mais|parce que|car|quand|si|bien que|depuis|maintenant|et (?:je|j'|mon|ma|il|elle)|beaucoup|aussi|il y a)\b",
        r"\b(?:peut-être|probablement|pourrais|serait|aimerais|voudrais|je crois|si)\b",
        r"(?:que|ça|cela|te|toi|vous|quand|comment|bien|ton|ta|tes|votre|ce|cette|ces|pas|l'idée)\b",
        "et|ou",
        (
            Phrase(r"(?:je m'appelle|mon nom est)", "identity", "name", "nom : {value}", _HIGH, names=True),
            Phrase(r"(?:j'habite|je vis)(?: à| en| au| aux)", "identity", "residence", "habite à {value}", names=True),
            Phrase(r"j'ai déménagé(?: à| en| au| aux)", "identity", "residence", "habite à {value}", names=True),
            Phrase(r"je travaille (?:chez|pour)", "identity", "employer", "travaille chez {value}", names=True),
            Phrase(r"je ne suis pas allergique (?:aux|au|à la|à l'|à)", "constraint", "allergy:{key}", "pas allergique : {value}", _HIGH, negative=True),
            Phrase(r"je suis (?:très )?allergique (?:aux|au|à la|à l'|à)", "constraint", "allergy:{key}", "allergique : {value}", _HIGH),
            Phrase(r"je suis", "constraint", "diet", "{value}", _HIGH, known=_diets("végétarien végétarienne", "végan végane végétalien végétalienne")),
            Phrase(r"je ne mange (?:pas|jamais) (?:de |d')", "constraint", "eats:{key}", "ne mange pas : {value}", _HIGH, negative=True),
            Phrase(r"je ne bois (?:pas|jamais) (?:de |d')", "constraint", "drinks:{key}", "ne boit pas : {value}", negative=True),
            Phrase(r"(?:je n'aime pas|je déteste)(?: les| le| la| l')?", "preference", "likes:{key}", "n'aime pas : {value}", negative=True),
            Phrase(r"(?:j'aime|j'adore)(?: beaucoup| bien)?(?: les| le| la| l')?", "preference", "likes:{key}", "aime : {value}"),
        ),
    ),
    Language(
        "pt",
        _words("chamo nome moro moramos vivo mudei trabalho alérgico alérgica sou como bebo gosto adoro amo odeio"),
        r"(?:(?:olá|oi|sim|não,|bom|então|e|mas|agora|aliás|eu)[\s,!.]+)*",
        r"\s*[,;:.!?()–—]|\s+(?:mas|porque|quando|se|embora|desde|agora|e (?:eu|me|meu|minha|moro|sou|não)|muito|também|há)\b",
        r"\b(?:talvez|provavelmente|poderia|seria|gostaria|oxalá|acho|se)\b",
        r"(?:que|isso|isto|te|você|quando|como|muito|seu|sua|teu|tua|desse|dessa|deste|desta|disso)\b",
        "e|ou",
        (
            Phrase(r"(?:me chamo|chamo-me|meu nome é|o meu nome é)", "identity", "name", "nome: {value}", _HIGH, names=True),
            Phrase(r"(?:moro|moramos|vivo) (?:em|no|na|nos|nas)", "identity", "residence", "mora em {value}", names=True),
            Phrase(r"(?:me mudei|mudei-me|mudei) para(?: o| a)?", "identity", "residence", "mora em {value}", names=True),
            Phrase(r"trabalho (?:na|no|em|para)(?: a| o)?", "identity", "employer", "trabalha em {value}", names=True),
            Phrase(r"não sou alérgic[oa] (?:aos|ao|às|à|a)", "constraint", "allergy:{key}", "sem alergia: {value}", _HIGH, negative=True),
            Phrase(r"sou (?:muito )?alérgic[oa] (?:aos|ao|às|à|a)", "constraint", "allergy:{key}", "alergia: {value}", _HIGH),
            Phrase(r"sou", "constraint", "diet", "{value}", _HIGH, known=_diets("vegetariano vegetariana", "vegano vegana")),
            Phrase(r"não como", "constraint", "eats:{key}", "não come {value}", _HIGH, negative=True),
            Phrase(r"não bebo", "constraint", "drinks:{key}", "não bebe {value}", negative=True),
            Phrase(r"(?:não gosto (?:de|do|da|dos|das)|odeio|detesto)", "preference", "likes:{key}", "não gosta de {value}", negative=True),
            Phrase(r"(?:gosto (?:muito )?(?:de|do|da|dos|das)|adoro|amo)", "preference", "likes:{key}", "gosta de {value}"),
        ),
    ),
)  # fmt: skip
"""The languages besides English. Another one is another value here."""

_TRIGGERS = frozenset().union(*(language.triggers for language in LANGUAGES))
_MOST_WORDS, _MOST_NAMES = 5, 4
_EDGES = " \t,.;:!?\"'*_()[]-–—…"
_GONE = re.compile(r"\s+(?:um)?gezogen$")
_ARTICLES = re.compile(r"^(?:der|die|das|den|ein|eine|einen|el|la|los|las|un|una|le|les|une|des|du|de la|o|a|os|as|um|uma)\s+", re.IGNORECASE)  # fmt: skip


def may_state(spoken: frozenset[str]) -> bool:
    """Whether a text of these words may state something: it costs an intersection to know."""
    return not _TRIGGERS.isdisjoint(spoken)


def phrases_in(sentence: str, spoken: frozenset[str]) -> Iterator[Said]:
    """What a sentence states in one of `LANGUAGES`; nothing of one that asks, supposes or doubts.

    Args:
        spoken: its words in small letters. Without a trigger among them nothing is looked at.
    """
    if not may_state(spoken) or sentence.rstrip("\"')»”").endswith(("?", "？")) or sentence.lstrip().startswith("¿"):
        return
    for language in LANGUAGES:
        if language.triggers.isdisjoint(spoken) or _compiled(language.hedges).search(sentence):
            continue
        body = sentence[_matched(language.opening, sentence) :]
        for phrase in language.phrases:
            match = _compiled(rf"{phrase.begins}\s*(?<![^\W\d_])(?P<rest>\S.*)").match(body)
            if match is not None and (found := list(_answers(phrase, match["rest"], language))):
                yield from found
                return


def _answers(phrase: Phrase, rest: str, language: Language) -> Iterator[Said]:
    end = _compiled(language.ends).search(rest)
    words = _GONE.sub("", (rest[: end.start()] if end else rest).strip(_EDGES))
    if phrase.known:
        meant = phrase.known.get(words.casefold())
        if meant is not None:
            yield Said(phrase, Value(words, meant))
        return
    listed = _compiled(rf"\s+(?:{language.joins})\s+").split(words)
    # Where a slot has one answer, what follows an "and" is another statement.
    for item in listed if "{key}" in phrase.slot else listed[:1]:
        text = item.strip(_EDGES)
        short = key(_ARTICLES.sub("", text))
        most = _MOST_NAMES if phrase.names else _MOST_WORDS
        if not short or len(text.split()) > most or _compiled(language.no_answer).match(text):
            return
        if phrase.names and not text[:1].isupper():
            return
        yield Said(phrase, Value(text, short))


def _matched(pattern: str, text: str) -> int:
    match = _compiled(pattern).match(text)
    return match.end() if match else 0


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
