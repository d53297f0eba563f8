"""Ids: the time that they carry comes back."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.ids import derived_id, new_id, time_of, to_millis

TIMES = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(timezone.utc))  # noqa: DTZ001 - naive by need


@given(at=TIMES)
def test_an_id_carries_its_time_to_the_millisecond(at: datetime) -> None:
    for name in (new_id(at), derived_id(at, "x")):
        found = time_of(name)
        assert found is not None
        assert abs(found - to_millis(at)) <= timedelta(milliseconds=1)


def test_of_our_time_it_is_exactly_that() -> None:
    at = datetime(2026, 11, 30, 12, 0, 0, 123_456, tzinfo=timezone.utc)
    assert time_of(new_id(at)) == to_millis(at) == at.replace(microsecond=123_000)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "r1",
        "01980000000070008000000000000001",
        "0198-7000-3f2a9c1d",
        "ffffffff-ffff-7000-8000-000000000001",
        "0198zzzz-0000-7000-8000-000000000001",
        "01980000-0000-4000-8000-000000000001",
    ],
)
def test_another_id_carries_none(name: str) -> None:
    assert time_of(name) is None
