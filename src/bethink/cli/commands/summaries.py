"""`summaries`, `expand`, `refine`: what stands for the folded past of a thread, what is behind it, a model's words for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, cast

import msgspec
import typer

from bethink.cli.commands.threads import ThreadArgument
from bethink.cli.options import Answer, Run, verb
from bethink.errors import InvalidInput
from bethink.limits import Budget

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.messages import Message
    from bethink.settings import ModelStepName
    from bethink.steps.plan import RefinePlan
    from bethink.steps.refine import RefineReport
    from bethink.steps.summaries import SummaryNode

__all__ = ["register"]

_NodeArgument = Annotated[
    str, typer.Argument(metavar="NODE", help="The node's id, as `summaries` shows it.", show_default=False)
]


def register(app: typer.Typer) -> None:
    verb(
        app,
        "summaries",
        "bethink summaries trip --user mara",
        "bethink summaries trip --lines",
        "bethink summaries trip --json",
    )(summaries)
    verb(
        app,
        "refine",
        "bethink refine --model openai:gpt-4o-mini --user mara",
        "OPENAI_BASE_URL=http://localhost:8080/v1 bethink refine --model openai:qwen3",
        "bethink refine --step extract --step reconcile --max-calls 20",
        "bethink refine --model openai:gpt-4o-mini --step extract --plan",
    )(refine)
    verb(app, "expand", "bethink expand trip 019b8d62-7a80-7eae-b872-70d142a9087a --user mara")(expand)


def summaries(
    run: Run,
    thread: ThreadArgument,
    lines: Annotated[bool, typer.Option("--lines", help="Also what each of them says.")] = False,
) -> Answer:
    """List the summary nodes of a thread: what each covers, who wrote it, whether a model failed at it."""
    with run.memory() as memory:
        info = memory.thread(thread).info()
        found = memory.thread(thread).summaries()
    facts = {"thread_id": thread, "folded_through": info.folded_through, "summaries": found}
    return Answer(facts, lambda page: _show(page, thread, found, lines))


def _show(page: Page, thread: str, found: list[SummaryNode], lines: bool) -> None:
    from bethink.cli.render import counted, when

    if not found:
        page.say(f"Nothing of thread {thread} has been folded yet.")
        return
    for node in found:
        # The id comes first, so that it is never broken.
        page.say(f"{node.id}  level {node.level}, {counted(len(node.lines), 'line')} by {node.author}")
        page.note(f"messages {ranges(node.covers)}", indent=2)
        if failure := _failure(node):
            page.note(f"last attempt: {failure}", indent=2)
        for line in node.lines if lines else ():
            page.item(line.text, f"{line.speaker + ', ' if line.speaker else ''}{when(line.at)}")


def _failure(node: SummaryNode) -> str:
    from bethink.cli.render import when

    failed = node.failed
    if failed is None:
        return ""
    again = "given up" if failed.retry_at is None else f"again from {when(failed.retry_at)}"
    return f"{failed.model}: {failed.reason}, {again}"


def ranges(covers: Sequence[tuple[int, int]]) -> str:
    """`1-24, 27`."""
    return ", ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in covers)


def refine(
    run: Run,
    model: Annotated[
        str, typer.Option(help="Who is asked: openai:MODEL, ollama:MODEL ...: see docs/models.md.", show_default=False)
    ],
    thread: Annotated[str | None, typer.Argument(metavar="THREAD", help="One thread; by default all.")] = None,
    below: Annotated[bool, typer.Option("--below", help="Also threads of the namespaces below.")] = False,
    limit: Annotated[int | None, typer.Option(help="At most so many summaries; by default all that are due.")] = None,
    step: Annotated[
        list[str] | None,
        typer.Option(help="What to do: summarise (the default), extract, reconcile, importance, reflect; may be repeated."),
    ] = None,
    max_calls: Annotated[int | None, typer.Option(help="At most so many calls of the model.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="At most so many tokens, read and written.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="At most so much, where the model says what it costs.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be asked, and how much it takes at most.")] = False,
) -> Answer:
    """Ask a language model for the summaries that are due, in the place of extractive ones; or for other steps of memory.

    What it brings is stored call by call: an interrupt loses at most the one that is being answered. Exits with 1 where the
    model failed at any.
    """
    if thread is not None and below:
        raise InvalidInput("below", "given with a thread", "give one of the two")
    budget = Budget(max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost)
    steps = cast("list[ModelStepName] | None", step or None)
    with run.memory(language_model=model) as memory:
        if plan:
            of = memory.plan(below=below, steps=steps) if thread is None else memory.thread(thread).plan(steps=steps)
            facts = {"calls": of.calls, "tokens": of.tokens, **{name: getattr(of, name) for name in of.__struct_fields__}}
            return Answer(facts, lambda page: _show_plan(page, of))
        if thread is None:
            report = memory.refine(below=below, limit=limit, steps=steps, budget=budget)
        else:
            report = memory.thread(thread).refine(limit=limit, steps=steps, budget=budget)
    return Answer(report, lambda page: _show_report(page, report), code=1 if report.failed else 0)


def _show_plan(page: Page, of: RefinePlan) -> None:
    from bethink.cli.render import counted, when

    for each in of.planned:
        where = f"{'/'.join(each.namespace)} {each.thread_id}, messages {ranges(((each.first, each.through),))}"
        page.say(f"{each.step}: {where}")
        page.note(
            f"{counted(each.calls, 'call')}, at most {each.tokens_in:,} tokens read and {each.tokens_out:,} written", indent=2
        )
    page.say(f"{counted(of.calls, 'call')}, at most {of.tokens:,} tokens")
    for failed in of.failed:
        again = "given up" if failed.retry_at is None else f"again from {when(failed.retry_at)}"
        page.note(
            f"{failed.step}: {failed.thread_id}, messages {ranges(((failed.first, failed.through),))}: {failed.reason}, {again}"
        )
    if of.waiting or of.given_up:
        page.note(f"{of.waiting} waiting after a failure, {of.given_up} given up")
    if of.limited:
        page.note(f"the limit {of.limited} is reached: nothing would be asked")


def _show_report(page: Page, report: RefineReport) -> None:
    from bethink.cli.render import counted, when

    for attempt in report.failed:
        page.say(f"{attempt.model}: {attempt.reason} {attempt.detail}".rstrip(), style="yellow")
    for asked in report.asked:
        if not asked.failed:
            left_out = sum(asked.dropped.values())
            dropped = f", {left_out} dropped: {', '.join(asked.dropped)}" if left_out else ""
            page.say(f"{asked.step}: {asked.thread_id}, messages {ranges(((asked.first, asked.through),))}")
            page.note(f"{asked.kept} kept{dropped}", indent=2)
    if report.attempts or not report.asked:
        failed = sum(attempt.failed for attempt in report.attempts)
        page.say(f"{counted(len(report.written), 'summary', 'summaries')} written, {failed} failed")
    if report.limited:
        page.note(f"stopped at the limit {report.limited}")
    if left := report.due + report.waiting:
        again = "" if report.retry_at is None else f", the first failed one again from {when(report.retry_at)}"
        page.note(f"{left} left{again}")
    took = report.usage
    page.note(f"{counted(took.calls, 'call')}, {took.tokens_in:,} tokens read and {took.tokens_out:,} written")


def expand(run: Run, thread: ThreadArgument, node: _NodeArgument) -> Answer:
    """Show the messages that a summary node stands for, oldest first."""
    with run.memory() as memory:
        messages = memory.thread(thread).expand(node)
    plain = [msgspec.structs.replace(message, raw=None) for message in messages]
    return Answer({"thread_id": thread, "node_id": node, "messages": plain}, lambda page: _show_messages(page, messages))


def _show_messages(page: Page, messages: list[Message]) -> None:
    from bethink.cli.commands.threads import show_message

    for message in messages:
        show_message(page, message)
