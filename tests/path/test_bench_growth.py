"""`bethink bench growth`: its arithmetic on a tiny run, and the chart it draws."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.bench import growth
from bethink.bench.growth import FULL_HISTORY, Growth, append_times, grow, hybrid, window
from bethink.bench.measure import Series
from bethink.bench.plot import FRAME, HEIGHT, WIDTH, Curve, chart, ticks
from bethink.bench.talk import START, turns
from bethink.memory import Memory
from bethink.messages import Message
from bethink.models.tokens import BuiltinCounter, message_tokens
from bethink.testing.doubles import FrozenClock

COUNTER = BuiltinCounter()
SVG = "{http://www.w3.org/2000/svg}"


def flat(tokens: int, whole: int = 1_000, count: int = 120) -> Growth:
    """A strategy that always costs the same, beside a full history that grows by `whole` a turn."""
    return Growth({FULL_HISTORY: tuple(whole * turn for turn in range(1, count + 1)), "ours": (tokens,) * count})


# -- tokens ---------------------------------------------------------------------------------------------------------------


def test_a_turn_asks_after_each_user_message() -> None:
    talk = [Message(role=role, content="hi") for role in ("user", "assistant", "user", "user", "assistant")]
    assert growth.asked_at(talk) == [1, 3, 4]


def test_where_only_people_speak_a_turn_is_every_other_message() -> None:
    assert growth.asked_at([Message(role="user", content="hi")] * 5) == [1, 3, 5]


def test_the_full_history_counts_every_message_so_far_and_a_window_the_newest() -> None:
    talk = list(turns(40))
    sizes = [message_tokens(message, COUNTER) for message in talk]
    found = grow(talk, {"window": window(talk, 6, COUNTER)}, COUNTER, 20)
    assert found.tokens[FULL_HISTORY] == tuple(sum(sizes[:said]) for said in range(1, 41, 2))
    assert found.tokens["window"] == tuple(sum(sizes[max(0, said - 6) : said]) for said in range(1, 41, 2))


def test_a_hybrid_is_asked_for_a_context_of_all_that_was_said() -> None:
    talk = list(turns(60))
    clock = FrozenClock(START)
    with Memory(embedder=None, clock=clock) as memory:
        found = grow(talk, {"hybrid": hybrid(memory, talk, clock, 600)}, COUNTER, 30)
        assert memory.thread("growth").info().tip == 59
    assert max(found.tokens["hybrid"]) <= 600 < found.tokens[FULL_HISTORY][-1]


def test_a_strategy_that_stays_the_same_reaches_the_goal() -> None:
    assert flat(900).ratio("ours") == 1
    assert flat(900).verdict("ours") == "reached"


def test_a_strategy_that_grows_with_the_conversation_misses_it() -> None:
    grown = Growth({FULL_HISTORY: flat(1).tokens[FULL_HISTORY], "ours": tuple(500 * turn for turn in range(1, 121))})
    assert grown.ratio("ours") == grown.ratio(FULL_HISTORY) > 1.05
    assert grown.verdict("ours") == "MISSED"


def test_a_budget_that_fifty_turns_do_not_fill_is_not_judged() -> None:
    assert flat(100_000).verdict("ours") == "not full at 50"


def test_what_a_turn_costs_is_a_mean_of_the_turns_around_it_and_at_the_end_of_the_last() -> None:
    whole = flat(1).tokens[FULL_HISTORY]
    assert flat(1).about(FULL_HISTORY, 60) == sum(whole[34:84]) / 50
    assert flat(1).about(FULL_HISTORY, 120) == sum(whole[-50:]) / 50


def test_the_turn_is_told_at_which_the_full_history_passes_a_budget() -> None:
    found = Growth({FULL_HISTORY: (100, 300, 500), "ours": (100, 100, 100)})
    assert (found.passes(99), found.passes(100), found.passes(300), found.passes(500)) == (1, 2, 3, None)


def test_a_cost_is_level_from_the_turn_on_after_which_it_stays_near_the_end() -> None:
    rising = (*range(500, 900, 4), *[900] * 200)
    found = Growth({FULL_HISTORY: tuple(range(300)), "ours": rising, "flat": (900,) * 300, "grows": tuple(range(100, 400))})
    level = found.level_from("ours")
    assert level is not None
    assert 60 < level < 100
    assert all(abs(900 / found.about("ours", turn) - 1) <= 0.05 for turn in range(level, 301))
    assert abs(900 / found.about("ours", level - 1) - 1) > 0.05
    assert (found.level_from("flat"), found.level_from("grows")) == (1, None)


def test_what_is_saved_is_of_all_turns_together() -> None:
    assert Growth({FULL_HISTORY: (100, 300), "ours": (100, 100)}).saved("ours") == 0.5


# -- appends --------------------------------------------------------------------------------------------------------------


def test_the_ratio_of_appends_is_of_medians_round_by_round() -> None:
    near = Series("near", ((1.0, 1.0, 9.0), (2.0, 2.0, 2.0)))
    far = Series("far", ((2.0, 2.0, 2.0), (2.0, 2.0, 2.0)))
    assert growth.Appends(near, far).ratio.median == 1.5
    assert not growth.Appends(near, far).reached


def test_appends_are_timed_about_both_lengths(tmp_path: Path) -> None:
    found = append_times(tmp_path / "a.db", "normal", rounds=2, near=30, far=80)
    assert [len(calls) for calls in found.near.repeats + found.far.repeats] == [21] * 4
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        tips = {thread.thread_id: thread.tip for thread in memory.threads()}
    # A round that is not counted comes first, then two: the long thread's calls lie about message 80.
    assert tips == {"long": 80 - 21 + 3 * 21, "short--1": 40, "short-0": 40, "short-1": 40}


# -- the command ----------------------------------------------------------------------------------------------------------


def test_a_run_reports_every_strategy_and_draws_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "growth.svg"
    arguments = ["--turns", "60", "--budgets", "400", "--window", "4", "--rounds", "1", "--far", "60"]
    growth.main([*arguments, "--plot", str(picture), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["tokens"].keys() == {FULL_HISTORY, "window, 4", "hybrid, 400"}
    assert report["append"].keys() == {"full", "normal"}
    hybrid_400 = report["tokens"]["hybrid, 400"]
    assert hybrid_400["at"].keys() == {"10", "50", "60"}
    assert hybrid_400["total"] == sum(hybrid_400["by_turn"])
    assert len(ET.fromstring(picture.read_text()).findall(f"{SVG}polyline")) == 3


def test_the_same_run_counts_the_same_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        growth.main(["--turns", "40", "--budgets", "500", "--rounds", "0"])
    first, second = capsys.readouterr().out.split("tokens of a turn's context")[1:]
    assert first == second
    assert "hybrid, 500" in first


def test_a_conversation_that_is_too_short_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]))
    with pytest.raises(SystemExit):
        growth.main([str(path), "--turns", "5"])
    assert "have 1 turns" in capsys.readouterr().err


# -- the chart ------------------------------------------------------------------------------------------------------------

curves = st.lists(
    st.builds(
        Curve,
        st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=20),
        st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e9)), min_size=1, max_size=8).map(tuple),
    ),
    min_size=1,
    max_size=6,
)


def points_of(svg: str) -> list[tuple[float, float]]:
    polylines = ET.fromstring(svg).findall(f"{SVG}polyline")
    pairs = [pair.split(",") for polyline in polylines for pair in polyline.attrib["points"].split()]
    return [(float(x), float(y)) for x, y in pairs]


@settings(max_examples=60)
@given(curves, st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=20))
def test_any_chart_is_well_formed_and_its_points_are_within_the_frame(lines: list[Curve], label: str) -> None:
    left, top, right, bottom = FRAME
    svg = chart(lines, title=label, x=label, y=label)
    assert ET.fromstring(svg).attrib["viewBox"] == f"0 0 {WIDTH} {HEIGHT}"
    assert all(left <= x <= right and top <= y <= bottom for x, y in points_of(svg))


def test_the_same_chart_is_the_same_bytes() -> None:
    lines = [Curve("a", ((0, 0), (1, 2.5))), Curve("b", ((0, 1), (1, 0)))]
    assert chart(lines, title="t", x="x", y="y") == chart(lines, title="t", x="x", y="y")


def test_a_chart_names_its_axes_and_its_lines() -> None:
    svg = chart([Curve("a & b", ((0, 0), (10, 5)))], title="Cost", x="turn", y="tokens")
    texts = [element.text for element in ET.fromstring(svg).iter(f"{SVG}text")]
    assert {"Cost", "turn", "tokens", "a & b"} <= set(texts)


def test_a_chart_has_colours_for_light_and_for_dark() -> None:
    style = next(ET.fromstring(chart([Curve("a", ((1, 1),))], title="t", x="x", y="y")).iter(f"{SVG}style")).text
    assert style is not None
    light, dark = style.split("@media(prefers-color-scheme:dark)")
    for part in (light, dark):
        assert ".page{fill:" in part
        assert ".l0{stroke:" in part


def test_a_greater_value_is_drawn_higher_and_a_later_one_further_right() -> None:
    (x0, y0), (x1, y1) = points_of(chart([Curve("a", ((1, 1), (2, 2)))], title="t", x="x", y="y"))
    assert x0 < x1
    assert y0 > y1


def test_a_chart_of_zeros_lies_on_its_axis() -> None:
    assert points_of(chart([Curve("a", ((0, 0),))], title="t", x="x", y="y")) == [(FRAME[0], FRAME[3])]


def test_more_lines_than_there_are_styles_are_refused() -> None:
    with pytest.raises(ValueError, match="8 lines"):
        chart([Curve("a", ((1, 1),))] * 8, title="t", x="x", y="y")


@settings(max_examples=60)
@given(st.floats(1e-6, 1e12))
def test_ticks_are_even_start_at_zero_and_reach_the_greatest(greatest: float) -> None:
    found = ticks(greatest)
    steps = [after - before for before, after in pairwise(found)]
    assert found[0] == 0
    assert found[-1] >= greatest * (1 - 1e-8)
    assert 2 <= len(found) <= 7
    assert all(math.isclose(step, steps[0], rel_tol=1e-9) for step in steps)
