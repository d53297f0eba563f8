"""`board`: facts that agents post, each under its own name: post, read, history, withdraw, resolve; artifacts: share, open."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from bethink.cli.options import Answer, Run, examples, verb
from bethink.errors import InvalidInput

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.memory import Memory
    from bethink.sharing.artifacts import OpenArtifact
    from bethink.sharing.facts import Fact

__all__ = ["app"]

app = typer.Typer(
    help="What agents tell each other: post, read, withdraw, resolve; share, open.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=examples(
        'bethink board post "It is 40,000." --about budget --value 40000 --as ann',
        "bethink board read --about launch",
    ),
)

_As = Annotated[str, typer.Option("--as", metavar="AGENT", help="The agent's name.", show_default=False)]
_About = Annotated[str | None, typer.Option(help="Only facts about this subject.")]
_Slot = Annotated[str | None, typer.Option(help="Only facts that answer this question about it.")]
_Author = Annotated[str | None, typer.Option(help="Only facts of this agent.")]
_Fact = Annotated[str, typer.Argument(metavar="FACT", help="Its id, or its mark.", show_default=False)]


def post(
    run: Run,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The fact, in a sentence.", show_default=False)],
    agent: _As,
    about: Annotated[str, typer.Option(help="Its subject.", show_default=False)],
    slot: Annotated[str, typer.Option(help="Which question about that it answers.")] = "",
    value: Annotated[str | None, typer.Option(help="The answer.")] = None,
    source: Annotated[str, typer.Option(help="Where it is from.")] = "",
    artifact: Annotated[list[str] | None, typer.Option(metavar="REF", help="An artifact; may be repeated.")] = None,
) -> Answer:
    """Post a fact under an agent's name.

    The agent's newer answer to a question takes the place of its former one; another agent's stays beside it. The database is
    made if need be.
    """
    with run.memory(create=True) as memory:
        view = _as(memory, agent)
        refs = [view.artifact(each).ref for each in artifact or ()]
        fact = view.board.post(text, about=about, slot=slot, value=value, source=source, artifacts=refs)
    return Answer({"fact": fact}, lambda page: _show_posted(page, fact))


def read(
    run: Run,
    about: _About = None,
    slot: _Slot = None,
    author: _Author = None,
    as_of: Annotated[str | None, typer.Option(metavar="TIME", help="As it stood then, such as 2026-03-01T00:00:00Z.")] = None,
    disputed: Annotated[bool, typer.Option("--disputed", help="Only facts that others contradict.")] = False,
) -> Answer:
    """Show what stands on the board, oldest first: who says what, from where, and who contradicts it."""
    at = _time(as_of)
    with run.memory() as memory:
        facts = memory.board.read(about, slot=slot, author=author, as_of=at)
    shown = [fact for fact in facts if fact.contradicted_by or not disputed]
    return Answer({"facts": shown}, lambda page: _show(page, shown))


def history(run: Run, about: _About = None, slot: _Slot = None, author: _Author = None) -> Answer:
    """Show all that was posted, also what stands no longer, and why."""
    with run.memory() as memory:
        facts = memory.board.history(about, slot=slot, author=author)
    return Answer({"facts": facts}, lambda page: _show(page, facts))


def withdraw(run: Run, fact: _Fact, agent: _As) -> Answer:
    """Take back an agent's own fact. It stays in the history."""
    with run.memory() as memory:
        withdrawn = _as(memory, agent).board.withdraw(fact)
    return Answer({"fact": withdrawn}, lambda page: page.say("Withdrawn."))


def resolve(run: Run, fact: _Fact, agent: _As) -> Answer:
    """Settle a dispute in favour of a fact: what contradicts it stands no longer."""
    with run.memory() as memory:
        closed = _as(memory, agent).board.resolve(fact)
    return Answer({"closed": closed}, lambda page: _show_closed(page, closed))


def share(
    run: Run,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Under which it is stored.", show_default=False)],
    content: Annotated[str, typer.Argument(metavar="TEXT", help="A text, or with --data JSON.", show_default=False)],
    agent: _As,
    data: Annotated[bool, typer.Option("--data", help="The content is JSON.")] = False,
) -> Answer:
    """Store an artifact and print its reference.

    The database is made if need be.
    """
    given = _json(content) if data else content
    with run.memory(create=True) as memory:
        ref = _as(memory, agent).store_artifact(key, given)
    return Answer({"ref": ref}, lambda page: page.exact(f"{ref}"))


def open_artifact(
    run: Run, ref: Annotated[str, typer.Argument(metavar="REF", help="art: with its id or mark.", show_default=False)]
) -> Answer:
    """Print what an artifact holds."""
    with run.memory() as memory:
        opened = memory.artifact(ref)
    return Answer({"ref": opened.ref, "content": opened.content}, lambda page: _show_content(page, opened))


verb(
    app,
    "post",
    'bethink board post "It is 40,000." --about budget --value 40000 --as ann',
    'bethink board post "See it." --about vendor --artifact art:3f2a9c1d --as ben',
)(post)
verb(app, "read", "bethink board read --about launch", "bethink board read --disputed --json")(read)
verb(app, "history", "bethink board history --about launch --slot budget")(history)
verb(app, "withdraw", "bethink board withdraw mem:3f2a9c1d --as researcher")(withdraw)
verb(app, "resolve", "bethink board resolve mem:3f2a9c1d --as editor --json")(resolve)
verb(
    app,
    "share",
    'bethink board share offer "We offer 40,000." --as researcher',
    """bethink board share plan '{"steps": 3}' --data --as researcher --json""",
)(share)
verb(app, "open", "bethink board open art:3f2a9c1d", "bethink board open art:3f2a9c1d --json")(open_artifact)


def _as(memory: Memory, agent: str) -> Memory:
    if not agent:
        raise InvalidInput("as", "empty", "say whose word it is: --as researcher")
    return memory.view(agent=agent, write=[()])


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        # Python's own parser takes no "Z" before 3.11.
        return msgspec.convert(text, type=datetime)
    except msgspec.ValidationError as error:
        raise InvalidInput("as_of", "not a time", "write it as 2026-03-01T00:00:00Z") from error


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("content", "not JSON", """write it as '{"key": "value"}', or leave out --data""") from error


def _show(page: Page, facts: Sequence[Fact]) -> None:
    from bethink.cli.render import one_line, when

    if not facts:
        page.say("Nothing stands on the board.")
    for fact in facts:
        page.item(f"{fact.author}: {one_line(fact.text)}", " · ".join([when(fact.at), *_about_it(fact)]), indent=0)


def _about_it(fact: Fact) -> list[str]:
    from bethink.cli.render import one_line
    from bethink.context import handle

    answers = f"{fact.about}, {fact.slot} = {fact.value}" if fact.slot else f"{fact.about} = {fact.value}"
    told = [one_line(answers if fact.value else fact.about)]
    if fact.source:
        told.append(f"from {one_line(fact.source)}")
    told += [ref.short for ref in fact.artifacts]
    told += [
        f"contradicted by {other.author} (mem:{handle(other.id)}): {one_line(other.value)}" for other in fact.contradicted_by
    ]
    if fact.retired_at is not None:
        told.append(fact.reason)
    return [*told, f"mem:{handle(fact.id)}"]


def _show_posted(page: Page, fact: Fact) -> None:
    page.say(f"Posted as {fact.id}")
    for other in fact.contradicted_by:
        page.note(f"{other.author} says otherwise.")


def _show_closed(page: Page, closed: Sequence[Fact]) -> None:
    from bethink.cli.render import one_line

    if not closed:
        page.say("Nothing contradicts it.")
    for fact in closed:
        page.item(f"{fact.author}: {one_line(fact.text)}", fact.reason, indent=0)


def _show_content(page: Page, opened: OpenArtifact) -> None:
    page.say(opened.text)
    page.note(f"{opened.ref.short}, stored by {opened.ref.author}" if opened.ref.author else opened.ref.short)
