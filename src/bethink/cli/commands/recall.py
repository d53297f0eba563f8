"""`recall`: the best answers to a query, with the scores that ranked them."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bethink.cli.commands.past import AsOf, ValidAt, moment_of
from bethink.cli.options import Answer, Run, verb
from bethink.errors import InvalidInput

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.retrieval.hits import RecallResult

__all__ = ["facts_of", "register", "show_hits"]

_SHOWN_CHARACTERS = 200


class _Kind(str, Enum):
    """What recall finds. An enumeration, since typer takes no list of literals."""

    message = "message"
    note = "note"
    insight = "insight"
    summary = "summary"
    episode = "episode"


class _Unit(str, Enum):
    """What a hit is."""

    message = "message"
    turn = "turn"
    session = "session"
    record = "record"


def register(app: typer.Typer) -> None:
    verb(
        app,
        "recall",
        'bethink recall "where does she live" --user mara',
        'bethink recall "dinner" -k 3 --kind insight --kind note --user mara',
        'bethink recall "release date" --namespace acme --below --json',
        """bethink recall "dinner" --where '{"metadata.topic": {"in": ["food"]}}'""",
        """bethink recall "dinner" --where '{"at": {"gte": "2026-03-01T00:00:00Z"}}'""",
        'bethink recall "dinner" --budget 500 --unit turn --user mara',
        'bethink recall "where does she live" --why --user mara',
        'bethink recall "where does she live" --as-of 2026-03-01 --user mara',
    )(recall)
    verb(
        app,
        "why",
        'bethink why "where does she live" --user mara',
        'bethink why "where does she live" --not mem:3f2a9c1d --user mara',
        'bethink why "release date" --not MESSAGE_ID --budget 500 --json',
        'bethink why "where does she live" --as-of 2026-03-01 --user mara',
    )(why)


_K = Annotated[int | None, typer.Option("-k", "--limit", min=1, help="At most so many.", show_default="8")]
_KINDS = Annotated[list[_Kind] | None, typer.Option(help="Only things of this kind; may be repeated.")]
_BELOW = Annotated[bool, typer.Option("--below", help="Also search the namespaces below.")]
_WHERE = Annotated[str | None, typer.Option(metavar="JSON", help="A filter (docs/retrieval.md): only what it is true of.")]
_UNIT = Annotated[_Unit, typer.Option(help="What a hit is: a turn is a user message with its replies, a session a thread.")]
_BUDGET = Annotated[int | None, typer.Option(min=1, help="Tokens that all hits may take; as many as fit, unless -k is given.")]


def recall(
    run: Run,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)],
    k: _K = None,
    kind: _KINDS = None,
    below: _BELOW = False,
    where: _WHERE = None,
    unit: _UNIT = _Unit.message,
    budget: _BUDGET = None,
    why: Annotated[bool, typer.Option("--why", help="Also say how each hit came to its place.")] = False,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> Answer:
    """Find the best answers to a query; possibly none."""
    given = _given(kind, below, where, unit, budget, as_of, valid_at)
    if why:
        return _explained(run, query, k, given)
    with run.memory() as memory:
        found = memory.recall(query, k, **given)
    return Answer(facts_of(found), lambda page: _show(page, found))


def why(
    run: Run,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)],
    missed: Annotated[
        str | None, typer.Option("--not", metavar="ID", help="A message or record: say why it is no hit.")
    ] = None,
    k: _K = None,
    kind: _KINDS = None,
    below: _BELOW = False,
    where: _WHERE = None,
    unit: _UNIT = _Unit.message,
    budget: _BUDGET = None,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
) -> Answer:
    """Say how a recall comes about, hit by hit; or at which step something falls out of it."""
    given = _given(kind, below, where, unit, budget, as_of, valid_at)
    if missed is None:
        return _explained(run, query, k, given)
    with run.memory() as memory:
        found = memory.why_not(missed, query, k, **given)
    from bethink.cli.commands.why import show_why_not

    return Answer(found, lambda page: show_why_not(page, found))


def _given(
    kind: list[_Kind] | None,
    below: bool,
    where: str | None,
    unit: _Unit,
    budget: int | None,
    as_of: str | None,
    valid_at: str | None,
) -> dict[str, Any]:
    """The options of a recall, as `Memory.recall` takes them."""
    return {
        "kinds": [each.value for each in kind] if kind else None,
        "below": below,
        "where": None if where is None else _where(where),
        "unit": unit.value,
        "budget": budget,
        "as_of": moment_of(as_of, "as_of"),
        "valid_at": moment_of(valid_at, "valid_at"),
    }


def _explained(run: Run, query: str, k: int | None, given: dict[str, Any]) -> Answer:
    from bethink.cli.commands.why import show_why

    with run.memory() as memory:
        told = memory.why(query, k, **given)

    def show(page: Page) -> None:
        _show(page, told.result)
        show_why(page, told)

    return Answer({**facts_of(told.result), "why": told}, show)


def _where(text: str) -> Any:
    """A filter from the command line. Of a key given twice, JSON would keep the last and so find more than was asked for."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = dict(pairs)
        if len(keys) < len(pairs):
            raise InvalidInput("where", "the same key twice in one object", 'join the two: {"and": [{...}, {...}]}')
        return keys

    try:
        return json.loads(text, object_pairs_hook=once)
    except InvalidInput:
        raise
    except (ValueError, RecursionError):
        raise InvalidInput("where", "no JSON", """write it as '{"metadata.topic": "billing"}'""") from None


def facts_of(found: RecallResult) -> dict[str, Any]:
    """A recall for --json."""
    return {name: getattr(found, name) for name in found.__struct_fields__}


def _show(page: Page, found: RecallResult) -> None:
    from bethink.cli.render import counted

    if not found:
        page.say(f"Nothing: {found.empty_reason}.")
    show_hits(page, found)
    if found.tokens or found.left_out:
        page.note(f"{found.tokens:,} tokens; {counted(len(found.left_out), 'line')} did not fit.")
    if found.pending:
        page.note(f"{counted(found.pending, 'thing')} without a vector yet, ranked by words alone; `bethink flush` makes them.")


def show_hits(page: Page, found: RecallResult, *, limit: int = _SHOWN_CHARACTERS) -> None:
    """Hits, each with its score, what each leg added to it, and where it is from."""
    from bethink.cli.render import one_line, when
    from bethink.context import handle
    from bethink.retrieval.hits import excerpt

    for hit in found:
        legs = " + ".join(f"{name} {value:.2f}" for name, value in hit.scores.items() if round(value, 2))
        where = f"{hit.thread_id} #{hit.seq}, {hit.speaker}" if hit.kind == "message" else f"{hit.kind} mem:{handle(hit.id)}"
        where += f", by {hit.author}" if hit.author else ""
        where += "".join(f", contradicted by {other.author} mem:{handle(other.id)}" for other in hit.disputed_by)
        page.item(f"{hit.score:.2f}  {one_line(hit.shown, limit)}", f"{legs} · {where}, {when(hit.at)}", indent=0)
        for member in hit.members:
            if member.id != hit.id:
                score = "    " if member.score is None else f"{member.score:.2f}"
                page.note(
                    f"{score}  {member.speaker or member.kind}: {one_line(excerpt(member.text, member.cut), limit)}", indent=2
                )
