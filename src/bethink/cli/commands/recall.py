"""`recall`: the best answers to a query, with the scores that ranked them."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bethink.cli.options import Answer, Run, verb
from bethink.errors import InvalidInput

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.retrieval.rank import RecallResult

__all__ = ["facts_of", "register", "show_hits"]

_SHOWN_CHARACTERS = 200


class _Kind(str, Enum):
    """What recall finds. An enumeration, since typer takes no list of literals."""

    message = "message"
    note = "note"
    insight = "insight"
    summary = "summary"


def register(app: typer.Typer) -> None:
    verb(
        app,
        "recall",
        'bethink recall "where does she live" --user mara',
        'bethink recall "dinner" -k 3 --kind insight --kind note --user mara',
        'bethink recall "release date" --namespace acme --below --json',
        """bethink recall "dinner" --where '{"metadata.topic": {"in": ["food"]}}'""",
        """bethink recall "dinner" --where '{"at": {"gte": "2026-03-01T00:00:00Z"}}'""",
    )(recall)


def recall(
    run: Run,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)],
    k: Annotated[int | None, typer.Option("-k", "--limit", min=1, help="At most so many.", show_default="8")] = None,
    kind: Annotated[list[_Kind] | None, typer.Option(help="Only things of this kind; may be repeated.")] = None,
    below: Annotated[bool, typer.Option("--below", help="Also search the namespaces below.")] = False,
    where: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="A filter (docs/retrieval.md): only what it is true of."),
    ] = None,
) -> Answer:
    """Find the best answers to a query; possibly none."""
    passing = None if where is None else _where(where)
    with run.memory() as memory:
        found = memory.recall(query, k, kinds=[each.value for each in kind] if kind else None, below=below, where=passing)
    return Answer(facts_of(found), lambda page: _show(page, found))


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
    return {"hits": found.hits, "pending": found.pending, "empty_reason": found.empty_reason, "legs": found.legs}


def _show(page: Page, found: RecallResult) -> None:
    from bethink.cli.render import counted

    if not found:
        page.say(f"Nothing: {found.empty_reason}.")
    show_hits(page, found)
    if found.pending:
        page.note(f"{counted(found.pending, 'thing')} without a vector yet, ranked by words alone; `bethink flush` makes them.")


def show_hits(page: Page, found: RecallResult, *, limit: int = _SHOWN_CHARACTERS) -> None:
    """Hits, each with its score, what each leg added to it, and where it is from."""
    from bethink.cli.render import one_line, when
    from bethink.context import handle

    for hit in found:
        legs = " + ".join(f"{name} {value:.2f}" for name, value in hit.scores.items() if round(value, 2))
        where = f"{hit.thread_id} #{hit.seq}, {hit.speaker}" if hit.kind == "message" else f"{hit.kind} mem:{handle(hit.id)}"
        page.item(f"{hit.score:.2f}  {one_line(hit.text, limit)}", f"{legs} · {where}, {when(hit.at)}", indent=0)
