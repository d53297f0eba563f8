"""Insights laid out by a template, within its limits and the bound of the whole. Pure.

    exempt ones            always, in the sections that take them
    up to its limit        the best of each section; of one without a limit, its best
    what room is left      the best of sections without a limit

What no section takes is not in the profile. It stays known as long as the whole has room beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TypeAlias

import msgspec

from bethink.insights import retention as plain
from bethink.insights.domains.template import Claim, ProfileTemplate, TemplateSection
from bethink.insights.retention import exempt, in_slot, ranked
from bethink.records import Insight, Polarity
from bethink.retrieval.terms import index_terms
from bethink.settings import Retention, Settings

__all__ = ["LaidOut", "Scored", "beyond", "laid_out", "section_of"]

Scored: TypeAlias = tuple[Insight, float]


class LaidOut(msgspec.Struct, frozen=True):
    """Each insight with its score, best kept first.

    Attributes:
        sections: those of the template as they are shown, each with what it holds.
        others: current ones that no section takes, as far as there is room for them beside the profile.
        beyond: what has no place. None is exempt.
    """

    sections: tuple[tuple[TemplateSection, tuple[Scored, ...]], ...]
    others: tuple[Scored, ...]
    beyond: tuple[Scored, ...]

    @property
    def entries(self) -> tuple[Scored, ...]:
        """All that is in a section, section by section."""
        return tuple([pair for _, pairs in self.sections for pair in pairs])


def laid_out(
    insights: Iterable[Insight], template: ProfileTemplate, *, size: int, now: datetime, retention: Retention
) -> LaidOut:
    """The profile of `insights` by a template.

    Args:
        insights: of one subject. Those that are not current or not a user's own words are passed over.
        size: how many insights the whole holds, or as many as are exempt where that is more.
        retention: says what scores how much, and what is exempt; pinned sections add their slots.

    Deterministic; linear in the insights.
    """
    retention = msgspec.structs.replace(retention, kept=(*retention.kept, *template.kept))
    everything = ranked(insights, now, retention)
    held: dict[str, list[Scored]] = {section.name: [] for section in template.sections}
    loose: list[Scored] = []
    for pair in everything:
        section = section_of(pair[0], template)
        (loose if section is None else held[section.name]).append(pair)
    left = size - sum([exempt(insight, retention) for insight, _ in everything])
    promised, hoping = _shared(template.sections, held, retention)
    taken = {insight.id for insight, _ in _best((*promised,), left)}
    left -= len(taken)
    taken |= {insight.id for insight, _ in _best(hoping, left)}
    taken |= {insight.id for insight, _ in everything if exempt(insight, retention)}
    sections = tuple([(each, tuple([pair for pair in held[each.name] if pair[0].id in taken])) for each in template.ordered])
    # What nobody asks for fills what is left, as it would a profile without sections.
    left = size - len(taken)
    free = [insight.id for insight, _ in loose if insight.id not in taken][: max(0, left)]
    taken.update(free)
    return LaidOut(
        sections,
        tuple([pair for pair in loose if pair[0].id in taken]),
        tuple([pair for pair in everything if pair[0].id not in taken]),
    )


def beyond(
    insights: Iterable[Insight], *, now: datetime, settings: Settings, template: ProfileTemplate | None = None
) -> tuple[Scored, ...]:
    """What has no place in a profile: by the template of a memory, or without one, by score alone."""
    if template is None:
        return plain.beyond(insights, now=now, settings=settings)
    return laid_out(insights, template, size=settings.profile_size, now=now, retention=settings.retention).beyond


def _shared(
    sections: Sequence[TemplateSection], held: dict[str, list[Scored]], retention: Retention
) -> tuple[list[Scored], list[Scored]]:
    """What sections were promised, and what those without a limit would have besides; nothing exempt."""
    promised: list[Scored] = []
    hoping: list[Scored] = []
    for section in sections:
        pairs = [pair for pair in held[section.name] if not exempt(pair[0], retention)]
        room = max(0, (section.most or 1) - (len(held[section.name]) - len(pairs)))
        promised += pairs[:room]
        hoping += pairs[room:] if section.most is None else []
    return promised, hoping


def _best(pairs: Sequence[Scored], count: int) -> list[Scored]:
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0].id))[: max(0, count)]


# -- which section --------------------------------------------------------------------------------------------------------


def section_of(insight: Insight, template: ProfileTemplate) -> TemplateSection | None:
    """The section that takes an insight: the one with the most particular claim, the first of equals; None if there is none."""
    for claim, polarity, at in _claims(template):
        if polarity in (None, insight.polarity) and _holds(claim, insight):
            return template.sections[at]
    return None


@lru_cache(maxsize=32)
def _claims(template: ProfileTemplate) -> tuple[tuple[Claim, Polarity | None, int], ...]:
    """Every claim of a template, the most particular first, with what it is limited to and the number of its section."""
    found: list[tuple[Claim, Polarity | None, int]] = [
        (claim, each.polarity, at) for at, each in enumerate(template.sections) for claim in each.claims
    ]
    return tuple(
        sorted(found, key=lambda one: (*[not part if isinstance(part, bool) else -part for part in one[0].particular], one[2]))
    )


def _holds(claim: Claim, insight: Insight) -> bool:
    named = in_slot(insight.slot, claim.name) if claim.of == "slot" else insight.topic == claim.name
    return named and (not claim.words or _has_one(f"{insight.text} {insight.value}", claim.words))


def _has_one(text: str, words: Sequence[str]) -> bool:
    """Whether a text has one of some words or phrases; words in whatever form, names with signs ("c++") as they are."""
    folded = f" {_spaced(text)} "
    stems = f" {index_terms(text)} "
    return any(f" {_spaced(word)} " in folded or (word[-1:].isalpha() and f" {_stems(word)} " in stems) for word in words)


def _spaced(text: str) -> str:
    return " ".join([word.strip(".,;:!?()'\"") for word in text.casefold().split()])


@lru_cache(maxsize=1_024)
def _stems(word: str) -> str:
    return index_terms(word)
