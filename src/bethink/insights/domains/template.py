"""A template: what of a profile a domain is interested in, in sections. Values, checked as they are made.

    template ─▶ sections ─▶ claims: slots, topics, words     of insights
                          ─▶ limit, or kept whatever it scores
                          ─▶ holds: lines, or typed answers

An insight is in one section at most: in the one whose claim is the most particular. A slot is more so than a topic, a longer
slot than a shorter, and a claim with words than one without. Two claims of the same thing are refused, since nobody could
say which holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from bethink.errors import InvalidInput
from bethink.records import Polarity, Topic
from bethink.settings import Settings

__all__ = ["AnswerKind", "Claim", "Holds", "ProfileTemplate", "TemplateSection", "applied"]

AnswerKind: TypeAlias = Literal["line", "text", "choice", "integer", "number", "flag"]

_TOPICS: tuple[str, ...] = get_args(Topic)
_LONGEST_TITLE = 40
_UNFIT = frozenset("<>[]:\n\r\t")


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """What the values of a section are.

    Attributes:
        kind: `"line"`, what an insight says ("allergic to nuts"); `"text"`, its answer alone ("nuts"); `"choice"`, the answer
            as one of `choices`; `"integer"` and `"number"`, the first number of the answer; `"flag"`, whether it is affirmed.
        many: any number of values, or one, that of the insight kept best.
        choices: of the kind "choice" alone.
    """

    kind: AnswerKind = "line"
    many: bool = True
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.choices) != (self.kind == "choice"):
            raise InvalidInput(
                "holds.choices", f"{len(self.choices)} of a {self.kind}", 'give choices with kind "choice" alone'
            )
        if self.kind == "flag" and self.many:
            raise InvalidInput("holds.many", "many flags", "a flag is one answer: many=False")


class Claim(msgspec.Struct, frozen=True):
    """One thing that a section takes: a slot with all below it, or a topic; `words` of which an insight must have one."""

    of: Literal["slot", "topic"]
    name: str
    words: tuple[str, ...] = ()

    @property
    def particular(self) -> tuple[bool, int, bool]:
        """The greater, the more particular."""
        return self.of == "slot", self.name.count(":"), bool(self.words)

    def clashes(self, other: Claim) -> bool:
        """Whether both may claim the same, and neither is the more particular."""
        if (self.of, self.name) != (other.of, other.name) or bool(self.words) != bool(other.words):
            return False
        return not self.words or not set(self.words).isdisjoint(other.words)


class TemplateSection(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a profile, and what of it.

    Attributes:
        name: such as `"treatment_preferences"`: letters, digits, "_" and "-".
        title: as a context shows it; by default the name with spaces.
        slots: of the insights that it takes: `"residence"`, or `"allergy"` for every `"allergy:..."`.
        topics: likewise; what no section takes by its slot.
        words: only insights with one of these words or phrases, in whatever form.
        asks: what is to be listened for besides: `"shoe size"` finds "my shoe size is 42", in a slot of its own. It is while a
            memory is opened with the template (see `Memory`).
        limit: at most so many insights; None for as many as the whole profile has room for.
        pinned: they are kept whatever they score, all of them, and stand first. Only slots can be: a topic is too much.
        polarity: only what is affirmed, or only what is denied; None takes both.
        holds: what its values are.

    Raises:
        InvalidInput: it cannot be met.
    """

    name: str
    title: str = ""
    slots: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    words: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    limit: int | None = None
    pinned: bool = False
    polarity: Polarity | None = None
    holds: Holds = Holds()

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.replace("-", "_").isidentifier()):
            fix = 'name it in letters, digits, "_" and "-", such as "treatment_preferences"'
            raise InvalidInput("section.name", "no name that can be written in an error", fix)
        field = f"section {self.name!r}"
        if len(self.title) > _LONGEST_TITLE or not _UNFIT.isdisjoint(self.title) or not self.title.isprintable():
            fix = f"give one line of at most {_LONGEST_TITLE} characters, without any of <>[]:"
            raise InvalidInput(f"{field}.title", "not fit for a heading", fix)
        for name in ("slots", "topics", "words", "asks"):
            _check_texts(f"{field}.{name}", getattr(self, name))
        if unknown := [topic for topic in self.topics if topic not in _TOPICS]:
            raise InvalidInput(f"{field}.topics", f"{len(unknown)} unknown kind(s)", f"use {', '.join(_TOPICS)}")
        if not (self.slots or self.topics or self.asks):
            raise InvalidInput(field, "nothing that it takes", "name slots or topics, or what it asks for")
        self._check_bounds(field)

    def _check_bounds(self, field: str) -> None:
        if self.limit is not None and not (type(self.limit) is int and self.limit >= 1):
            raise InvalidInput(
                f"{field}.limit", "not a number of 1 or more", "use 1 or more, or None for whatever there is room for"
            )
        if self.polarity not in (None, "positive", "negative"):
            raise InvalidInput(f"{field}.polarity", "none of its choices", 'use "positive", "negative" or None')
        if self.pinned and self.limit is not None:
            raise InvalidInput(
                f"{field}.limit", "a limit on what is pinned", "leave one of the two out: nothing pinned is left out"
            )
        if self.pinned and (self.topics or self.words):
            raise InvalidInput(f"{field}.pinned", "topics or words", "name the slots that are to be kept whatever they score")
        if not self.holds.many and self.limit not in (None, 1):
            raise InvalidInput(f"{field}.limit", f"{self.limit} of a single value", "use 1, or hold many")

    @property
    def shown(self) -> str:
        """Its title."""
        return self.title or self.name.replace("_", " ").replace("-", " ")

    @property
    def most(self) -> int | None:
        """How many insights it takes at most; None for any number."""
        return self.limit if self.holds.many or self.pinned else 1

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All that it takes."""
        asked = [asked_slot(phrase) for phrase in self.asks]
        slots = [Claim("slot", slot, self.words) for slot in self.slots]
        topics = [Claim("topic", topic, self.words) for topic in self.topics]
        # What it asks for itself has the words already.
        return (*slots, *[Claim("slot", slot) for slot in asked if slot not in self.slots], *topics)


def asked_slot(phrase: str) -> str:
    """The slot of what a section asks for.

    >>> asked_slot("Shoe size")
    'shoe_size'
    """
    return "_".join(phrase.casefold().split())


class ProfileTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """How a profile is laid out, and what is listened for.

    Attributes:
        name: what it is called, such as `"healthcare"`.
        sections: in the order of their importance; pinned ones stand before the others anyway.
        about: what it is for, in a sentence.
        size: how many insights the whole profile holds; None for `Settings.profile_size`. Pinned ones that are more stay
            all the same.
        instructions: also listen for what the assistant is told to do from now on ("always use type hints", "never
            force-push"), in slots `"instruction:..."`. It is while a memory is opened with the template.

    Raises:
        InvalidInput: it cannot be met: no section, two of one name or that take the same, or limits that are more than `size`.
    """

    name: str
    sections: tuple[TemplateSection, ...]
    about: str = ""
    size: int | None = None
    instructions: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise InvalidInput("template.name", "no identifier", 'name it in letters, digits and "_", such as "healthcare"')
        field = f"template {self.name!r}"
        if not self.sections or not all(isinstance(each, TemplateSection) for each in self.sections):
            raise InvalidInput(f"{field}.sections", "none, or not all sections", "give a tuple of one TemplateSection or more")
        names = [each.name for each in self.sections]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InvalidInput(f"{field}.sections", f"{twice[0]!r} twice", "give each section a name of its own")
        if self.size is not None and not (type(self.size) is int and self.size >= 1):
            raise InvalidInput(f"{field}.size", "not a number of 1 or more", "use 1 or more, or None for Settings.profile_size")
        for claim, one, other in _clashes(self.sections):
            raise InvalidInput(
                f"{field}.sections",
                f"{one!r} and {other!r} both take the {claim.of} {claim.name!r}",
                "leave it to one of them, or tell them apart by words",
            )
        if self.size is not None:
            self.check_room(self.size, f"{field}.size")

    def check_room(self, size: int, field: str) -> None:
        """Raise InvalidInput if the sections need more than `size` insights to have what each is promised."""
        needed = self.needed
        if needed > size:
            raise InvalidInput(
                field,
                f"{size}, and the sections of {self.name!r} have limits of {needed} together",
                f"give at least {needed}, or lower limits",
            )

    @property
    def needed(self) -> int:
        """How many insights its sections promise to hold besides the pinned ones: their limits, and one where there is none."""
        return sum([each.most or 1 for each in self.sections if not each.pinned])

    @property
    def ordered(self) -> tuple[TemplateSection, ...]:
        """Its sections as they are shown: pinned ones first."""
        return tuple(sorted(self.sections, key=lambda each: not each.pinned))

    @property
    def kept(self) -> tuple[str, ...]:
        """Slots that are kept whatever they score."""
        claims = [claim for each in self.sections if each.pinned for claim in each.claims]
        return tuple(dict.fromkeys([claim.name for claim in claims]))

    def bound(self, settings: Settings) -> int:
        """How many insights the whole profile holds."""
        return self.size or settings.profile_size


def applied(template: ProfileTemplate | None, settings: Settings) -> Settings:
    """The settings of a memory that is opened with a template: its size, and what it never lets go.

    Raises:
        InvalidInput: there is less room than its sections promise.
    """
    if template is None:
        return settings
    template.check_room(template.bound(settings), "settings.profile_size")
    retention = settings.retention
    kept = tuple(dict.fromkeys([*retention.kept, *template.kept]))
    retention = msgspec.structs.replace(retention, kept=kept)
    return msgspec.structs.replace(settings, profile_size=template.bound(settings), retention=retention)


def _check_texts(field: str, given: object) -> None:
    if not (isinstance(given, tuple) and all(isinstance(each, str) and each.strip() and each.isprintable() for each in given)):
        raise InvalidInput(field, "not a tuple of texts", 'give a tuple, such as ("allergy", "intolerance")')
    if len(set(given)) != len(given):
        raise InvalidInput(field, "the same twice", "name each once")


def _clashes(sections: Sequence[TemplateSection]) -> Iterator[tuple[Claim, str, str]]:
    """Claims that two sections have, whatever is affirmed or denied by what they take."""
    for at, one in enumerate(sections):
        for other in sections[at + 1 :]:
            if None not in (one.polarity, other.polarity) and one.polarity != other.polarity:
                continue
            for claim in one.claims:
                if any(claim.clashes(each) for each in other.claims):
                    yield claim, one.name, other.name
