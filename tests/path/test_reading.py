"""What is read of a message that is a pasted file."""

from __future__ import annotations

from datetime import datetime, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.compaction import statements as module
from bethink.compaction.extractive import summarise
from bethink.compaction.reading import excerpt
from bethink.compaction.sentences import is_fence, sentences
from bethink.compaction.statements import statements, without_repetition
from bethink.messages import Message
from bethink.models.tokens import BuiltinCounter
from bethink.records import Line

AT = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
COUNT = BuiltinCounter().count


def rows(number: int) -> list[str]:
    return [f"order {each} of customer {each % 97} went to town {each % 89}" for each in range(number)]


def test_what_is_short_is_read_whole() -> None:
    assert excerpt("one\ntwo", 7) == "one\ntwo"


def test_of_what_is_long_the_beginning_the_end_and_pieces_between_are_read() -> None:
    lines = rows(2_000)
    read = excerpt("\n".join(lines), 20_000).splitlines()
    assert (read[0], read[-1]) == (lines[0], lines[-1])
    assert [line for line in read if line and line not in lines] == []
    assert read.count("") == 4
    places = [lines.index(line) for line in read if line]
    assert places == sorted(places)
    assert max(later - sooner for sooner, later in pairwise(places)) < 500


@given(st.text(st.sampled_from("ab \n`~"), max_size=400), st.integers(2, 200))
def test_of_any_text_about_as_much_as_asked_for_is_read(text: str, most: int) -> None:
    read = excerpt(text, most)
    assert excerpt(text, most) == read
    if len(text) <= most:
        assert read == text
    else:
        pieces = max(2, most // 4_000)
        longest = max((len(mark) for mark in text.split("\n")), default=0)
        assert len(read) <= most + pieces * (2 + longest + 1)
        assert text.startswith(read.split("\n\n")[0])


def test_a_piece_ends_at_a_word_where_there_is_no_line() -> None:
    text = " ".join(f"word{number}" for number in range(4_000))
    words = text.split()
    assert [word for word in excerpt(text, 9_000).split() if word not in words] == []


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_code_stays_code_where_a_piece_starts_within_it(fence: str) -> None:
    code = [f"value_{number} = compute_{number}(Berlin)" for number in range(2_000)]
    text = "\n".join(["Here it is:", f"{fence}python", *code, fence, "That was all of it, dear Ada."])
    found = [sentence for _, _, sentence in sentences(excerpt(text, 9_000))]
    assert (found[0], found[-1]) == ("Here it is:", "That was all of it, dear Ada.")
    assert [sentence for sentence in found[1:-1] if not is_fence(sentence)] == []


def test_a_summary_tells_of_the_end_of_a_pasted_file() -> None:
    said = [f"Step {number} went as step {number - 1} did." for number in range(1, 8_000)]
    text = "\n".join([*said, "The deadline of the Ostrava project is 4 July 2027."])
    lines = summarise([Message(role="user", content=text, id="m", created_at=AT)], limit=60, count=COUNT)
    assert "The deadline of the Ostrava project is 4 July 2027." in [line.text for line in lines]


def test_a_result_of_a_tool_is_read_at_both_ends() -> None:
    output = "\n".join(
        ["Building project Kestrel", *(f"step {number} done" for number in range(900)), "Failed: disk 7 is full"]
    )
    call = Message(role="tool", content=output, tool_call_id="c", id="m", created_at=AT)
    lines = summarise([call], limit=400, count=COUNT)
    assert {"Building project Kestrel", "Failed: disk 7 is full"} <= {line.text for line in lines}


def test_rows_of_one_shape_are_compared_a_linear_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    alike = module._alike

    def counted(one: frozenset[str], other: frozenset[str]) -> bool:
        compared[-1] += 1
        return alike(one, other)

    monkeypatch.setattr(module, "_alike", counted)
    for number in (1_000, 2_000):
        compared.append(0)
        said = [(Line(text=text, sources=("m",), at=AT, speaker="user"), "user") for text in rows(number)]
        without_repetition(statements(said))
    assert compared[1] < 2.5 * compared[0]
