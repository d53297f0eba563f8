"""Step 4 of the way of a message: what its speaker states about themselves, by rule.

    message ─▶ clauses ─▶ rule ─▶ value, checked for its shape ─▶ insight

Only user messages are read, and of these only the sender's own words (see `clauses`): what an assistant says about the user,
what a page says, and what memory itself put into a prompt is never new evidence. A statement is about its speaker: `"user"`, or
the message's `name` where one is given; "my colleague Kim hates jazz" is about `"kim"`. The text of an insight that is not
about `"user"` begins with whom it is about.

A statement that replaces another says so as it was said: "I switched from coffee to tea" is two insights, tea, and coffee
denied. What that does to earlier insights is decided in `reconcile`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache

import msgspec

from bethink.compaction.sentences import sentences
from bethink.ids import derived_id
from bethink.insights import english, times
from bethink.insights.clauses import Clause, clauses, own_words
from bethink.insights.phrases import may_state, phrases_in
from bethink.insights.rules import RULES, SPOKEN_OF_RULES, Rule
from bethink.insights.shapes import Value, key, strip_date, values
from bethink.insights.triggers import words as words_of
from bethink.messages import Message, Trust
from bethink.records import Importance, Insight, Polarity, Source, Topic

__all__ = ["CORRECTION", "MAX_TEXT", "bounded", "extract"]

CORRECTION = "correction"
"""First part of the slot of a statement such as "it is Y, not X": `reconcile` looks up what it is about."""

MAX_TEXT = 120
"""Characters of an insight's text."""


_AHEAD = frozenset({"goal", "plan", "decision"})
"""Topics of what is to come: a time in the words is when, not since when."""

_PLAIN, _HEARSAY = 0.9, 0.6
"""Confidence in what somebody says of himself, and of another."""


class _Fact(msgspec.Struct, frozen=True, kw_only=True):
    """What a clause states, not yet about anybody."""

    topic: Topic
    slot: str
    value: str
    text: str
    importance: Importance = "medium"
    polarity: Polarity = "positive"
    valid_from: datetime | None = None


class _Found(msgspec.Struct, frozen=True):
    """A fact, where it stands, and whom it is about where that is not the speaker."""

    fact: _Fact
    start: int
    end: int
    about: str = ""


def extract(messages: Sequence[Message], *, thread_id: str, now: datetime, also: tuple[Rule, ...] = ()) -> tuple[Insight, ...]:
    """The insights that `messages` state, in the order of the messages and of the words.

    Args:
        messages: any messages; those that are no evidence are passed over. A message without a time counts as said at `now`.
        thread_id: the thread they stand in, for the sources.
        now: system time, aware.
        also: rules that are tried before all others (see `domains.asked`).

    A fact said twice in one message comes once. `valid_from` is the time that the words name, meant from the message's own
    time, or else that time itself. Deterministic; linear in the messages, about 1 ms for each.
    """
    found: dict[tuple[str, str], Insight] = {}
    for message in messages:
        if message.role != "user" or message.external or not message.id:
            continue
        said = message.created_at or now
        for item in _facts(message.text, said, also):
            insight = _insight(item, message, thread_id, said, now)
            found.setdefault((insight.id, message.id), insight)
    return tuple(found.values())


def _insight(found: _Found, message: Message, thread_id: str, said: datetime, now: datetime) -> Insight:
    fact = found.fact
    speaker = message.name.strip() if message.name and message.name.strip() else ""
    shown = found.about or speaker
    subject = shown.casefold() or "user"
    text = bounded(f"{shown[:1].upper()}{shown[1:]}: {fact.text}" if shown else fact.text)
    trust: Trust = message.trust
    return Insight(
        id=derived_id(said, "insight", subject, fact.slot, fact.value, fact.polarity),
        text=text,
        trust=trust,
        recorded_at=now,
        valid_from=fact.valid_from or said,
        importance=fact.importance,
        sources=(Source(message.id, thread_id, text, found.start, found.end),),
        metadata={"told_by": speaker or "user"} if found.about else {},
        topic=fact.topic,
        subject=subject,
        slot=fact.slot,
        value=fact.value,
        polarity=fact.polarity,
        confidence=_HEARSAY if found.about else _PLAIN,
    )


def bounded(text: str) -> str:
    """`text` within `MAX_TEXT`, cut between words."""
    if len(text) <= MAX_TEXT:
        return text
    cut = text[: MAX_TEXT - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut).rstrip(",;: ") + "…"


def _facts(text: str, said: datetime, also: tuple[Rule, ...]) -> Iterator[_Found]:
    """All facts of one message."""
    lowercase = text == text.lower()
    rules = (*also, *RULES) if also else RULES
    told = tuple([rule for rule in also if rule.told])
    corrected: set[int] = set()
    for clause in clauses(text, _words_of(also)):
        if clause.start in corrected:
            continue
        whole = list(_whole_sentence(clause)) if clause.first else []
        if whole:
            corrected.add(clause.start)
        elif clause.first and (name := _greeting(clause, text)):
            yield _Found(name, clause.start, clause.end)
        heard = rules if english.SELF.search(clause.text) else told
        if told and english.FROM_NOW_ON.match(clause.before):
            clause = msgspec.structs.replace(clause, text=f"from now on {clause.text}")
        for fact in whole or _stated(clause, heard, said, lowercase):
            yield _Found(fact, clause.start, clause.end)
        if not whole:
            yield from _people(clause, said, lowercase)
    yield from _in_other_languages(text)


@lru_cache(maxsize=32)
def _words_of(rules: tuple[Rule, ...]) -> frozenset[str]:
    return frozenset().union(*(rule.triggers for rule in rules))


def _in_other_languages(text: str) -> Iterator[_Found]:
    """What the phrases of other languages find; a sentence that states something in English begins with none of them."""
    if not may_state(words_of(text)):
        return
    for start, end, sentence in sentences(own_words(text)):
        for stated in phrases_in(" ".join(sentence.split()), words_of(sentence)):
            phrase, value = stated.phrase, stated.value
            fact = _Fact(
                topic=phrase.topic,
                slot=phrase.slot.format(key=value.key),
                value=value.key,
                text=phrase.says.format(value=value.text),
                importance=phrase.importance,
                polarity="negative" if phrase.negative else "positive",
            )
            yield _Found(fact, start, end)


def _greeting(clause: Clause, text: str) -> _Fact | None:
    """The name in "Hi, I'm Ana" or "Hi! I'm Ana". Without the greeting, "I'm German" and "I'm Ana" look alike."""
    greeted = english.GREETING.match(text[: clause.start].strip())
    greeting = (english.GREETED_NAME if greeted else english.GREETING_NAME).match(clause.sentence)
    if greeting is None or not _is_name(greeting["value"], strict=True):
        return None
    name = greeting["value"]
    return _Fact(topic="identity", slot="name", value=name.casefold(), text=f"name: {name}", importance="high")


# -- corrections ----------------------------------------------------------------------------------------------------------


def _whole_sentence(clause: Clause) -> Iterator[_Fact]:
    """What only the whole sentence says: a mind changed, a mistake put right."""
    sentence = english.FILLER.sub("", clause.sentence.rstrip(".! "))
    if changed := english.CHANGED_MIND.match(clause.sentence):
        new, old = (english.TRAILING.sub("", words) for words in (changed["value"], changed["old"]))
        if not english.EMPTY.match(old):
            yield from _denied("decision", "decision:{key}", "decided against: {value}", Value(old, _choice(old)))
        if not english.EMPTY.match(new):
            yield _Fact(topic="decision", slot=f"decision:{_choice(new)}", value=_choice(new), text=f"decided: {new}")
    elif (swap := english.CORRECTED.match(sentence)) or (swap := english.CORRECTED_AFTER.match(sentence)):
        new, old = swap["value"].strip(), swap["old"].strip()
        named = all(any(mark.isupper() or mark.isdigit() for mark in words) for words in (new, old))
        if key(new) and key(old) and (named or english.CORRECTING.match(clause.sentence)):
            slot, text = f"{CORRECTION}:{key(old)}", f"{CORRECTION}: {new}, not {old}"
            yield _Fact(topic="event", slot=slot, value=key(new), text=text, importance="low")


def _choice(words: str) -> str:
    """The short form of what was chosen: "take the night train" and "the night train" are one."""
    return key(english.LIGHT_VERBS.sub("", words), deed=True)


# -- rules ----------------------------------------------------------------------------------------------------------------


def _stated(clause: Clause, rules: Sequence[Rule], said: datetime, lowercase: bool) -> list[_Fact]:
    """What the first rule that fits says of a clause, and the next one of its topic where that rule allows for it."""
    found: list[_Fact] = []
    spoken = words_of(clause.text)
    for rule in rules:
        if rule.triggers and rule.triggers.isdisjoint(spoken):
            continue
        match = rule.pattern.match(clause.text)
        if match is None or (found and found[0].topic != rule.topic):
            continue
        groups = {name: (words or "").strip() for name, words in match.groupdict().items()}
        facts = list(_by_rule(rule, groups, clause, said, lowercase))
        found += facts
        if facts and not rule.more:
            break
    return found


def _by_rule(rule: Rule, groups: dict[str, str], clause: Clause, said: datetime, lowercase: bool) -> Iterator[_Fact]:
    words = english.TRAILING.sub("", groups["value"])
    old = english.TRAILING.sub("", groups.get("old", ""))
    replaces = rule.shape not in ("deed", "words") or rule.topic == "decision"
    if replaces and not old and (instead := english.INSTEAD.search(words)):
        words, old = words[: instead.start()], instead["old"]
    past, denied = bool(groups.get("past")), bool(groups.get("neg"))
    if denied and clause.text.casefold().endswith(" anymore"):
        past = True
    when = _when(rule, clause, said)
    if rule.dated and not _fits_time(rule, when, clause, said):
        return
    following = clause.rest if rule.many else ""
    found = values(words, rule.shape, rest=following, many=rule.many, lowercase=lowercase)
    negative = rule.negative or past or denied
    for value in found:
        yield _fact(rule, value, groups, old, when, said, negative=negative, past=past)
    if found and old and not negative and "{pair}" not in rule.slot:
        # After the new one: what is denied here was replaced by it, not by its own denial.
        for value in values(old, rule.shape, lowercase=lowercase):
            yield from _denied(rule.topic, rule.slot, rule.denies, value, groups, since=_since(rule, when, said))


def _fits_time(rule: Rule, when: times.When | None, clause: Clause, said: datetime) -> bool:
    """Whether a clause names such a time as its rule needs: one to come for a plan, and a past one, if only "recently", for
    what happened.
    """
    ahead = rule.topic in _AHEAD
    if when is None:
        return not ahead and any(map(english.LATELY.search, (clause.text, clause.lead, clause.before)))
    return ahead == (when.at > said or when.label == _today(said))


def _when(rule: Rule, clause: Clause, said: datetime) -> times.When | None:
    """The time that goes with a clause: named in it, in its lead ("last Friday, I ..."), or, where a rule needs one, anywhere
    in the sentence before it.
    """
    future = rule.topic in _AHEAD
    before = clause.before if rule.dated or not strip_date(clause.before) else ""
    return next(
        (when for words in (clause.text, clause.lead, before) if (when := times.find(words, said, future=future))), None
    )


def _today(said: datetime) -> str:
    today = times.find("today", said)
    return today.label if today else ""


def _fact(
    rule: Rule,
    value: Value,
    groups: dict[str, str],
    old: str,
    when: times.When | None,
    said: datetime,
    *,
    negative: bool,
    past: bool,
) -> _Fact:
    verb = groups.get("verb", "")
    shown, short = value.text, value.key
    if rule.shape == "deed":
        shown, short = _deed(rule, value, verb, when)
    of = key(groups.get("of", ""))
    slot = rule.slot.format(key=short, name=english.VERSION.sub("", short), of=of, pair="|".join(sorted((short, key(old)))))
    says = rule.denies if negative and not past else f"no longer {rule.says}" if past else rule.says
    text = says.format(value=shown, of=groups.get("of", ""), verb=verb.casefold(), old=old).strip()
    if when is not None and rule.shape == "deed":
        text = f"{text} ({_label(when, shown)})"
    return _Fact(
        topic=rule.topic,
        slot=slot,
        value=short,
        text=text,
        importance=rule.importance,
        polarity="negative" if negative else "positive",
        valid_from=_since(rule, when, said),
    )


def _label(when: times.When, shown: str) -> str:
    """What `shown` lacks of a time: its year only, where it names the day ("from 10 to 23 August")."""
    day, _, year = when.label.rpartition(" ")
    return year if day and day.casefold() in shown.casefold() else when.label


def _since(rule: Rule, when: times.When | None, said: datetime) -> datetime | None:
    """Since when it is true, where the words say so. A plan holds from when it is told, whatever day it is for."""
    if when is None or when.at > said or rule.topic in _AHEAD or rule.slot in english.TIMELESS:
        return None
    return when.at


def _deed(rule: Rule, value: Value, verb: str, when: times.When | None) -> tuple[str, str]:
    """`(shown, short)` of something done or to be done: without its date in the words, with it in an event's short form."""
    shown = strip_date(value.text)
    if rule.topic == "decision":
        return shown, _choice(shown)
    if rule.topic == "plan" and verb:
        shown = f"{english.BASE_FORMS[verb.casefold()]} {shown}"
    short = key(f"{verb} {shown}" if rule.topic == "event" else shown, deed=True)
    if rule.topic == "event" and when is not None:
        short = f"{short} @{when.at:%Y-%m-%d}"
    return shown, short


def _denied(
    topic: Topic,
    slot: str,
    says: str,
    value: Value,
    groups: dict[str, str] | None = None,
    *,
    since: datetime | None = None,
) -> Iterator[_Fact]:
    short = _choice(value.text) if topic == "decision" else value.key
    if short:
        of = (groups or {}).get("of", "")
        yield _Fact(
            topic=topic,
            slot=slot.format(key=short, name=english.VERSION.sub("", short), of=key(of)),
            value=short,
            text=says.format(value=value.text, of=of, verb="").strip(),
            polarity="negative",
            valid_from=since,
        )


# -- other people ---------------------------------------------------------------------------------------------------------


def _people(clause: Clause, said: datetime, lowercase: bool) -> Iterator[_Found]:
    """Who somebody is to the speaker, and what is said about them."""
    for of, name in _named(clause):
        fact = _relation(of, name)
        yield _Found(fact, clause.start, clause.end)
    spoken = english.SPOKEN_OF.match(clause.text)
    if spoken is None:
        return
    verb = english.FIRST_PERSON_FORMS.get(spoken["verb"].casefold())
    name = spoken["name"] or spoken["of"]
    if verb is None or name.casefold() in english.NOT_NAMES:
        return
    about = msgspec.structs.replace(clause, text=f"I {verb}{spoken['predicate']}")
    for fact in _stated(about, SPOKEN_OF_RULES, said, lowercase):
        yield _Found(fact, clause.start, clause.end, about=name)


def _named(clause: Clause) -> Iterator[tuple[str, str]]:
    for match in english.KIN_NAMED.finditer(clause.text):
        # "My sister Ana's car" names her too; "my boss is German" names nobody.
        name = match["value"].removesuffix("'s")
        if _is_name(name, strict=match["link"].strip() == "is"):
            yield match["of"], name
    for match in english.OWN_NAMED.finditer(clause.text):
        for name in (match["value"], match["second"]):
            if name and _is_name(name):
                yield match["of"], name
    named = english.NAMED_KIN.match(clause.text)
    if named and _is_name(named["value"]):
        yield named["of"], named["value"]


def _is_name(name: str, *, strict: bool = False) -> bool:
    words = [word.casefold() for word in name.split()]
    return not any(word in english.NOT_NAMES for word in words) and not (strict and words[0] in english.DEMONYMS)


def _relation(of: str, name: str) -> _Fact:
    of, value = of.casefold(), name.casefold()
    slot = f"relation:{of}" if of in english.ONE_OF_A_KIND else f"relation:{of}:{value}"
    return _Fact(topic="relation", slot=slot, value=value, text=f"{of}: {name}")
