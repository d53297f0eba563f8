"""Hypothesis strategies for whatever a conversation can hold.

texts, namespaces     values that are legal and awkward: many scripts, wildcards, joined emoji, near-equal names
messages              one message that stands alone
histories             messages that may be appended to an empty thread, in order: turns, parallel calls with results in any
                      order or late or never, reasoning, system messages, clocks that stand still or run backwards
metadata, filters     a caller's JSON, and filters over it and over the other fields, often true of something
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from bethink.messages import Message, Part, Tier, ToolCall
from bethink.storage.base import And, Compare, Contains, Exists, Filter, In, Not, Or
from bethink.storage.base.filters import FieldPath
from bethink.testing.doubles import START
from bethink.values import Namespace

__all__ = ["filters", "histories", "messages", "metadata", "namespaces", "texts"]

_PHRASES = (
    "I live in Lisbon",
    "my name is Ada",
    "I no longer eat meat",
    "please book the 7:30 train to Porto on 2026-03-14",
    "we decided to use PostgreSQL 17",
    "ticket ABC-1234 | grep 'x' OR \"y\"",
    "naïve café, Straße, İstanbul",
    "私は東京に住んでいます",
    "我不喜欢咖啡",
    "ฉันชอบกาแฟ",
    "אני גר בחיפה",
    "مرحبا بالعالم",
    "Я живу в Москве",
    "👩‍👩‍👧‍👦 and 🇵🇹",
    "e\u0301 is not \u00e9",
    "line one\nline two\r\n\ttabbed",
    "100 % of a_b \\ c",
    "SELECT * FROM messages; --",
)
_SEGMENTS = ("a", "b", "ab", "a_b", "a-b", "axb", "a%b", "%", "a\\b", "A_B", "a.b", "用户", "é", "e\u0301", "x" * 200)
_TIERS: tuple[Tier, ...] = ("permanent", "long_term", "working", "ephemeral")


def texts(*, max_size: int = 80) -> st.SearchStrategy[str]:
    """Texts that `values.check_text` takes, the empty one included; `max_size` bounds those not made of phrases."""
    letters = st.characters(codec="utf-8", exclude_characters="\x00")
    phrases = st.lists(st.sampled_from(_PHRASES), min_size=1, max_size=3).map(" ".join)
    return st.one_of(phrases, st.text(letters, max_size=max_size))


def namespaces() -> st.SearchStrategy[Namespace]:
    """Namespaces of one to three segments, few enough that two draws are often related or nearly equal."""
    return st.lists(st.sampled_from(_SEGMENTS), min_size=1, max_size=3).map(tuple)


# Made once: to make a strategy costs more than to draw from it, and a history draws hundreds of times.
_TEXTS = texts(max_size=40)
_IDS = st.uuids(version=4).map(str)
_MINUTES = st.integers(-3, 3)
_STEPS = st.sampled_from((1, 1, 1, 0, 60 * 24, -5))
_KINDS = st.sampled_from(("turn", "turn", "calls", "reasoning"))
_KINDS_WHILE_OPEN = st.sampled_from(("turn", "turn", "calls", "reasoning", "result", "result", "result"))
_ONE_OF = {size: st.integers(0, size - 1) for size in range(1, 9)}
_CALL_IDS = tuple(f"call_{index}" for index in range(1, 9))
_CHOSEN = {count: st.lists(st.integers(0, count - 1), min_size=1, max_size=min(3, count), unique=True) for count in range(1, 9)}
_BESIDE_CALLS = st.sampled_from((None, "", "one moment"))
_ROLES = st.sampled_from(("user", "user", "assistant", "assistant", "system", "developer"))
_IN_PARTS = st.sampled_from((False, False, False, False, True))
_NAMES = st.sampled_from((None, None, "Ada"))
_ANY_TIER = st.sampled_from(("working", "working", "working", *_TIERS))
_EXTERNAL = st.sampled_from((False, False, False, True))
_METADATA = st.sampled_from(({}, {}, {"lang": "pt", "n": [1, None, {"ok": True}]}, {"a": {"a.b": 1}, '"': None, "n": 0.5}))


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """A message that stands alone, with an id and a time: turns, system texts, parts, a caller's metadata."""
    return _turn(draw, draw(_IDS), draw(_MINUTES))


@st.composite
def histories(draw: st.DrawFn, *, min_size: int = 0, max_size: int = 24, prefix: str = "m") -> list[Message]:
    """Messages in an order in which an empty thread takes them, with ids `prefix` + 1, 2, ...

    Calls may stay unanswered at the end; a call id may come back once its result is in, as some models do it.
    """
    history: list[Message] = []
    open_calls: list[str] = []
    minutes = 0
    for number in range(1, draw(st.integers(min_size, max_size)) + 1):
        minutes += draw(_STEPS)
        ident = f"{prefix}{number}"
        kind = draw(_KINDS_WHILE_OPEN if open_calls else _KINDS)
        free = [call_id for call_id in _CALL_IDS if call_id not in open_calls]
        if kind == "result":
            call_id = open_calls.pop(draw(_ONE_OF[len(open_calls)]))
            history.append(_said(ident, minutes, role="tool", content=draw(_TEXTS), tool_call_id=call_id))
        elif kind == "calls" and free:
            chosen = [free[index] for index in draw(_CHOSEN[len(free)])]
            open_calls += chosen
            calls = tuple(ToolCall(call_id, "search", '{"q": "x"}') for call_id in chosen)
            history.append(_said(ident, minutes, role="assistant", content=draw(_BESIDE_CALLS), tool_calls=calls))
        elif kind == "reasoning":
            history.append(_said(ident, minutes, role="assistant", content=(Part("reasoning", draw(_TEXTS)),)))
        else:
            history.append(_turn(draw, ident, minutes))
    return history


# Few keys and values, the awkward ones among them, so that a filter often meets what it asks for.
_KEYS = st.sampled_from(("a", "b", "n", "lang", "a.b", '"', "\\", "$", "", "é", "\n"))
_TEXTS_KEPT = st.sampled_from(("", "1", "true", "null", "pt", "a", "é", "e\u0301", "z", "\U0001f600", "\n", '"'))
_NUMBERS = st.sampled_from((0, 1, 1.0, 0.5, -0.0, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63), 1e300, 5e-324))
_SCALARS = st.sampled_from((True, False, None)) | _NUMBERS | _TEXTS_KEPT | st.floats(allow_nan=False, allow_infinity=False)
_JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=5
)
_BELOW = st.lists(_KEYS, min_size=1, max_size=3).map(lambda keys: ("metadata", *keys))
_OF_FIELD: dict[str, st.SearchStrategy[Any]] = {
    "at": st.integers(-3, 3).map(lambda minutes: START + timedelta(minutes=minutes)),
    "author": st.sampled_from(("ann", "ben", "")),
    "kind": st.sampled_from(("message", "note", "insight", "summary", "episode")),
    "outcome": st.sampled_from(("success", "partial", "failure", "unknown")),
    "pinned": st.booleans(),
    "role": _ROLES,
    "speaker": st.sampled_from(("Ada", "user", "assistant", "nobody")),
    "thread_id": st.sampled_from(("t", "fork", "a")),
    "tier": st.sampled_from(_TIERS),
    "trust": st.sampled_from(("user", "assistant", "tool", "external")),
}
_FIELDS = st.sampled_from(sorted(_OF_FIELD)).map(lambda name: (name,))
_PATHS: st.SearchStrategy[FieldPath] = _BELOW | _BELOW | _FIELDS
_ORDERS = st.sampled_from(("lt", "lte", "gt", "gte"))


def metadata() -> st.SearchStrategy[dict[str, Any]]:
    """JSON of a caller's own, such as `messages.checked` takes."""
    return st.dictionaries(_KEYS, _JSON, max_size=3)


def filters(*, max_leaves: int = 6) -> st.SearchStrategy[Filter]:
    """Filters as `retrieval.filters.filter_of` makes them."""

    def joined(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
        return parts.map(And) | parts.map(Or) | inner.map(Not)

    return st.recursive(_PATHS.flatmap(_test_of), joined, max_leaves=max_leaves)


def _test_of(field: FieldPath) -> st.SearchStrategy[Filter]:
    """A test of one field."""
    values = _SCALARS if field[0] == "metadata" else _OF_FIELD[field[0]]
    tests: list[st.SearchStrategy[Filter]] = [
        values.map(lambda value: Compare(field, "eq", value)),
        st.lists(values, max_size=4).map(lambda several: In(field, tuple(several))),
        st.just(Exists(field)),
    ]
    if field[0] == "metadata":
        ordered = values.filter(lambda value: value is not None and not isinstance(value, bool))
        tests += [st.builds(Compare, st.just(field), _ORDERS, ordered), values.map(lambda value: Contains(field, value))]
    elif field[0] == "at":
        tests.append(st.builds(Compare, st.just(field), _ORDERS, values))
    return st.one_of(tests)


def _turn(draw: st.DrawFn, ident: str, minutes: int) -> Message:
    text = draw(_TEXTS)
    in_parts = (Part("text", text), Part("image", ref="https://example.org/a.png"), Part("text", "and this"))
    return _said(
        ident,
        minutes,
        role=draw(_ROLES),
        content=in_parts if draw(_IN_PARTS) else text,
        name=draw(_NAMES),
        tier=draw(_ANY_TIER),
        external=draw(_EXTERNAL),
        metadata=draw(_METADATA),
    )


def _said(ident: str, minutes: int, **fields: Any) -> Message:
    return Message(id=ident, created_at=START + timedelta(minutes=minutes), **fields)
