"""`usage`: what contexts and model calls took, of a thread or of a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from bethink.cli.options import Answer, Run, verb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bethink.cli.render import Page
    from bethink.models.language import Usage
    from bethink.usage import UsageReport

__all__ = ["register", "usage_facts", "usage_lines"]


def register(app: typer.Typer) -> None:
    verb(app, "usage", "bethink usage trip --user mara", "bethink usage --namespace acme --json")(usage)


def usage(
    run: Run,
    thread: Annotated[
        str | None, typer.Argument(metavar="[THREAD]", help="One thread; the namespace and all below it if left out.")
    ] = None,
) -> Answer:
    """What contexts took: tokens by section, what was saved, seconds by step; and calls of a language model.

    Nothing of it leaves this machine.
    """
    with run.memory() as memory:
        if thread is None:
            found = memory.usage()
        else:
            of_thread = memory.thread(thread)
            of_thread.info()  # there is such a thread
            found = of_thread.usage()
    facts = {"namespace": run.namespace, "thread": thread, "usage": usage_facts(found)}
    return Answer(facts, lambda page: _show(page, found))


def usage_facts(found: UsageReport) -> dict[str, Any]:
    """A report for --json, with what follows from it."""
    facts: dict[str, Any] = msgspec.to_builtins(found)
    return {**facts, "saved": found.saved, "saved_share": round(found.saved_share, 4)}


def usage_lines(found: UsageReport) -> Iterator[tuple[str, str]]:
    """A report in a few names and values."""
    if found.turns:
        share = f", {found.saved_share:.0%} fewer than the full history" if found.saved > 0 else ""
        yield "contexts", f"{found.turns:,} of {found.tokens:,} tokens together{share}"
    if found.model.calls:
        yield "model", _model(found.model)


def _show(page: Page, found: UsageReport) -> None:
    from bethink.cli.render import counted, when

    if not found.turns and not found.model.calls:
        page.say("No context has been made here.")
        return
    if found.turns:
        about = f" ({counted(found.estimated, 'turn')} by estimate)" if found.estimated else ""
        page.pairs(
            (
                ("contexts", f"{found.turns:,}, from {when(found.since)} to {when(found.until)}"),
                ("tokens", f"{found.tokens:,}, where the full history would have been {found.history:,}{about}"),
                ("saved", f"{found.saved:,} tokens, {found.saved_share:.0%}"),
                ("compactions", f"{found.compactions:,}"),
                ("model", _model(found.model)),
            )
        )
        page.blank()
        page.table(
            (">last", ">mean", ">total", "tokens of"),
            ((f"{each.last:,}", f"{each.mean:,.0f}", f"{each.total:,}", name) for name, each in found.sections.items()),
        )
        page.blank()
        page.table(
            (">p50 ms", ">p95 ms", ">most ms", "time of"),
            (
                (f"{each.p50 * 1e3:.2f}", f"{each.p95 * 1e3:.2f}", f"{each.most * 1e3:.2f}", step)
                for step, each in found.seconds.items()
            ),
        )
        return
    page.pairs((("model", _model(found.model)),))


def _model(used: Usage) -> str:
    from bethink.cli.render import counted

    if not used.calls:
        return "not asked"
    cost = "" if used.cost is None else f", {used.cost:,.4f} US dollars"
    return f"{counted(used.calls, 'call')}, {used.tokens_in:,} tokens in, {used.tokens_out:,} out{cost}"
