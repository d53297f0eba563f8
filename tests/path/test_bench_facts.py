"""`bethink bench facts`: what counts as a fact, what a choice costs, and the sums, on conversations of a few lines."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from bethink.bench import facts as bench
from bethink.bench import survival
from bethink.bench.conversations import Conversation, conversations
from bethink.bench.facts import OURS, Folded, Tally, evaluate, fold, fold_to, next_size, size_of, total
from bethink.bench.talk import turns
from bethink.errors import ImportFailed
from bethink.memory import Memory
from bethink.messages import Message
from bethink.models.tokens import BuiltinCounter
from bethink.settings import Settings
from bethink.storage.base import Read
from bethink.storage.reference import ReferenceStore

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NOBODY: frozenset[str] = frozenset()
COUNT = BuiltinCounter().count


def message(number: int, text: str) -> Message:
    return Message(role="user", content=text, id=f"m{number}", created_at=AT + timedelta(minutes=number))


def kept(sentence: str, *texts: str) -> set[survival.Fact]:
    return survival.kept(survival.said([sentence], NOBODY), [sentence], texts, NOBODY)


def made_up(sessions: int = 6, each: int = 20) -> Conversation:
    talk = list(turns(sessions * each))
    return Conversation("made up", "openai", tuple(tuple(talk[start : start + each]) for start in range(0, len(talk), each)))


# -- facts ----------------------------------------------------------------------------------------------------------------


def test_a_fact_is_counted_once_however_often_it_is_said() -> None:
    assert survival.said(["We saw Porto.", "He saw Porto, too."], NOBODY) == {("names", "porto"): 2}


def test_those_who_speak_are_no_facts() -> None:
    assert survival.said(["We saw Mara."], frozenset({"mara"})) == {}


@pytest.mark.parametrize(
    ("said", "left", "fact"),
    [
        ("It costs 3,500 euros.", "3500", ("numbers", "3500")),
        ("It is the 5th.", "number 5", ("numbers", "5")),
        ("We met on Sundays.", "on Sunday", ("dates", "sun")),
        ("It is on 5 May.", "see you May 5th", ("dates", "may 5")),
        ("It is on 2026-05-06.", "see you on May 6", ("dates", "may 6")),
        ("We own two Nikons.", "it is a Nikon", ("names", "nikon")),
        ("We saw PORTO.", "we saw Porto", ("names", "porto")),
    ],
)
def test_the_same_fact_in_another_form_is_kept(said: str, left: str, fact: survival.Fact) -> None:
    assert fact in kept(said, left)


def test_another_number_or_name_is_not_kept() -> None:
    assert kept("We saw 12 boxes in Porto.", "we saw 13 boxes in Lisbon") == set()


def test_a_name_that_starts_a_line_is_known_from_the_conversation() -> None:
    assert kept("We live in Porto.", "Porto is far.") == {("names", "porto")}
    assert survival.said(["Porto is far."], NOBODY) == {}


def test_a_date_in_figures_is_a_date_and_no_number() -> None:
    assert survival.said(["It is on 2026-05-06."], NOBODY) == {("dates", "may 6"): 1}


@pytest.mark.parametrize(
    ("fact", "times", "form"),
    [
        (("numbers", "1999"), 1, "year"),
        (("numbers", "7"), 1, "whole, up to 10"),
        (("numbers", "70"), 1, "whole, above 10"),
        (("numbers", "3pm"), 1, "time of day"),
        (("numbers", "20%"), 1, "with a unit, a fraction, a range"),
        (("dates", "mon"), 1, "weekday"),
        (("dates", "may"), 1, "month"),
        (("dates", "may 5"), 1, "day of a month"),
        (("dates", "5/5/26"), 1, "in figures"),
        (("dates", "two weeks ago"), 1, "relative"),
        (("names", "porto"), 1, "said once"),
        (("names", "porto"), 3, "said twice or three times"),
        (("names", "porto"), 4, "said more often"),
    ],
)
def test_the_form_of_a_fact_tells_its_sort_and_not_its_words(fact: survival.Fact, times: int, form: str) -> None:
    assert survival.form_of(fact, times) == form


# -- choices --------------------------------------------------------------------------------------------------------------


def test_the_first_that_fit_are_taken_and_what_does_not_fit_is_passed_over() -> None:
    texts = ["aa", "bbbbbbbbbb", "cc", "dd"]
    assert survival.first(texts, 9, len) == ["aa", "cc", "dd"]
    assert survival.first(texts, 6, len) == ["aa", "cc"]
    assert survival.first(texts, 0, len) == []


def test_chance_is_the_same_for_the_same_seed() -> None:
    texts = [str(number) for number in range(30)]
    assert survival.shuffled(texts, 1) == survival.shuffled(texts, 1) != survival.shuffled(texts, 2)
    assert sorted(survival.shuffled(texts, 1)) == sorted(texts)


def test_the_closest_to_all_is_the_one_whose_words_the_others_share() -> None:
    texts = [f"{'boxes' if number % 2 else 'crates'} {'Porto' if number % 3 else 'Ghent'}" for number in range(40)]
    ranked = survival.closest(["xylophone zebra", *texts])
    assert sorted(ranked) == sorted(["xylophone zebra", *texts])
    assert ranked[-1] == "xylophone zebra"


def test_the_oracle_takes_what_brings_most_new_facts_for_its_tokens() -> None:
    texts = [
        "We met Ana in Porto and Ben in Ghent.",
        "We met Ana.",
        "It rained.",
        "They paid 40 euros.",
        "So we met Ana in Porto.",
    ]
    assert survival.most_facts(texts, NOBODY, 1_000, COUNT) == [texts[0], texts[3]]
    assert survival.most_facts(texts, NOBODY, COUNT(texts[1]) + 1, COUNT) == [texts[1]]
    assert survival.most_facts(texts, NOBODY, 1, COUNT) == []


def test_the_oracle_keeps_at_least_what_any_other_choice_does() -> None:
    tally = evaluate(folded(), NOBODY)
    assert all(tally.share("oracle") >= tally.share(chooser) for chooser in tally.kept if chooser != OURS)


# -- sums -----------------------------------------------------------------------------------------------------------------


def folded() -> Folded:
    """Two sessions: six facts, of which the lines that are left say three."""
    sessions = (
        (message(1, "We went to the market. It was fun."), message(2, "We bought 12 boxes in Porto.")),
        (message(3, "It rained. We called Ana on Monday."), message(4, "We paid 40 euros in Lisbon.")),
    )
    return Folded(
        sessions, nodes=("We bought 12 boxes in Porto.",), summary=(), state=(), profile=("knows somebody called Ana",)
    )


def test_what_survives_is_counted_by_kind() -> None:
    tally = evaluate(folded(), NOBODY)
    assert tally.there == {"numbers": 2, "dates": 1, "names": 3}
    assert tally.kept[OURS] == {"numbers": 1, "dates": 0, "names": 2}
    assert tally.share(OURS) == 0.5
    assert tally.share(OURS, "dates") == 0


def test_every_choice_has_as_many_tokens_as_what_is_left() -> None:
    tally = evaluate(folded(), NOBODY)
    assert tally.left == size_of(folded().left, COUNT)
    assert tally.tokens == size_of((each.text for session in folded().sessions for each in session), COUNT)
    # The first sentences up to that size are the first two, which hold no fact.
    assert tally.share("first") == 0


def test_what_is_lost_is_told_by_form() -> None:
    tally = evaluate(folded(), NOBODY)
    assert tally.forms["names"] == {"said once": (2, 3)}
    assert tally.forms["numbers"] == {"whole, above 10": (1, 2)}
    assert tally.forms["dates"] == {"weekday": (0, 1)}


def test_the_sums_of_conversations_add_up() -> None:
    tally = evaluate(folded(), NOBODY)
    both = total([tally, tally])
    assert both.messages == 2 * tally.messages
    assert both.there == {kind: 2 * number for kind, number in tally.there.items()}
    assert both.forms["names"] == {"said once": (4, 6)}
    assert both.share(OURS) == tally.share(OURS)


def tally_of(ours: float, others: float) -> Tally:
    kept = {
        chooser: {"numbers": share * 100, "dates": 0.0, "names": 0.0} for chooser, share in (("first", others), (OURS, ours))
    }
    kept |= dict.fromkeys(("sessions", "random"), kept["first"])
    return Tally(1, 100, 25, {"numbers": 100, "dates": 0, "names": 0}, kept, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "others", "reached"),
    [(0.75, 0.5, True), (0.74, 0.1, False), (0.75, 0.51, False), (0.8, 0.0, True)],
)
def test_the_goals_are_three_quarters_and_half_as_much_again_as_others_keep(ours: float, others: float, reached: bool) -> None:
    assert tally_of(ours, others).reached is reached


# -- folding --------------------------------------------------------------------------------------------------------------


def test_what_is_folded_is_what_the_summary_nodes_cover() -> None:
    found = fold(made_up(), Settings(), budget=1_200)
    texts = [each.text for session in found.sessions for each in session]
    whole = [each.text for each in made_up().messages]
    assert texts == whole[: len(texts)]
    assert 0 < len(texts) < len(whole)
    assert found.nodes


def test_the_state_of_the_work_is_left_and_its_tokens_count() -> None:
    talk = made_up()
    decided = message(0, "We decided to use SQLite because it is one file.")
    found = fold(
        Conversation(talk.name, talk.source, ((decided, *talk.sessions[0]), *talk.sessions[1:])), Settings(), budget=1_200
    )
    assert "decided: use SQLite, because it is one file" in found.state
    assert found.left == (*found.nodes, *found.summary, *found.state, *found.profile)


def test_what_is_left_is_what_a_memory_in_use_would_leave() -> None:
    store = ReferenceStore()
    with Memory(store=store, embedder=None) as memory:
        thread = memory.thread("made up")
        for session in made_up().sessions:
            thread.append(session)
            thread.context(budget=1_200)
        nodes = store.read(Read(namespace=memory.namespace, thread_id=thread.id, limit=0, nodes=True)).nodes
    told = [line.text for node in sorted(nodes, key=lambda node: node.first_seq) for line in node.lines]
    assert list(fold(made_up(), Settings(), budget=1_200).nodes) == told


def folded_to(conversation: Conversation, share: float, budget: int) -> Folded | None:
    return fold_to(conversation, share, budget=budget, default=fold(conversation, Settings(), budget=budget))


def test_a_conversation_is_folded_to_at_most_the_share_that_is_asked_for() -> None:
    found = folded_to(made_up(), 0.5, 1_200)
    assert found is not None
    whole = size_of((each.text for session in found.sessions for each in session), COUNT)
    assert 0.4 * whole < size_of(found.left, COUNT) <= 0.5 * whole


def test_a_conversation_that_fits_is_not_folded() -> None:
    assert folded_to(made_up(1, 4), 0.25, 8_000) is None


def test_a_share_that_the_profile_alone_exceeds_leaves_nothing() -> None:
    assert folded_to(made_up(), 0.001, 1_200) is None


@pytest.mark.parametrize(
    ("tried", "size"),
    [
        ({100: 1_000}, 200),
        ({100: 1_000, 200: 1_500}, 300),
        ({100: 1_000, 300: 3_000}, 200),
        ({300: 3_000, 100: 1_000}, 200),
        ({199: 1_900, 200: 2_100}, 199),
        ({100: 1_000, 110: 1_000}, 220),
    ],
    ids=["in proportion", "on the line of the last two", "between", "between, in any order", "nothing between", "no slope"],
)
def test_the_next_size_of_a_node_is_where_the_line_says(tried: dict[int, int], size: int) -> None:
    assert next_size(tried, 2_000, 2_000) == size


# -- files ----------------------------------------------------------------------------------------------------------------


def haystack(**fields: object) -> list[dict[str, object]]:
    session = [{"role": "user", "content": "Hi.", "has_answer": True}, {"role": "assistant", "content": "Hello."}]
    return [
        {
            "question_id": "q1",
            "haystack_dates": ["2023/07/12 (Wed) 10:14", "2023/07/11 (Tue) 09:00"],
            "haystack_sessions": [session, session[:1]],
            **fields,
        }
    ]


def test_a_haystack_is_one_conversation_in_the_order_of_its_dates(tmp_path: Path) -> None:
    path = tmp_path / "longmemeval.json"
    path.write_text(json.dumps(haystack()))
    (found,) = conversations(path)
    assert (found.name, found.source) == ("q1", "longmemeval")
    assert [len(session) for session in found.sessions] == [1, 2]
    assert found.messages[1].created_at == datetime(2023, 7, 12, 10, 14, tzinfo=timezone.utc)
    assert len({each.id for each in found.messages}) == 3
    assert found.speakers == {"user", "assistant"}


def test_a_damaged_haystack_is_refused_by_its_place(tmp_path: Path) -> None:
    path = tmp_path / "longmemeval.json"
    path.write_text(json.dumps(haystack(haystack_dates=["yesterday", "today"])))
    with pytest.raises(ImportFailed, match=r"\[0\]"):
        conversations(path)


def test_a_chat_of_beam_is_one_conversation_named_by_its_folder(tmp_path: Path) -> None:
    asked = {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "Which day? ->-> 1,1"}
    answered = {"role": "assistant", "id": 1, "content": "Monday."}
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"batch_number": 1, "turns": [[asked, answered], [{**asked, "id": 2, "time_anchor": None}]]}]))
    (found,) = conversations(path)
    assert (found.name, found.source) == (tmp_path.name, "beam")
    assert [len(session) for session in found.sessions] == [2, 1]
    assert [each.text for each in found.messages] == ["Which day?", "Monday.", "Which day?"]
    assert [each.created_at for each in found.messages] == [
        datetime(2024, 3, 15, 0, minute, tzinfo=timezone.utc) for minute in range(3)
    ]


def test_a_damaged_chat_of_beam_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"batch_number": 1, "turns": [[{"role": "user"}]]}]))
    with pytest.raises(ImportFailed, match="BEAM"):
        conversations(path)


def test_the_sessions_of_a_locomo_sample_are_one_conversation(tmp_path: Path) -> None:
    path = tmp_path / "locomo.json"
    sample: dict[str, object] = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_2_date_time": "1:56 pm on 9 May, 2023",
    }
    sample |= {f"session_{number}": [{"speaker": "Mara", "text": "Hi.", "dia_id": f"D{number}:1"}] for number in (1, 2)}
    path.write_text(json.dumps([{"sample_id": "conv-1", "conversation": sample, "qa": []}]))
    (found,) = conversations(path)
    assert (found.name, found.source, len(found.sessions)) == ("conv-1", "locomo", 2)


def test_any_file_that_can_be_imported_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "Hello."}]))
    assert [found.source for found in conversations(path)] == ["openai"]


def chat(path: Path) -> Path:
    path.write_text(json.dumps([{"role": each.role, "content": each.content} for each in made_up().messages]))
    return path


def test_a_run_reports_each_group_and_says_by_its_code_whether_the_goals_are_reached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = bench.main([str(chat(tmp_path / "chat.json")), "--budget", "1200", "--share", "0.5", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report.keys() == {"groups", "as_it_comes", "conversations"}
    (group,) = report["groups"].values()
    assert group["left"] <= 0.5 * group["tokens"]
    assert group["kept"].keys() == {OURS, "first", "sessions", "random", "closest", "oracle"}
    assert code == (0 if group["reached"] else 1)


def test_a_table_names_the_goals_and_what_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench.main([str(chat(tmp_path / "chat.json")), "--budget", "1200", "--share", "0.5"])
    printed = capsys.readouterr().out
    assert "of the facts: goal 0.75" in printed
    assert "lost with bethink" in printed
    assert "with default settings" in printed


@pytest.mark.shared
def test_facts_of_a_real_conversation_survive_folding(shared: Path) -> None:
    found = next(each for each in conversations(shared / "data/locomo/locomo_dev.json") if each.name == "conv-44")
    chosen = folded_to(found, 0.25, 8_000)
    assert chosen is not None
    assert evaluate(chosen, found.speakers).reached
