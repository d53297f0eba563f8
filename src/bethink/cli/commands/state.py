"""`state` and `handoff`: what a thread's work has come to, set and read; a task for a specialist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bethink.cli.commands.threads import ThreadArgument
from bethink.cli.options import Answer, Run, verb
from bethink.errors import InvalidInput

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.handoffs import Handoff
    from bethink.insights.state.values import Entry, State
    from bethink.thread import Thread

__all__ = ["register"]

_Texts = list[str] | None


def register(app: typer.Typer) -> None:
    verb(
        app,
        "state",
        "bethink state build --user mara",
        'bethink state build --decision "Use SQLite because it is one file"',
        "bethink state build --block 300",
    )(state)
    verb(
        app,
        "handoff",
        'bethink handoff build "Write the parser" --artifact spec.md',
        'bethink handoff build "Write the parser" --id parser --json',
    )(handoff)


def state(
    run: Run,
    thread: ThreadArgument,
    project: Annotated[str | None, typer.Option(help="The work that the thread is part of.", show_default=False)] = None,
    goal: Annotated[str | None, typer.Option(help="The goal from now on.", show_default=False)] = None,
    phase: Annotated[str | None, typer.Option(help="The phase from now on.", show_default=False)] = None,
    decision: Annotated[_Texts, typer.Option(help='What was decided, or "WHAT because WHY".', show_default=False)] = None,
    fact: Annotated[_Texts, typer.Option(help="Something to be kept in mind.", show_default=False)] = None,
    done: Annotated[_Texts, typer.Option(help="A finished task.", show_default=False)] = None,
    artifact: Annotated[_Texts, typer.Option(help="A file or URI, or REF=WHAT IT IS.", show_default=False)] = None,
    question: Annotated[_Texts, typer.Option(help="An open question.", show_default=False)] = None,
    answer: Annotated[_Texts, typer.Option(help="ID=ANSWER to an open question.", show_default=False)] = None,
    withdraw: Annotated[_Texts, typer.Option(help="The id of an entry that is not so.", show_default=False)] = None,
    history: Annotated[bool, typer.Option("--history", help="Also what is no longer current, and why.")] = False,
    block: Annotated[
        int | None, typer.Option(help="Print the state as a block of so many tokens, for a sub-agent.", show_default=False)
    ] = None,
) -> Answer:
    """Show the state of the work in a thread, after setting what is given.

    Entries are drawn from what was said; options that can be given several times add one each.
    """
    from bethink.insights.state.values import Artifact

    given = {
        "project": project,
        "goal": goal,
        "phase": phase,
        "decisions": [_because(each) for each in decision or ()],
        "facts": fact,
        "completed": done,
        "artifacts": [Artifact(*each.split("=", 1)) for each in artifact or ()],
        "questions": question,
        "answers": dict(_answer(each) for each in answer or ()),
        "withdraw": withdraw,
    }
    given = {name: value for name, value in given.items() if value}
    with run.memory(create=bool(given)) as memory:
        conversation = memory.thread(thread)
        if not given:
            # A thread that is not there is an error, one without a state is not.
            conversation.info()
        found = conversation.set_state(**given) if given else conversation.state()  # type: ignore[arg-type]
        text = None if block is None else conversation.state_block(block)
    if text is not None:
        return Answer({"thread_id": thread, "block": text}, lambda page: page.say(text))
    return Answer({"thread_id": thread, "state": found}, lambda page: _show(page, thread, found, history))


def handoff(
    run: Run,
    thread: ThreadArgument,
    task: Annotated[str, typer.Argument(metavar="TASK", help="What is to be done.", show_default=False)],
    artifact: Annotated[_Texts, typer.Option(help="A file or URI to work on.", show_default=False)] = None,
    constraint: Annotated[_Texts, typer.Option(help="What to keep to.", show_default=False)] = None,
    budget: Annotated[int | None, typer.Option(help="Tokens of the first context.", show_default=False)] = None,
    thread_id: Annotated[
        str | None, typer.Option("--id", help="Of the specialist's thread: again is a retry.", show_default=False)
    ] = None,
) -> Answer:
    """Hand a task to a specialist, in a thread of its own: with the state of this one, without its messages."""
    with run.memory() as memory:
        conversation = memory.thread(thread)
        conversation.info()
        handed = conversation.handoff(
            task, artifacts=artifact or (), constraints=constraint or (), budget=budget, thread_id=thread_id
        )
    facts = {
        "thread_id": handed.thread.id,
        "namespace": handed.thread.namespace,
        "receipt_id": handed.context.receipt_id,
        "tokens": handed.context.tokens,
        "messages": handed.to_openai(),
    }
    return Answer(facts, lambda page: _show_handoff(page, handed))


def _because(text: str) -> str | tuple[str, str]:
    what, _, why = text.partition(" because ")
    return (what, why) if why else text


def _answer(text: str) -> tuple[str, str]:
    name, mark, said = text.partition("=")
    if not mark:
        raise InvalidInput("answer", "no id", "write it as ID=ANSWER; the ids are in the list of open questions")
    return name, said


def _show(page: Page, thread: str, found: State, history: bool) -> None:
    from bethink.cli.render import one_line
    from bethink.insights.state.lines import line_of_entry

    if found.project:
        page.say(f"project: {one_line(found.project)}")
    if not found:
        page.say(f"Nothing is known yet of the work in thread {thread}.")
    for entry in found:
        page.item(one_line(line_of_entry(entry)), _source(entry), indent=0)
    if not history:
        return
    page.blank()
    page.heading("No longer current" if found.history else "Nothing was ever superseded.")
    for entry in found.history:
        answer = f": {one_line(entry.answer)}" if entry.answer else ""
        page.item(one_line(line_of_entry(entry)), f"{entry.status}{answer} · {_source(entry)}", indent=0)


def _source(entry: Entry) -> str:
    from bethink.cli.render import when

    who = "set by hand" if entry.by == "hand" else f"said by the {entry.by}"
    return f"{who}, {when(entry.at)} · {entry.id}"


def _show_handoff(page: Page, handed: Handoff[Thread]) -> None:
    page.say(handed.context.text)
    page.blank()
    page.note(f"thread {handed.thread.id} in {'/'.join(handed.thread.namespace)}, {handed.context.tokens:,} tokens")
