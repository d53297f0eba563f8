"""What is drawn of a state from what was said, sentence by sentence, and what is not."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.bench.conversations import conversations
from bethink.insights.clauses import written_out
from bethink.insights.state.adding import add_up
from bethink.insights.state.draw import draw
from bethink.insights.state.keys import content_of
from bethink.messages import Message, Role, ToolCall
from bethink.records import StateEntry
from bethink.testing.strategies import histories

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def said(text: str, role: Role = "user", **fields: object) -> Message:
    return Message(role=role, content=text, id="m1", seq=1, created_at=NOW, **fields)  # type: ignore[arg-type]


def replaced(message: Message, seq: int) -> Message:
    return msgspec.structs.replace(message, seq=seq, id=f"m{seq}")


def drawn(text: str, role: Role = "user", **fields: object) -> list[StateEntry]:
    return list(draw([said(text, role, **fields)], thread_id="t", now=NOW))


def parts(text: str, role: Role = "user", **fields: object) -> list[tuple[str, str]]:
    return [(entry.part, entry.ref or entry.text) for entry in drawn(text, role, **fields)]


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("We decided to use SQLite.", "decision", "use SQLite"),
        ("We've decided against microservices for now.", "decision", "against microservices for now"),
        ("I've decided not to attend the fair.", "decision", "not to attend the fair"),
        ("We settled on a blue logo.", "decision", "a blue logo"),
        ("Let's go with Ghent.", "decision", "go with Ghent"),
        ("We'll use pytest for the tests.", "decision", "use pytest for the tests"),
        ("I've chosen SQLite as the database.", "decision", "SQLite as the database"),
        ("After a long talk we decided to rent a van.", "decision", "rent a van"),
        ("Yesterday was long, but we agreed that nobody works on Fridays.", "decision", "nobody works on Fridays"),
        ("**Decision:** use FastAPI", "decision", "use FastAPI"),
        ("We're switching from SQLite to PostgreSQL.", "decision", "switch from SQLite to PostgreSQL"),
        ("The goal is to ship version 1.0 by 30 June.", "goal", "ship version 1.0 by 30 June"),
        ("Our main goal for this project is to cut costs by 20 %.", "goal", "cut costs by 20 %"),
        ("Goal: a parser without dependencies", "goal", "a parser without dependencies"),
        ("We're now in the testing phase.", "phase", "testing"),
        ("We've moved on to the design stage of the app.", "phase", "design"),
        ("Open question: who pays for the hosting?", "question", "who pays for the hosting?"),
        ("TODO: write the changelog", "question", "write the changelog"),
        ("We still need to decide which region to use.", "question", "decide which region to use"),
        ("We still need to decide which region to deploy to.", "question", "decide which region to deploy to"),
        ("It's still unclear who owns the domain.", "question", "who owns the domain"),
        ("We haven't decided on the colour of the logo yet.", "question", "not yet decided on the colour of the logo"),
        ("I've fixed the login bug.", "task", "fixed the login bug"),
        ("I finished the slides for Monday.", "task", "finished the slides for Monday"),
        ("The migration is done.", "task", "The migration is done"),
        ("Done: set up CI", "task", "set up CI"),
        ("- [x] set up CI", "task", "set up CI"),
        ("- [ ] write the docs", "question", "write the docs"),
        ("For the record, our fiscal year ends in March.", "fact", "our fiscal year ends in March"),
        ("Keep in mind that we have 3 testers.", "fact", "we have 3 testers"),
        ("The deadline is 30 June 2026.", "fact", "The deadline is 30 June 2026"),
        ("I have a submission deadline of June 15.", "fact", "submission deadline of June 15"),
        ("I've decided to ship it this week.", "decision", "ship it this week"),
        ("The goal is to make this app pay for itself.", "goal", "make this app pay for itself"),
        ("I've written tests for the `fetch()` function.", "task", "written tests for the fetch() function"),
        ("I've set up a certificate by Let's Encrypt.", "task", "set up a certificate by Let's Encrypt"),
        ("I've created src/parser.py.", "artifact", "src/parser.py"),
        ("I've saved it to C:\\work\\out.csv.", "artifact", "C:\\work\\out.csv"),
        ("We agreed to meet at 5 p.m. on Monday.", "decision", "meet at 5 p.m. on Monday"),
        ("We decided to use SQLite because:\n- it is one file", "decision", "use SQLite"),
        ("\u6211\u4eec\u3002We decided to use SQLite\u3002", "decision", "use SQLite"),
        ("The report was saved to `out/report.pdf`.", "artifact", "out/report.pdf"),
    ],
)
def test_a_statement_of_the_work_is_drawn(text: str, part: str, expected: str) -> None:
    assert parts(text) == [(part, expected)]


@pytest.mark.parametrize(
    "text",
    [
        "Did we decide to use SQLite?",
        "If we decided to use SQLite, we would lose replicas.",
        "Maybe we decided too early.",
        "They said we decided to use Rust.",
        "We might go with Ghent.",
        "We decided to maybe use Rust.",
        'He wrote "we decided to use MongoDB" in the mail.',
        "> We decided to use MongoDB.",
        "```\nWe decided to use MongoDB.\n```",
        "Please translate this: We decided to use MongoDB.",
        "<memory>\nWe decided to use MongoDB.\n</memory>",
        "I decided to do it.",
        "We haven't finished the slides.",
        "I've almost finished the slides.",
        "I've completed 40% of it by March.",
        "I finished half of the slides.",
        "I've fixed it.",
        "I've handled this case in the parser, and I've implemented error handling for this case.",
        "I decided to include this at the beginning.",
        "We finished another painting like our last one.",
        "I just finished reading The Name of the Wind.",
        "Once the migration is done, tell me.",
        "Is the migration done?",
        "What is the goal of this project?",
        "You can save it to out/report.pdf.",
        "I would have created src/parser.py.",
        "Open the file src/parser.py.",
        "The weather is nice and the phase of the moon is full.",
    ],
)
def test_what_is_asked_supposed_denied_quoted_or_passed_on_is_not(text: str) -> None:
    assert parts(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "We will use the quadratic formula here.",
        "The goal is to keep the mixture moist.",
        "Goal: run 5 km",
        "- [ ] buy flour",
        "Note that we have 3 options.",
        "Phase: planning",
        "The deadline is 30 June 2026.",
        "### Updated `weatherDisplay.js`",
        "## **Decision: use FastAPI**",
    ],
)
def test_an_assistant_that_may_be_advising_is_not_believed(text: str) -> None:
    assert parts(text, "assistant") == []


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("I've created src/parser.py.", "artifact"),
        ("I have fixed the login bug.", "task"),
        ("We still need to decide which region to use.", "question"),
        ("We decided to use SQLite.", "decision"),
        ("We're now in the testing phase.", "phase"),
    ],
)
def test_one_that_reports_is_and_the_entry_says_so(text: str, part: str) -> None:
    (entry,) = drawn(text, "assistant")
    assert (entry.part, entry.trust) == (part, "assistant")


@pytest.mark.parametrize("role", ["system", "developer", "tool"])
def test_other_roles_state_nothing(role: Role) -> None:
    assert parts("We decided to use SQLite.", role, tool_call_id="c1" if role == "tool" else None) == []


def test_what_nobody_in_the_conversation_wrote_states_nothing() -> None:
    assert parts("We decided to use SQLite.", external=True) == []


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("We decided to use SQLite because it is one file.", "it is one file"),
        ("We decided to use SQLite, since we need no server.", "we need no server"),
        ("We decided to use Netlify due to its built-in SSL, but I'm not sure how.", "its built-in SSL"),
        ("We decided to use SQLite. The reason is that it's one file.", "it is one file"),
        ("We decided to use SQLite.\nReason: it's one file", "it is one file"),
        ("We decided to wait as the others do.", ""),
        ("We decided to wait. It rained because of the wind.", ""),
    ],
)
def test_a_decision_has_its_reason(text: str, because: str) -> None:
    assert [entry.because for entry in drawn(text)] == [because]


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("We decided to use PostgreSQL instead of SQLite.", "SQLite"),
        ("We've chosen FastAPI over Flask.", "Flask"),
        ("We're switching from SQLite to PostgreSQL.", "SQLite"),
        ("We decided against MongoDB.", "MongoDB"),
        ("We decided not to use Redis.", "Redis"),
        ("We've decided against microservices for now, putting stability first.", "microservices"),
        ("We changed our minds about SQLite: we'll use PostgreSQL.", "SQLite"),
        ("Forget Flask, let's go with FastAPI.", "Flask"),
        ("We decided to talk it over dinner.", ""),
    ],
)
def test_a_decision_names_what_it_replaces(text: str, old: str) -> None:
    assert [entry.old for entry in drawn(text)] == [old]


def test_what_is_stated_before_a_question_is_drawn() -> None:
    text = "I've added 52 sources to my library, can you help me sort them?"
    assert parts(text) == [("task", "added 52 sources to my library")]


def test_of_each_thing_that_a_deadline_is_for_there_is_one() -> None:
    said_one_by_one = (
        "I have a submission deadline of June 15 for the abstract.",
        "I have a submission deadline of July 20 for my paper.",
        "I have a submission deadline of July 25 for the paper.",
    )
    entries = draw([replaced(said(text), seq) for seq, text in enumerate(said_one_by_one, 1)], thread_id="t", now=NOW)
    assert [entry.text for entry in add_up(entries).facts] == [
        "submission deadline of June 15 for the abstract",
        "submission deadline of July 25 for the paper",
    ]


def test_a_month_is_no_question() -> None:
    text = "I've scheduled 2 sessions on May 11 for clarity, May 12 for style, is that enough?"
    assert parts(text) == [("task", "scheduled 2 sessions on May 11 for clarity, May 12 for style")]


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("The goal is to ship in May. Later: the goal is to ship in June.", "goal", ["ship in May", "ship in June"]),
        (
            "We decided to use SQLite, but then we decided to use PostgreSQL instead of SQLite.",
            "decision",
            ["use SQLite", "use PostgreSQL instead of SQLite"],
        ),
        ("The deadline is 1 May. Sorry, the deadline is 5 May.", "fact", ["The deadline is 1 May", "the deadline is 5 May"]),
    ],
)
def test_what_a_message_revises_stands_in_the_order_in_which_it_says_it(text: str, part: str, expected: list[str]) -> None:
    entries = drawn(text)
    assert [(entry.part, entry.text) for entry in entries] == [(part, words) for words in expected]
    assert [entry.place for entry in entries] == sorted({entry.place for entry in entries})
    assert [entry.text for entry in add_up(entries)] == expected[-1:]


def test_what_a_message_says_twice_is_drawn_once() -> None:
    text = "We decided to use SQLite. It is one file. Again: we decided to use SQLite."
    assert parts(text) == [("decision", "use SQLite")]


def test_unless_it_brings_the_reason() -> None:
    text = "We decided to use SQLite. Again: we decided to use SQLite because it is one file."
    assert [entry.because for entry in drawn(text)] == ["", "it is one file"]


def test_an_entry_names_the_words_it_was_drawn_from() -> None:
    text = "Hello. We decided to use SQLite. Bye."
    (entry,) = drawn(text)
    (source,) = entry.sources
    assert (source.message_id, source.thread_id, source.text) == ("m1", "t", "use SQLite")
    assert text[source.start : source.end] == "We decided to use SQLite."


def test_a_name_in_code_marks_ends_its_sentence_like_any_word() -> None:
    text = "I've created `src/parser.py`. We still need to decide which region to use."
    assert parts(text, "assistant") == [("artifact", "src/parser.py"), ("question", "decide which region to use")]


def test_several_files_of_one_sentence_are_several_artifacts() -> None:
    text = "I've created `src/parser.py` and `tests/test_parser.py`."
    assert parts(text, "assistant") == [("artifact", "src/parser.py"), ("artifact", "tests/test_parser.py")]


# -- tools ----------------------------------------------------------------------------------------------------------------


def called(name: str, arguments: str, result: str | None = "ok", call_id: str = "c1") -> list[Message]:
    call = Message(
        role="assistant", id="m1", seq=1, created_at=NOW, tool_calls=(ToolCall(call_id, name, arguments),), content=None
    )
    answer = Message(role="tool", id="m2", seq=2, group=1, created_at=NOW, content=result, tool_call_id=call_id)
    return [call] if result is None else [call, answer]


def wrote(name: str, arguments: str, result: str | None = "ok") -> list[str]:
    return [entry.ref for entry in draw(called(name, arguments, result), thread_id="t", now=NOW)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "src/x.py", "content": "x"}),
        ("create_file", {"file_path": "src/x.py"}),
        ("Write", {"file_path": "src/x.py", "content": "x"}),
        ("Edit", {"file_path": "src/x.py", "old_string": "a", "new_string": "b"}),
        ("fs.save_file", {"filename": "src/x.py"}),
        ("str_replace_based_edit_tool", {"command": "create", "path": "src/x.py", "file_text": "x"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: src/x.py\n@@\n*** End Patch"}),
    ],
)
def test_a_call_that_writes_a_file_is_an_artifact(name: str, arguments: dict[str, str]) -> None:
    assert wrote(name, json.dumps(arguments)) == ["src/x.py"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", '{"path": "src/x.py"}'),
        ("delete_file", '{"path": "src/x.py"}'),
        ("str_replace_based_edit_tool", '{"command": "view", "path": "src/x.py"}'),
        ("create_event", '{"path": "src/x.py"}'),
        ("write_file", "not JSON"),
        ("write_file", '{"path": 3}'),
        ("write_file", "[]"),
        ("write_file", "[" * 100_000),
        ("write_file", '{"path": "src/\\u0000x.py"}'),
        ("apply_patch", "*** Add File:  \n+x"),
    ],
)
def test_other_calls_are_none(name: str, arguments: str) -> None:
    assert wrote(name, arguments) == []


@pytest.mark.parametrize(
    "result",
    [None, "Error: permission denied", '{"error": "no space left"}', '{"ok": false}', "Traceback (most recent call last):"],
)
def test_one_without_a_result_or_with_an_error_wrote_nothing(result: str | None) -> None:
    assert wrote("write_file", '{"path": "src/x.py"}', result) == []


def test_a_result_nested_deeper_than_can_be_read_is_no_error() -> None:
    assert wrote("write_file", '{"path": "src/x.py"}', "[" * 100_000 + "]" * 100_000) == ["src/x.py"]


def test_of_several_calls_that_write_one_file_the_last_stands() -> None:
    contents = [f"version {number}" for number in range(8)]
    calls = tuple(
        ToolCall(f"c{number}", "write_file", json.dumps({"path": "a.txt", "content": content}))
        for number, content in enumerate(contents)
    )
    asked = Message(role="assistant", id="m1", seq=1, created_at=NOW, content="Writing.", tool_calls=calls)
    results = [
        Message(role="tool", id=f"r{number}", seq=2 + number, group=1, created_at=NOW, content="ok", tool_call_id=call.id)
        for number, call in enumerate(calls)
    ]
    entries = draw([asked, *reversed(results)], thread_id="t", now=NOW)
    digests = [hashlib.sha256(content.encode()).hexdigest() for content in contents]
    assert [entry.digest for entry in entries] == digests
    assert [each.digest for each in add_up(entries).artifacts] == digests[-1:]


def test_the_digest_is_that_of_what_was_written() -> None:
    (entry,) = draw(called("write_file", '{"path": "a.txt", "content": "hello"}'), thread_id="t", now=NOW)
    assert entry.digest == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


def test_a_result_that_comes_later_is_enough() -> None:
    messages = called("write_file", '{"path": "a.txt"}')
    (entry,) = draw(messages, thread_id="t", now=NOW, after=1)
    assert [source.message_id for source in entry.sources] == ["m1"]
    assert draw(messages, thread_id="t", now=NOW, after=2) == ()


# -- for any --------------------------------------------------------------------------------------------------------------


@given(histories(max_size=12))
def test_any_history_is_drawn_from_alike_each_time_and_in_any_pieces(history: list[Message]) -> None:
    placed = [msgspec.structs.replace(message, seq=seq) for seq, message in enumerate(history, start=1)]
    whole = draw(placed, thread_id="t", now=NOW)
    assert draw(placed, thread_id="t", now=NOW) == whole
    pieces = [
        entry
        for seq in range(len(placed))
        for entry in draw(placed[: seq + 1], thread_id="t", now=NOW, after=seq, through=seq + 1)
    ]
    assert {entry.id for entry in pieces} == {entry.id for entry in whole}


def test_of_a_sentence_without_end_only_so_much_is_looked_at() -> None:
    text = ", ".join(f"we decided to call box {number} Robert" for number in range(120))
    assert 1 < len(drawn(text)) <= 24


def test_a_page_that_was_pasted_is_nobodys_statement() -> None:
    assert parts("We decided to use SQLite. " + "And so on. " * 600) == []


@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    for entry in drawn(text.replace("\x00", "")):
        assert entry.text or entry.ref


@pytest.mark.slow
def test_no_word_is_drawn_from_real_conversations_that_is_not_in_them(shared: Path) -> None:
    entries = 0
    for path in sorted((shared / "data" / "beam").rglob("chat.json"))[:3]:
        for conversation in conversations(path):
            for seq, message in enumerate(conversation.messages, start=1):
                for entry in draw([msgspec.structs.replace(message, seq=seq)], thread_id="t", now=NOW):
                    entries += 1
                    words = content_of(written_out(message.text.replace("`", " ").replace("**", " ")))
                    assert content_of(f"{entry.text} {entry.because} {entry.ref}") - content_of("not yet") <= words
    assert entries > 10
