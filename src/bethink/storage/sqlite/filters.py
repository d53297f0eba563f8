"""A filter as bound SQL, and the units that pass it.

    Filter ─ _Side ─▶ Condition over a message (m, its thread t)  ─┐
                    ▶ Condition over a record (r)                 ─┴─▶ Passing: asked by each leg, for as many as it needs

A filter that names a time may leave few units of the scope: those are found by an index of times, tested at once, and are all
that either leg has to look at.

Values and keys are parameters, never text of a statement. Every condition is 1 or 0 and never NULL, so that NOT is the opposite
(`IS` where a side may be missing). The lexical leg tests the rows that its words match. The dense leg tests the nearest few
of all, then more of them. Only where words match most of the scope, or too few of the nearest pass, are all units tested, once
for both legs, in one query. To test a unit reads its body, some 2 µs.

SQLite's JSON paths cannot name a key with a quote or a backslash in it (in older versions, none that JSON escapes); such a path
is walked key by key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from bethink.storage.base import And, Compare, Contains, Exists, Filter, In, Not, Or, Scope
from bethink.storage.base.filters import EXPIRES_AT, METADATA, VALUE, Comparison, Scalar, unknown_node
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import listed, micros, path_range

if TYPE_CHECKING:
    from bethink.storage.sqlite.dense import Similarities
    from bethink.storage.sqlite.past import Then

__all__ = ["Condition", "Passing", "of_message", "of_record", "span_of"]

Parameter: TypeAlias = str | int | float | None
_Test: TypeAlias = Compare | In | Contains | Exists

_AHEAD = (4, 64)
"""So many times as many as are wanted are tested, of the nearest, before all units are: enough where one in 60 passes."""

_FEW = 1_000
"""So many units within a span of time are tested one by one, and all that pass are looked at."""
_EARLIEST, _LATEST = -(1 << 62), 1 << 62
"""Microseconds since 1970, before and after every datetime."""

_OPERATORS: dict[Comparison, str] = {"eq": "=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_LISTED = "(SELECT value FROM json_each(?))"
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')


class Condition(NamedTuple):
    """An expression that is 1 or 0, and the values of its question marks in their order."""

    sql: str
    parameters: tuple[Parameter, ...] = ()


_NEVER = Condition("0")


class _Side(NamedTuple):
    """Where the fields of messages are, or those of records.

    Attributes:
        columns: an expression for each field that is no metadata; one that is not here is missing.
        body: the JSON that holds the metadata, and an item's value.
        time: a time in the form of the column "at".
    """

    columns: dict[str, str]
    body: str
    time: Callable[[datetime], str | int]


def _sortable(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")[:26]


_TIER = "coalesce((SELECT x.tier FROM tiers x WHERE x.message = m.id), json_extract(CAST(m.body AS TEXT), '$.tier'), 'working')"
_MESSAGE = _Side(
    columns={
        "at": "m.created_at",
        "kind": "'message'",
        "pinned": f"(m.role IN ('system', 'developer') OR {_TIER} = 'permanent')",
        "role": "m.role",
        "speaker": "coalesce(nullif(json_extract(CAST(m.body AS TEXT), '$.name'), ''), m.role)",
        "thread_id": "t.thread_id",
        "tier": _TIER,
        "trust": "CASE WHEN json_extract(CAST(m.body AS TEXT), '$.external') THEN 'external' "
        "WHEN m.role IN ('assistant', 'tool') THEN m.role ELSE 'user' END",
    },
    body="CAST(m.body AS TEXT)",
    time=micros,
)


def _time_in_body(path: str) -> str:
    """A time in the body. Written with as few digits as it needs: of one length, texts are in the order of their times."""
    time = f"json_extract(CAST(r.body AS TEXT), {path})"
    return f"substr({time}, 1, 19) || CASE length({time}) WHEN 20 THEN '.000000' ELSE substr({time}, 20, 7) END"


_RECORD = _Side(
    columns={
        "at": _time_in_body("CASE r.kind WHEN 'episode' THEN '$.ended_at' ELSE '$.recorded_at' END"),
        "author": "nullif(json_extract(CAST(r.body AS TEXT), '$.author'), '')",
        EXPIRES_AT: _time_in_body("'$.expires_at'"),
        "kind": "r.kind",
        "outcome": "CASE r.kind WHEN 'episode' THEN json_extract(CAST(r.body AS TEXT), '$.outcome') END",
        "pinned": "r.pinned",
        "thread_id": "r.thread_id",
        "trust": "json_extract(CAST(r.body AS TEXT), '$.trust')",
    },
    body="CAST(r.body AS TEXT)",
    time=_sortable,
)


def of_message(where: Filter) -> Condition:
    """Over a row `m` of messages and the row `t` of its thread."""
    return _condition(where, _MESSAGE)


def of_record(where: Filter) -> Condition:
    """Over a row `r` of records."""
    return _condition(where, _RECORD)


def _condition(node: Filter, side: _Side) -> Condition:
    match node:
        case And(parts):
            # Those that read no body go first: SQLite leaves the rest once one is false.
            return _joined("AND", [_condition(part, side) for part in sorted(parts, key=_cost)])
        case Or(parts):
            return _joined("OR", [_condition(part, side) for part in sorted(parts, key=_cost)])
        case Not(part):
            inner = _condition(part, side)
            return Condition(f"(NOT {inner.sql})", inner.parameters)
        case Compare() | In() | Contains() | Exists():
            name, *keys = node.field
            if name in (METADATA, VALUE):
                return _of_json(side, name, keys, node)
            return _of_column(side.columns.get(name), side, node)
    raise unknown_node(node)


def _cost(node: Filter) -> int:
    match node:
        case And(parts) | Or(parts):
            return max(map(_cost, parts), default=0)
        case Not(part):
            return _cost(part)
        case Compare() | In() | Contains() | Exists():
            return 0 if node.field[0] in ("at", "kind", "role", "thread_id") else 1
    raise unknown_node(node)


def _of_column(column: str | None, side: _Side, node: _Test) -> Condition:
    if column is None or isinstance(node, Contains):
        return _NEVER
    if isinstance(node, Exists):
        return Condition(f"({column} IS NOT NULL)")
    if isinstance(node, Compare):
        return Condition(f"(({column} {_OPERATORS[node.op]} ?) IS 1)", (_bound(node.value, side),))
    return Condition(f"(({column} IN {_LISTED}) IS 1)", (listed([_bound(value, side) for value in node.values]),))


def _joined(by: Literal["AND", "OR"], parts: Sequence[Condition]) -> Condition:
    if not parts:
        return Condition("1") if by == "AND" else _NEVER
    sql = f" {by} ".join([part.sql for part in parts])
    return Condition(f"({sql})", tuple([parameter for part in parts for parameter in part.parameters]))


def _bound(value: Scalar, side: _Side) -> Parameter:
    return side.time(value) if isinstance(value, datetime) else value


def span_of(where: Filter) -> tuple[int, int]:
    """From when until when, both inclusive and in microseconds since 1970, there may be something that a filter is true of;
    the second before the first if there is nothing.
    """
    match where:
        case And(parts):
            spans = [span_of(part) for part in parts]
            return max([first for first, _ in spans], default=_EARLIEST), min([last for _, last in spans], default=_LATEST)
        case Or(parts):
            spans = [span for part in parts if (span := span_of(part))[0] <= span[1]]
            return min([first for first, _ in spans], default=_LATEST), max([last for _, last in spans], default=_EARLIEST)
        case Compare(("at",), op, datetime() as at):
            moment = micros(at)
            return _EARLIEST if op in ("lt", "lte") else moment, _LATEST if op in ("gt", "gte") else moment
    return _EARLIEST, _LATEST


# -- metadata -------------------------------------------------------------------------------------------------------------


class _Found(NamedTuple):
    """What is at a path of keys.

    Attributes:
        type: its type as json_type names it, NULL where there is nothing.
        value: the value, of a list or object its JSON.
        items: a row e of type, atom for each item, if it is a list.
    """

    type: Condition
    value: Condition
    items: Condition


def _of_json(side: _Side, root: str, keys: Sequence[str], node: _Test) -> Condition:
    """A test of what is at a path of keys below the metadata, or below an item's value."""
    if not any(_ESCAPED.search(key) for key in keys):
        at = ("$" + "".join(f'."{key}"' for key in (root, *keys)),)
        found = _Found(
            Condition(f"json_type({side.body}, ?)", at),
            Condition(f"json_extract({side.body}, ?)", at),
            Condition(f"json_each({side.body}, ?) e", at),
        )
        return _json_test(found, node)
    depths = range(1, len(keys) + 1)
    last = f"k{len(keys)}"
    test = _json_test(
        _Found(
            Condition(f"{last}.type"),
            Condition(f"{last}.value"),
            Condition(f"json_each(CASE {last}.type WHEN 'array' THEN {last}.value END) e"),
        ),
        node,
    )
    walk = [f"json_each({side.body}, '$.{root}') k1"]
    walk += [f"json_each(CASE k{depth}.type WHEN 'object' THEN k{depth}.value END) k{depth + 1}" for depth in depths[:-1]]
    named = " AND ".join(f"k{depth}.key = ?" for depth in depths)
    sql = f"EXISTS (SELECT 1 FROM {' CROSS JOIN '.join(walk)} WHERE {named} AND {test.sql})"  # noqa: S608 - keys are bound
    return Condition(sql, (*keys, *test.parameters))


def _json_test(found: _Found, node: _Test) -> Condition:
    if isinstance(node, Exists):
        return Condition(f"({found.type.sql} IS NOT NULL)", found.type.parameters)
    if isinstance(node, Compare):
        return _json_compares(found, node.op, node.value)
    return _json_in(found, node.values) if isinstance(node, In) else _json_contains(found, node.value)


def _json_compares(found: _Found, op: Comparison, value: Scalar) -> Condition:
    kind, held = found.type, found.value
    if value is None or isinstance(value, bool):
        if op != "eq":
            return _NEVER
        return Condition(f"({kind.sql} IS {_literal(value)})", kind.parameters)
    # `IS` and the type first: what is compared is never NULL then.
    return Condition(
        f"({_typed(kind.sql, value)} AND {held.sql} {_OPERATORS[op]} ?)",
        (*kind.parameters, *held.parameters, *_plain(value)),
    )


def _json_in(found: _Found, values: Sequence[Scalar]) -> Condition:
    kind, held = found.type, found.value
    parts = [_json_compares(found, "eq", value) for value in values if value is None or isinstance(value, bool)]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    texts = [value for value in values if isinstance(value, str)]
    for chosen in (numbers, texts):
        if chosen:
            sql = f"({_typed(kind.sql, chosen[0])} AND {held.sql} IN {_LISTED})"
            parts.append(Condition(sql, (*kind.parameters, *held.parameters, listed(chosen))))
    return _joined("OR", parts)


def _json_contains(found: _Found, value: Scalar) -> Condition:
    kind, items = found.type, found.items
    is_it = _json_compares(_Found(Condition("e.type"), Condition("e.atom"), _NEVER), "eq", value)
    sql = f"({kind.sql} IS 'array' AND EXISTS (SELECT 1 FROM {items.sql} WHERE {is_it.sql}))"  # noqa: S608 - as above
    return Condition(sql, (*kind.parameters, *items.parameters, *is_it.parameters))


def _literal(value: bool | None) -> str:
    """The name of the type that holds this value alone."""
    return "'null'" if value is None else "'true'" if value else "'false'"


def _typed(kind: str, value: Scalar) -> str:
    """That something is of the type of a text or number. `IS` takes no list and `IN` gives NULL, hence the coalesce."""
    return f"{kind} IS 'text'" if isinstance(value, str) else f"coalesce({kind}, '') IN ('integer', 'real')"


def _plain(value: Scalar) -> tuple[Parameter, ...]:
    assert not isinstance(value, datetime), "metadata has no times"
    return (value,)


# -- what passes ----------------------------------------------------------------------------------------------------------


class Passing:
    """The units of a scope that pass a filter, as far as a leg asks; `units` is how many the scope has. With `then`, of those
    that may be found of the past."""

    def __init__(self, database: Database, scope: Scope, where: Filter | None, units: int, then: Then | None = None) -> None:
        self._database, self._scope, self._units = database, scope, units
        where = And(()) if where is None else where
        self._message, self._record = of_message(where), of_record(where)
        if then is not None:
            self._message = _joined("AND", [Condition(*then.of_message), self._message])
            self._record = _joined("AND", [Condition(*then.of_record), self._record])
        self._span = span_of(where)
        self._both = (*self._message.parameters, *self._record.parameters)

    def _query(self, frame: str) -> str:
        return frame.replace(":message", self._message.sql).replace(":record", self._record.sql)

    def matching(
        self, query: str, without: Collection[int], namespaces: Collection[int], limit: int, matches: int
    ) -> list[int]:
        """The best rows of the lexicon for a query in FTS5's language that has so many matches, without some units, of those
        of some namespaces.
        """
        if matches > self._units // 2:
            left_out = frozenset(without)
            chosen = listed(unit for unit in self._all if unit not in left_out)
            rows = self._database.execute(q.match_best_within, (query, chosen, limit))
        else:
            parameters = (query, listed(without), listed(namespaces), *self._both, limit)
            rows = self._database.execute(self._query(q.match_best_passing), parameters)
        return [unit for (unit,) in rows]

    def messages(self, numbers: Iterable[int]) -> frozenset[int]:
        """Those of some messages, by their numbers."""
        parameters = (listed(numbers), *self._message.parameters)
        return frozenset([number for (number,) in self._database.execute(self._query(q.messages_passing), parameters)])

    def nearest(self, similarities: Similarities, limit: int) -> dict[int, float]:
        """The units with the highest similarity, highest first. `similarities` may be left with those that pass alone."""
        for times in _AHEAD if self.few is None else ():
            ahead = similarities.best(times * limit)
            rows = self._database.execute(self._query(q.units_passing), (listed(ahead), *self._both))
            found = frozenset([unit for (unit,) in rows])
            # What is ahead is in order, so the first that pass are the nearest of all that do.
            if len(found) >= limit or len(ahead) < times * limit:
                return dict([(unit, value) for unit, value in ahead.items() if unit in found][:limit])
        similarities.keep(self._all)
        return similarities.best(limit)

    @cached_property
    def few(self) -> tuple[int, ...] | None:
        """All units that pass, ascending, where the filter names a time that leaves few; None where it does not."""
        scope = path_range(self._scope)
        if self._span == (_EARLIEST, _LATEST):
            return None
        if self._database.execute(q.count_within, (*scope, *self._span, _FEW + 1))[0][0] > _FEW:
            return None
        parameters = (*scope, *self._span, *self._both)
        return tuple(sorted([unit for (unit,) in self._database.execute(self._query(q.all_passing_within), parameters)]))

    @cached_property
    def _all(self) -> Sequence[int]:
        return self._scan() if self.few is None else self.few

    def _scan(self) -> list[int]:
        scope = path_range(self._scope)
        parameters = (*scope, *self._message.parameters, *scope, *self._record.parameters)
        return [unit for (unit,) in self._database.execute(self._query(q.all_passing), parameters)]
