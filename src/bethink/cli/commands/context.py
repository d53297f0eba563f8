"""`context`, `replay`: what the model gets to see, and what it once saw."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bethink.cli.commands.threads import ThreadArgument
from bethink.cli.options import Answer, Run, verb

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.context import Context

__all__ = ["facts_of", "register"]

_SHOWN_CHARACTERS = 150
_Oversize = Literal["cut", "error"]


def register(app: typer.Typer) -> None:
    verb(
        app,
        "context",
        'bethink context trip "book me a dinner" --budget 800 --user mara',
        "bethink context trip --budget 4000 --user mara --json",
        "bethink context trip --policy 'sliding-window(20)' --user mara",
        "bethink context trip --for-model gpt-4o --oversize cut --user mara",
    )(context)
    verb(app, "replay", "bethink replay RECEIPT --user mara", "bethink replay RECEIPT --user mara --json")(replay)


def context(
    run: Run,
    thread: ThreadArgument,
    query: Annotated[
        str | None, typer.Argument(metavar="[QUERY]", help="What to recall for; the newest user message if left out.")
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="At most so many tokens.", show_default="8000")] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="What stays in view, such as 'sliding-window(20)' or 'tiers | summarize'.", show_default="hybrid"),
    ] = None,
    oversize: Annotated[
        _Oversize | None,
        typer.Option(
            help="What is done with messages larger than their room; left out: an error for the question, a cut for the rest."
        ),
    ] = None,
    for_model: Annotated[str | None, typer.Option(help="Count as this model does, such as gpt-4o.")] = None,
) -> Answer:
    """Build the context of a thread, each line with its reason."""
    from bethink.compaction.policies import policy_from

    with run.memory() as memory:
        built = memory.thread(thread).context(
            query,
            budget=budget,
            policy=None if policy is None else policy_from(policy),
            oversize=oversize,
            for_model=for_model,
        )
    return Answer(facts_of(built), lambda page: _show(page, built, recorded=True))


def replay(
    run: Run, receipt: Annotated[str, typer.Argument(metavar="RECEIPT", help="The receipt of a context.", show_default=False)]
) -> Answer:
    """Show a context again, byte for byte, by its receipt."""
    with run.memory() as memory:
        built = memory.replay(receipt)
    return Answer(facts_of(built), lambda page: _show(page, built, recorded=False))


def facts_of(built: Context) -> dict[str, Any]:
    """A context for --json; `messages` are what the model is sent."""
    return {
        "receipt": built.receipt_id,
        "budget": built.budget,
        "tokens": built.tokens,
        "headroom": built.headroom,
        "load": built.load,
        "sections": built.sections,
        "lines": built.lines,
        "omitted": built.omitted,
        "without": built.without,
        "explanation": built.explain(),
        "messages": built.to_openai(),
    }


def _show(page: Page, built: Context, *, recorded: bool) -> None:
    _show_lines(page, built)
    page.blank()
    page.say(f"{built.tokens:,} of {built.budget:,} tokens ({built.load}), in {len(built.messages)} messages")
    for left_out in built.omitted:
        page.note(f"left out: {left_out}")
    for problem in built.without:
        page.note(problem)
    for decision in built.explain().decisions:
        if decision.policy not in ("budget", "pairing"):
            page.note(f"{decision.policy}: {decision.done} {decision.count:,} messages ({decision.reason})")
    if recorded:
        page.exact(f"bethink replay {built.receipt_id}")


def _show_lines(page: Page, built: Context) -> None:
    """The lines of a context under their sections, each with its day, its reason and its tokens."""
    from bethink.cli.render import one_line

    for section, lines in groupby(built.lines, key=lambda line: line.section):
        page.heading(section)
        for line in lines:
            day = f"{line.at.date().isoformat()} · " if line.at else ""
            page.item(one_line(line.text, _SHOWN_CHARACTERS), f"{day}{line.reason} · {line.tokens} tokens")
