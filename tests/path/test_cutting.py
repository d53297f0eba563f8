"""What is promised of messages cut to fit a room: they fit, they stay valid, and as much of each is shown as is fair."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.context.cutting import cut_to_fit, with_cuts
from bethink.formats.openai_chat import from_openai, to_openai
from bethink.messages import Message, Part, ToolCall
from bethink.models.measure import Measure
from bethink.models.tokens import BuiltinCounter
from bethink.records import Cut
from bethink.settings import Oversize

MEASURE = Measure(BuiltinCounter())
HOW = Oversize()
LOG = "".join(f"line {number} of the log\n" for number in range(2_000))
CODE = "".join(f'print("step {number}", "\\t\\u00e9")\n' for number in range(2_000))
IMAGE = Part("image", ref="https://example.org/a.png")


def said(*messages: Message) -> list[Message]:
    return [msgspec.structs.replace(message, seq=seq, id=f"m{seq}") for seq, message in enumerate(messages, 1)]


def calling(*arguments: str) -> Message:
    calls = tuple(ToolCall(f"c{number}", "write", text) for number, text in enumerate(arguments))
    return Message(role="assistant", tool_calls=calls)


def result(text: str, call: str = "c0") -> Message:
    return Message(role="tool", content=text, tool_call_id=call)


def shown(messages: Sequence[Message], *rooms: int, how: Oversize = HOW) -> list[Message]:
    cuts = cut_to_fit(messages, rooms, MEASURE, how)
    assert cuts is not None
    cut = with_cuts(messages, cuts)
    assert MEASURE.messages(cut) <= rooms[-1]
    return cut


# -- for any messages -----------------------------------------------------------------------------------------------------

TEXTS = st.builds(
    lambda text, times: text * times, st.text(st.characters(codec="utf-8"), min_size=1, max_size=12), st.integers(1, 300)
)
JSON = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
ARGUMENTS = st.builds(lambda value, escaped: json.dumps(value, ensure_ascii=escaped), JSON, st.booleans()) | TEXTS
CONTENT = TEXTS | st.lists(st.builds(Part, st.just("text"), TEXTS) | st.just(IMAGE), max_size=4).map(tuple)
GROUPS = st.builds(
    lambda beside, arguments, results: said(
        Message(role="user", content=beside),
        calling(*arguments),
        *(result(text, f"c{number}") for number, text in enumerate(results)),
    ),
    CONTENT,
    st.lists(ARGUMENTS, max_size=3),
    st.lists(TEXTS, max_size=3),
)


@settings(max_examples=150, deadline=None)
@given(GROUPS, st.integers(0, 2_000), st.integers(0, 2_000))
def test_what_is_shown_fits_the_last_room_or_nothing_is(messages: list[Message], one: int, other: int) -> None:
    rooms = sorted((one, other))
    cuts = cut_to_fit(messages, rooms, MEASURE, HOW)
    if cuts is None:
        assert MEASURE.messages(messages) > rooms[0]
    else:
        assert MEASURE.messages(with_cuts(messages, cuts)) <= rooms[-1]
        assert cuts == {} or MEASURE.messages(messages) > rooms[0]


@settings(max_examples=150, deadline=None)
@given(GROUPS, st.integers(0, 2_000))
def test_arguments_that_are_json_stay_json(messages: list[Message], room: int) -> None:
    cut = with_cuts(messages, cut_to_fit(messages, [room], MEASURE, HOW) or {})
    for before, after in zip(messages, cut, strict=True):
        for whole, part in zip(before.tool_calls, after.tool_calls, strict=True):
            assert (part.id, part.name) == (whole.id, whole.name)
            part.arguments.encode()
            if is_json(whole.arguments):
                assert is_json(part.arguments)


@settings(max_examples=100, deadline=None)
@given(GROUPS, st.integers(50, 1_000))
def test_the_same_cuts_are_read_back_from_a_receipt(messages: list[Message], room: int) -> None:
    cuts = cut_to_fit(messages, [room], MEASURE, HOW) or {}
    stored = msgspec.json.encode([cut for found in cuts.values() for cut in found])
    read: dict[int, tuple[Cut, ...]] = {}
    for cut in msgspec.json.decode(stored, type=list[Cut]):
        read[cut.seq] = (*read.get(cut.seq, ()), cut)
    assert with_cuts(messages, read) == with_cuts(messages, cuts)


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# -- texts ----------------------------------------------------------------------------------------------------------------


def test_what_fits_is_not_touched() -> None:
    messages = said(calling('{"a": 1}'), result("done"))
    assert cut_to_fit(messages, [100], MEASURE, HOW) == {}


def test_results_share_the_room_and_a_short_one_stays_whole() -> None:
    short = "exit code 1: no space left on device"
    cut = shown(said(calling("{}", "{}", "{}"), result(LOG), result(short, "c1"), result(LOG * 3, "c2")), 1_000)
    first, second, third = [message.text for message in cut[1:]]
    assert second == short
    assert 0.9 < MEASURE.count(first) / MEASURE.count(third) < 1.1
    assert MEASURE.messages(cut) > 900


@pytest.mark.parametrize(("keep", "starts", "ends"), [("both", True, True), ("start", True, False), ("end", False, True)])
def test_the_option_says_which_end_is_kept(keep: str, starts: bool, ends: bool) -> None:
    (cut,) = shown(said(Message(role="user", content=LOG)), 300, how=msgspec.convert({"keep": keep}, Oversize))
    assert cut.text.startswith("line 0 of the log") == starts
    assert cut.text.rstrip().endswith("line 1999 of the log") == ends


def test_a_room_too_small_for_text_shows_the_marker_alone() -> None:
    marker = "[... 40,890 of 40,890 characters (15,000 tokens) of message m2 are not shown ...]"
    least = MEASURE.messages([calling("{}"), result(marker)])
    assert shown(said(calling("{}"), result(LOG)), least)[1].text == marker


def test_a_room_too_small_for_the_markers_is_none() -> None:
    assert cut_to_fit(said(calling("{}"), result(LOG)), [30], MEASURE, HOW) is None


def test_the_first_room_that_leaves_something_of_every_text_is_taken() -> None:
    messages = said(Message(role="user", content=LOG))
    assert MEASURE.messages(shown(messages, 60, 400, 900)) > 300
    assert MEASURE.messages(shown(messages, 60, 400, 900)) <= 400


def test_what_a_message_came_as_is_not_sent_whole() -> None:
    raw = from_openai({"role": "tool", "tool_call_id": "c0", "content": LOG, "extra": LOG})
    assert raw.raw is not None
    (_, cut) = shown(said(calling("{}"), raw), 300)
    assert MEASURE.count(json.dumps(to_openai(cut))) < 400


# -- parts ----------------------------------------------------------------------------------------------------------------


def test_the_text_beside_an_image_gives_way_first() -> None:
    (cut,) = shown(said(Message(role="user", content=(Part("text", LOG), IMAGE, Part("text", "what is this?")))), 2_500)
    assert isinstance(cut.content, tuple)
    assert [part.type for part in cut.content] == ["text", "image", "text"]
    assert cut.content[1:] == (IMAGE, Part("text", "what is this?"))
    assert "are not shown" in cut.content[0].text


def test_images_give_way_next_the_last_first() -> None:
    message = Message(role="user", content=(IMAGE, Part("text", LOG), IMAGE))
    (cut,) = shown(said(message), 2_500)
    assert isinstance(cut.content, tuple)
    assert cut.content[0] == IMAGE
    assert cut.content[2] == Part("text", "[image of message m1 (1,600 tokens) is not shown]")


def test_an_image_alone_is_replaced_by_its_marker() -> None:
    (cut,) = shown(said(Message(role="user", content=(IMAGE,))), 100)
    assert cut.text == "[image of message m1 (1,600 tokens) is not shown]"


# -- arguments ------------------------------------------------------------------------------------------------------------


def test_V063_a_long_string_in_arguments_is_cut_within_them() -> None:
    arguments = json.dumps({"path": "src/app.py", "content": CODE, "mode": "w", "retries": 1.50})
    (call, done) = shown(said(calling(arguments), result("written")), 500)
    made = json.loads(call.tool_calls[0].arguments)
    assert (made["path"], made["mode"], made["retries"]) == ("src/app.py", "w", 1.5)
    assert made["content"].startswith('print("step 0"')
    assert made["content"].rstrip().endswith('print("step 1999", "\\t\\u00e9")')
    assert "of message m1 are not shown" in made["content"]
    assert done.text == "written"


def test_what_is_not_cut_of_arguments_is_written_as_it_was() -> None:
    arguments = '{ "n": 1.50e+2,  "text": "' + "word " * 2_000 + '", "é": "\\u00e9\\/" }'
    (call,) = shown(said(calling(arguments)), 200)
    assert call.tool_calls[0].arguments.startswith('{ "n": 1.50e+2,  "text": "word word')
    assert call.tool_calls[0].arguments.endswith('", "é": "\\u00e9\\/" }')


def test_arguments_that_are_long_without_long_strings_are_replaced_by_an_object() -> None:
    (call,) = shown(said(calling(json.dumps(list(range(5_000))))), 200)
    made = json.loads(call.tool_calls[0].arguments)
    assert list(made) == ["not_shown"]
    assert "characters" in made["not_shown"]


def test_arguments_that_can_be_shortened_are_not_replaced_for_others_that_cannot() -> None:
    arguments = json.dumps({"path": "a.py", "content": CODE}), json.dumps(list(range(5_000)))
    (call,) = shown(said(calling(*arguments)), 600)
    assert json.loads(call.tool_calls[0].arguments)["path"] == "a.py"
    assert list(json.loads(call.tool_calls[1].arguments)) == ["not_shown"]


def test_a_key_is_not_taken_for_a_string_to_cut() -> None:
    arguments = json.dumps({"key " * 100: "value " * 1_000})
    (call,) = shown(said(calling(arguments)), 400)
    assert list(json.loads(call.tool_calls[0].arguments)) == ["key " * 100]


def test_half_of_a_pair_of_utf_16_in_arguments_can_still_be_sent() -> None:
    arguments = '{"text": "é\\ud800 ' + "word " * 2_000 + '"}'
    (call,) = shown(said(calling(arguments)), 200)
    assert json.loads(call.tool_calls[0].arguments)["text"].startswith("é\ud800 word")
    call.tool_calls[0].arguments.encode()


def test_arguments_nested_too_deep_to_read_are_replaced_by_an_object() -> None:
    (call,) = shown(said(calling("[" * 50_000 + "]" * 50_000)), 200)
    assert list(json.loads(call.tool_calls[0].arguments)) == ["not_shown"]


def test_the_input_of_a_custom_tool_is_cut_as_text_and_stays_a_custom_call() -> None:
    custom = {"id": "c0", "type": "custom", "custom": {"name": "apply_patch", "input": CODE}}
    message = from_openai({"role": "assistant", "content": None, "tool_calls": [custom]})
    (cut,) = shown(said(message), 400)
    (call,) = to_openai(cut)["tool_calls"]
    assert call["type"] == "custom"
    assert call["custom"]["input"].startswith('print("step 0"')
    assert "of message m1 are not shown" in call["custom"]["input"]


def test_arguments_nested_too_deep_to_read_with_a_string_that_is_none_are_text() -> None:
    (cut,) = shown(said(calling("[" * 100_000 + '"\\x"')), 100)
    assert "are not shown" in cut.tool_calls[0].arguments


def test_a_number_of_any_length_is_json() -> None:
    arguments = json.dumps({"text": LOG}).replace("{", '{"n": ' + "1" * 5_000 + ", ", 1)
    (cut,) = shown(said(calling(arguments)), 2_500)
    assert json.loads(cut.tool_calls[0].arguments, parse_int=len)["n"] == 5_000


def test_a_message_of_many_parts_is_shortened_part_by_part() -> None:
    parts = tuple(Part("text", f"{number}: " + "word " * 200) for number in range(300))
    (cut,) = shown(said(Message(role="user", content=parts)), 30_000)
    assert isinstance(cut.content, tuple)
    assert [part.text.split(":")[0] for part in cut.content] == [str(number) for number in range(300)]
    assert all("are not shown" in part.text for part in cut.content)
