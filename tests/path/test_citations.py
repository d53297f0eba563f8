"""Which memories an answer names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.insights.citations import cited

HANDLES = {"a1": "record-1", "b2": "record-2", "c3": "record-3"}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("You live in Porto [mem:a1].", ("record-1",)),
        ("Tea [mem:b2], not coffee [mem:a1], so tea [mem:b2].", ("record-2", "record-1")),
        ("Both say so [mem:a1, mem:c3].", ("record-1", "record-3")),
        ("Both say so [mem:a1, c3].", ("record-1", "record-3")),
        ("[mem: a1 ]", ("record-1",)),
        ("No marker, though a1 is named.", ()),
        ("An invented one [mem:zz].", ()),
        ("Exactly its own [mem:A1] [mem:a12] [mem:a].", ()),
        ("Unclosed [mem:a1", ()),
        ("[mem:]", ()),
        ("", ()),
    ],
)
def test_cited_are_the_records_whose_marker_is_in_the_reply(reply: str, expected: tuple[str, ...]) -> None:
    assert cited(reply, HANDLES) == expected


@given(st.text())
def test_no_reply_cites_what_was_not_shown(reply: str) -> None:
    assert cited(reply, {}) == ()
