"""How a recall came about, as tables: what was looked for, the places of each hit, and what became of something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bethink.cli.render import counted, when

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.retrieval.why import Reason, Why, WhyNot

__all__ = ["show_why", "show_why_not"]


def show_why(page: Page, told: Why) -> None:
    """Below the hits of a recall: the query, what ran, and a line for each hit."""
    page.blank()
    page.heading("Looked for")
    terms = sorted(told.terms.items(), key=lambda each: (-each[1].weight, each[0]))
    page.table(("term", ">weight", ">units"), [(term, f"{known.weight:.2f}", f"{known.units:,}") for term, known in terms])
    if told.names:
        page.note(f"By name: {', '.join(told.names)}; whoever else speaks ranks lower.")
    for start, end, relation in told.times:
        page.note(
            f"At a time: {relation} {when(start)} to {when(end)}" if start else f"At a time that is not known: {relation}"
        )
    ran = " and ".join(told.legs) or "nothing"
    page.note(
        f"{ran} ran over {counted(told.units, 'unit')}; {counted(told.candidates, 'candidate')} ranked, of each leg the best "
        f"{told.limit} and those around. The best is worth {told.best:.3f}; the threshold is {told.threshold:.3f}, and "
        f"{told.least:.3f} for each hit."
    )
    if told.hits:
        page.blank()
        page.table(
            (">rank", ">score", ">by words", ">by meaning", ">cosine", "holds"),
            [_row(number, each) for number, each in enumerate(told.hits, 1)],
        )


def _row(number: int, reason: Reason) -> tuple[str, ...]:
    near = [f"#{each.seq} {_held(each.terms)}" for each in reason.neighbours if each.terms]
    around = f"; around it: {'; '.join(near)}" if near else ""
    return (
        str(number),
        f"{reason.hit.score:.3f}",
        _place(reason.placed.by_words),
        _place(reason.placed.by_meaning),
        "-" if reason.cosine is None else f"{reason.cosine:.2f}",
        (_held(reason.terms) or "no term") + around,
    )


def _held(terms: Mapping[str, int]) -> str:
    return ", ".join(term if count == 1 else f"{term} ×{count}" for term, count in terms.items())


def _place(place: int | None) -> str:
    return "-" if place is None else f"#{place}"


def show_why_not(page: Page, told: WhyNot) -> None:
    """The step, the sentence, and what would change it."""
    if told.found:
        page.say(f"Found: {told.detail}.")
    else:
        page.say(f"Fell out at: {told.step}. {told.detail[:1].upper()}{told.detail[1:]}.")
    if told.change:
        page.note(f"Would be found with {told.change}.")
    if told.placed is not None:
        page.pairs(
            [
                ("rank", told.placed.rank),
                ("by words", _place(told.placed.by_words)),
                ("by meaning", _place(told.placed.by_meaning)),
                ("score", f"{told.placed.score:.3f}"),
                ("worth", f"{told.placed.worth:.3f}"),
            ]
        )
