"""What a field of a class or a property of a JSON Schema stands for, by its name and by what it says of itself.

options        {"slots": ["residence"]}, or topics or asks: as they say
known names    `city`, `hobbies`, a slot, a kind, a section of a template
any other      what the name says is listened for: `coffee_order` is "my coffee order is ..."
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from bethink.errors import InvalidInput
from bethink.insights.domains.catalogue import TEMPLATES
from bethink.insights.domains.template import Holds, TemplateSection
from bethink.records import Topic

__all__ = ["OPTIONS", "family", "known_slots", "section_for"]

OPTIONS = ("title", "slots", "topics", "words", "asks", "limit", "pinned", "polarity")
"""What a field may say of itself: attributes of the `TemplateSection` that it becomes."""

_LISTS = ("slots", "topics", "words", "asks")
_FAVOURITE = re.compile(r"favou?rite_(?P<of>\w+)")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_SLOT_OF = {
    **dict.fromkeys(("city", "home", "location", "lives_in", "place", "hometown"), "residence"),
    **dict.fromkeys(("company", "works_at", "workplace"), "employer"),
    **dict.fromkeys(("occupation", "profession", "role"), "job"),
    **dict.fromkeys(("first_name", "full_name"), "name"),
    **dict.fromkeys(("likes", "interests", "hobbies"), "likes"),
    **dict.fromkeys(("spoken_languages", "speaks"), "speaks"),
    **dict.fromkeys(("medications", "medicines", "drugs"), "medication"),
    **dict.fromkeys(("conditions", "illnesses"), "medical"),
    **dict.fromkeys(("tools", "tech_stack", "stack"), "uses"),
    "devices": "product",
    "marital_status": "marital",
    "shoe_size": "size:shoe",
    "smoker": "smokes",
}
_DENIED = {"dislikes": "likes", "not_eaten": "eats", "not_drunk": "drinks"}


def known_slots() -> frozenset[str]:
    """The slots, up to their first colon, that rules can fill."""
    from bethink.insights.domains.wordings import ORDERS
    from bethink.insights.phrases import LANGUAGES
    from bethink.insights.rules import RULES

    rules = [each.slot for each in (*RULES, *ORDERS)]
    phrases = [phrase.slot for language in LANGUAGES for phrase in language.phrases]
    return frozenset([family(slot) for slot in (*rules, *phrases, "relation")])


def family(slot: str) -> str:
    """The first part of a slot: of "allergy:nuts", "allergy"."""
    return slot.partition(":")[0]


def section_for(name: str, holds: Holds, options: object, where: str) -> TemplateSection:
    """The section that a field becomes.

    Args:
        options: what it says of itself; None for nothing.
        where: names the field in an error.

    Raises:
        InvalidInput: an option is none, or nothing can fill the field.
    """
    said = _checked(options, where)
    if not any(said.get(key) for key in ("slots", "topics", "asks")):
        said = {**_by_name(name, holds, where), **said}
    if "polarity" not in said and holds.kind not in ("flag", "line"):
        # What is denied is no value: "not vegan" is no diet.
        said["polarity"] = "positive"
    return TemplateSection(name=name, holds=holds, **said)


def _by_name(name: str, holds: Holds, where: str) -> dict[str, Any]:
    snake = _CAMEL.sub("_", name).replace("-", "_").casefold()
    if snake in _SLOT_OF:
        return {"slots": (_SLOT_OF[snake],)}
    if snake in _DENIED:
        return {"slots": (_DENIED[snake],), "polarity": "negative"}
    if favourite := _FAVOURITE.match(snake):
        return {"slots": (f"favourite:{favourite['of'].replace('_', ' ')}",)}
    slots = known_slots()
    for form in _forms(snake):
        if form in slots:
            return {"slots": (form,)}
    for form in _forms(snake):
        if form in get_args(Topic):
            return {"topics": (form,)}
    for template in TEMPLATES.values():
        for section in template.sections:
            if section.name == snake:
                return {"slots": section.slots, "topics": section.topics, "words": section.words}
    if holds.kind == "flag":
        fix = 'say what states it, such as {"slots": ["smokes"]}'
        raise InvalidInput(where, "a yes or no that no rule finds by this name", fix)
    return {"asks": (snake.replace("_", " ").strip(),)}


def _forms(name: str) -> tuple[str, ...]:
    """A name and what its singular may be."""
    forms = [name]
    if name.endswith("ies"):
        forms.append(f"{name[:-3]}y")
    if name.endswith("s"):
        forms.append(name[:-1])
    return tuple(forms)


def _checked(options: object, where: str) -> dict[str, Any]:
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidInput(where, f"options that are a {type(options).__name__}", f"give a mapping of {', '.join(OPTIONS)}")
    if unknown := [key for key in options if key not in OPTIONS]:
        raise InvalidInput(where, f"{len(unknown)} unknown option(s)", f"use {', '.join(OPTIONS)}")
    said: dict[str, Any] = dict(options)
    for key in _LISTS:
        if isinstance(said.get(key), list):
            said[key] = tuple(said[key])
    return said
