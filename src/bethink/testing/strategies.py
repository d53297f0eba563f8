"""Hypothesis strategies for whatever a conversation can hold.

texts, namespaces     values that are legal and awkward: many scripts, wildcards, joined emoji, near-equal names
messages              one message that stands alone
histories             messages that may be appended to an empty thread, in order: turns, parallel calls with results in any
                      order or late or never, reasoning, system messages, clocks that stand still or run backwards
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from bethink.messages import Message, Part, Tier, ToolCall
from bethink.testing.doubles import START
from bethink.values import Namespace

__all__ = ["histories", "messages", "namespaces", "texts"]

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


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """A message that is no tool call or result, with an id and a time: turns, system texts, parts, a caller's metadata."""
    return _turn(draw, st.uuids(version=4).map(str), draw(st.integers(-3, 3)))


@st.composite
def histories(draw: st.DrawFn, *, min_size: int = 0, max_size: int = 24, prefix: str = "m") -> list[Message]:
    """Messages in an order in which an empty thread takes them, with ids `prefix` + 1, 2, ...

    Calls may stay unanswered at the end; a call id may come back once its result is in, as some models do it.
    """
    history: list[Message] = []
    open_calls: list[str] = []
    minutes = 0
    for number in range(1, draw(st.integers(min_size, max_size)) + 1):
        minutes += draw(st.sampled_from((1, 1, 1, 0, 60 * 24, -5)))
        ident = st.just(f"{prefix}{number}")
        kinds = ["turn", "turn", "calls", "reasoning"] + ["result"] * (3 if open_calls else 0)
        kind = draw(st.sampled_from(kinds))
        if kind == "result":
            call_id = open_calls.pop(draw(st.integers(0, len(open_calls) - 1)))
            history.append(_said(draw, ident, minutes, role="tool", content=draw(texts()), tool_call_id=call_id))
        elif kind == "calls":
            free = [f"call_{index}" for index in range(1, 9) if f"call_{index}" not in open_calls]
            chosen = draw(st.lists(st.sampled_from(free), min_size=1, max_size=3, unique=True)) if free else []
            open_calls += chosen
            calls = tuple(ToolCall(call_id, "search", '{"q": "x"}') for call_id in chosen)
            content = draw(st.sampled_from((None, "", "one moment")))
            history.append(_said(draw, ident, minutes, role="assistant", content=content, tool_calls=calls))
        elif kind == "reasoning":
            thoughts = (Part("reasoning", draw(texts())),)
            history.append(_said(draw, ident, minutes, role="assistant", content=thoughts))
        else:
            history.append(_turn(draw, ident, minutes))
    return history


def _turn(draw: st.DrawFn, ident: st.SearchStrategy[str], minutes: int) -> Message:
    role = draw(st.sampled_from(("user", "user", "assistant", "assistant", "system", "developer")))
    text = draw(texts())
    content: str | tuple[Part, ...] = text
    if draw(st.integers(0, 4)) == 0:
        content = (Part("text", text), Part("image", ref="https://example.org/a.png"), Part("text", "and this"))
    return _said(
        draw,
        ident,
        minutes,
        role=role,
        content=content,
        name=draw(st.sampled_from((None, None, "Ada"))),
        tier=draw(st.sampled_from(("working", "working", "working", *_TIERS))),
        external=draw(st.sampled_from((False, False, False, True))),
        metadata=draw(st.sampled_from(({}, {}, {"lang": "pt", "n": [1, None, {"ok": True}]}))),
    )


def _said(draw: st.DrawFn, ident: st.SearchStrategy[str], minutes: int, **fields: Any) -> Message:
    return Message(id=draw(ident), created_at=START + timedelta(minutes=minutes), **fields)
