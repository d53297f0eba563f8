"""`items`: JSON objects under keys: put, get, search, list, delete, history, namespaces, sweep."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bethink.cli.options import Answer, Run, examples, verb
from bethink.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.items import FoundItem, Item
    from bethink.storage.base import ForgetReceipt
    from bethink.values import Namespace

__all__ = ["app"]

app = typer.Typer(
    help="JSON objects under keys: put, get, search, list, delete.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=examples("""bethink items put prefs '{"food": "pizza"}' --user mara""", "bethink items get prefs --user mara"),
)

_SHOWN_CHARACTERS = 200
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_TTL = re.compile(r"(\d{1,9})([smhd])")

_Key = Annotated[str, typer.Argument(metavar="KEY", help="The key.", show_default=False)]
_Ttl = Annotated[str | None, typer.Option(help="How long it lives: 90s, 30m, 12h, 7d.", show_default=False)]
_Expected = Annotated[
    int | None, typer.Option("--expect", help="Only if the item is of this version; 0: not there.", show_default=False)
]
_Where = Annotated[
    str | None, typer.Option(help="Only those whose values this filter is true of, as JSON.", show_default=False)
]
_Below = Annotated[bool, typer.Option("--below", help="Also the namespaces below.")]
_Refresh = Annotated[bool, typer.Option("--refresh", help="Let what is read live on for its whole --ttl.")]


def put(
    run: Run,
    key: _Key,
    value: Annotated[str, typer.Argument(metavar="JSON", help="A JSON object.", show_default=False)],
    ttl: _Ttl = None,
    index: Annotated[
        list[str] | None,
        typer.Option("--index", help="A path of what search reads of it; all if left out.", show_default=False),
    ] = None,
    no_index: Annotated[bool, typer.Option("--no-index", help="Search reads nothing of it.")] = False,
    expect: _Expected = None,
) -> Answer:
    """Set what a key holds. The version before is kept in its history.

    The database is made if need be.
    """
    if index and no_index:
        raise InvalidInput("index", "paths together with --no-index", "use one of them")
    given, life = _json(value, "value"), _ttl(ttl)
    with run.memory(create=True) as memory:
        item = memory.items.put(key, given, ttl=life, index=index or not no_index, expected_version=expect)
    return Answer({"item": item}, lambda page: page.say(f"Put {key}, version {item.version}{_until(item)}"))


def get(run: Run, key: _Key, refresh: _Refresh = False) -> Answer:
    """Print what a key holds."""
    with run.memory() as memory:
        item = memory.items.get(key, refresh=refresh)
    if item is None:
        raise NotFound("there is no item of that key here — list what there is with `bethink items list`")
    return Answer({"item": item}, lambda page: _show(page, [item]))


def search(
    run: Run,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)],
    where: _Where = None,
    below: _Below = False,
    limit: Annotated[int, typer.Option(help="How many.")] = 10,
    offset: Annotated[int, typer.Option(help="How many to pass over.")] = 0,
    threshold: Annotated[
        float | None, typer.Option(help="A score below which nothing is an answer; 0 for all.", show_default=False)
    ] = None,
    refresh: _Refresh = False,
) -> Answer:
    """Find items by words and meaning, best first."""
    return _found(run, query, where, below=below, limit=limit, offset=offset, threshold=threshold, refresh=refresh)


def list_items(
    run: Run,
    where: _Where = None,
    below: _Below = False,
    limit: Annotated[int, typer.Option(help="How many.")] = 10,
    offset: Annotated[int, typer.Option(help="How many to pass over.")] = 0,
) -> Answer:
    """List items, the one put last first."""
    return _found(run, None, where, below=below, limit=limit, offset=offset)


def delete(
    run: Run,
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="The keys.", show_default=False)],
    expect: _Expected = None,
) -> Answer:
    """Remove items with their history, and say which were there."""
    with run.memory() as memory:
        deleted = memory.items.delete(*keys, expected_version=expect)
    missing = [key for key in dict.fromkeys(keys) if key not in deleted]
    facts = {"deleted": deleted, "not_found": missing}
    return Answer(facts, lambda page: _show_deleted(page, deleted, missing), code=1 if missing else 0)


def history(run: Run, key: _Key) -> Answer:
    """Print the versions of an item, newest first."""
    with run.memory() as memory:
        versions = memory.items.history(key)
    if not versions:
        raise NotFound("there is no item of that key here — list what there is with `bethink items list`")
    return Answer({"versions": versions}, lambda page: _show(page, versions))


def namespaces(
    run: Run,
    prefix: Annotated[str, typer.Option(help='First segments, between slashes; "*" for any one.')] = "",
    suffix: Annotated[str, typer.Option(help="Last segments, likewise.")] = "",
    max_depth: Annotated[int | None, typer.Option(help="Cut them to so many segments.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(help="How many.")] = 100,
    offset: Annotated[int, typer.Option(help="How many to pass over.")] = 0,
) -> Answer:
    """List the namespaces below this one that have items, as their segments below it."""
    with run.memory() as memory:
        found = memory.items.list_namespaces(
            prefix=_segments(prefix), suffix=_segments(suffix), max_depth=max_depth, limit=limit, offset=offset
        )
    return Answer({"namespaces": found}, lambda page: _show_namespaces(page, found))


def sweep(run: Run) -> Answer:
    """Erase the items here and below that have expired, down to the free pages of the file.

    Nothing finds them anyway: this takes back their room and their bytes. Run it now and then, by cron say.
    """
    with run.memory() as memory:
        receipt = memory.items.sweep()
    return Answer({"receipt": receipt}, lambda page: _show_swept(page, receipt))


verb(
    app,
    "put",
    """bethink items put prefs '{"food": "pizza", "seat": "window"}' --user mara""",
    """bethink items put code '{"otp": "123456"}' --ttl 5m --no-index --user mara""",
    """bethink items put prefs '{"food": "sushi"}' --expect 3 --user mara --json""",
)(put)
verb(app, "get", "bethink items get prefs --user mara", "bethink items get code --refresh --user mara --json")(get)
verb(
    app,
    "search",
    'bethink items search "what does she like to eat" --user mara',
    """bethink items search trip --where '{"budget": {"lte": 3000}}' --below""",
)(search)
verb(
    app,
    "list",
    "bethink items list --user mara",
    """bethink items list --where '{"done": false}' --limit 20 --offset 20 --json""",
)(list_items)
verb(app, "delete", "bethink items delete prefs code --user mara", "bethink items delete prefs --expect 3 --json")(delete)
verb(app, "history", "bethink items history prefs --user mara")(history)
verb(
    app, "namespaces", "bethink items namespaces --namespace acme", 'bethink items namespaces --prefix "users/*" --max-depth 2'
)(namespaces)
verb(app, "sweep", "bethink items sweep --namespace acme", "bethink items sweep --json")(sweep)


def _found(run: Run, query: str | None, where: str | None, **options: Any) -> Answer:
    condition = None if where is None else _json(where, "where")
    with run.memory() as memory:
        items = memory.items.search(query, where=condition, **options)
    return Answer(
        {"items": items}, lambda page: _show(page, items, "Nothing here is like that." if query else "No items here.")
    )


def _json(text: str, field: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(field, "not JSON", """write it as '{"key": "value"}'""") from error


def _ttl(text: str | None) -> timedelta | None:
    if text is None:
        return None
    match = _TTL.fullmatch(text)
    if match is None:
        raise InvalidInput("ttl", "no span of time", "write it as 90s, 30m, 12h or 7d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _segments(text: str) -> Sequence[str]:
    return text.split("/") if text else ()


def _until(item: Item) -> str:
    from bethink.cli.render import when

    return "" if item.expires_at is None else f", until {when(item.expires_at)}"


def _show(page: Page, items: Sequence[Item], nothing: str = "") -> None:
    from bethink.cli.render import one_line, when

    if not items:
        page.say(nothing)
    for item in items:
        value = json.dumps(item.value, ensure_ascii=False)
        facts = [f"version {item.version}", when(item.updated_at)]
        if item.expires_at is not None:
            facts.append(f"until {when(item.expires_at)}")
        if (score := _score(item)) is not None:
            facts.insert(0, f"{score:.2f}")
        page.item(f"{one_line(item.key)}: {one_line(value, _SHOWN_CHARACTERS)}", " · ".join(facts), indent=0)


def _score(item: Item | FoundItem) -> float | None:
    return getattr(item, "score", None)


def _show_deleted(page: Page, deleted: list[str], missing: list[str]) -> None:
    from bethink.cli.render import one_line

    for key in deleted:
        page.say(f"Deleted {one_line(key)}")
    for key in missing:
        page.say(f"There was no {one_line(key)}")


def _show_namespaces(page: Page, found: list[Namespace]) -> None:
    if not found:
        page.say("No items here.")
    for segments in found:
        page.say("/".join(segments) or "(this one)")


def _show_swept(page: Page, receipt: ForgetReceipt) -> None:
    from bethink.cli.render import counted

    page.say(f"Erased {counted(len(receipt.record_ids), 'version')} of items that had expired.")
