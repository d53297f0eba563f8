"""What a template listens for, as rules that are read before all others (see `insights.extract`)."""

from __future__ import annotations

import re
from functools import lru_cache

from bethink.insights.domains.template import ProfileTemplate, TemplateSection, asked_slot
from bethink.insights.domains.wordings import ORDERS
from bethink.insights.rule import Rule, rule

__all__ = ["rules_of"]


@lru_cache(maxsize=32)
def rules_of(template: ProfileTemplate | None) -> tuple[Rule, ...]:
    """A rule for each thing that the template asks for, and those of instructions where it wants them."""
    if template is None:
        return ()
    asked = [_asked(section, phrase) for section in template.sections for phrase in section.asks]
    return (*asked, *(ORDERS if template.instructions else ()))


def _asked(section: TemplateSection, phrase: str) -> Rule:
    """ "My shoe size is 42": one answer, or of a section that holds many, each of a list."""
    words = phrase.casefold().split()
    many = section.holds.many and section.holds.kind != "line"
    said = " ".join(map(re.escape, words))
    slot = asked_slot(phrase)
    return rule(
        "identity",
        f"{slot}:{{key}}" if many else slot,
        f"{' '.join(words)}: {{value}}",
        f"{' '.join(words)}: not {{value}}",
        rf"(?:my|our) (?:current |new |usual )?{said} (?:is|are) (?P<neg>not )?(?:now )?(?P<value>.+)",
        flags="many" if many else "",
        needs=" ".join(re.findall(r"[^\W\d_]+", said)),
    )
