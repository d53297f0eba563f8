"""`bethink bench locomo|longmemeval|beam`: who is asked, what comes of it, and where it is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.path.published import beam, haystack, locomo, sample, written

from bethink.bench.locomo import main as locomo_main
from bethink.bench.retrieval import command
from bethink.bench.retrieval.figures import Asked, Figures, Scores, Talk, figures, judge, mean_of
from bethink.bench.retrieval.peers import PEERS, missing
from bethink.bench.retrieval.questions import Case, Question, cases
from bethink.bench.retrieval.report import Report, report
from bethink.bench.retrieval.run import OURS, Results, run
from bethink.bench.retrieval.systems import BM25, RRF, Bethink, Dense, Found, System
from bethink.bench.retrieval.tables import drawn, markdown, text, updated
from bethink.bench.retrieval.vectors import Vectors, VectorsOfTokens
from bethink.errors import InvalidInput, MissingExtra
from bethink.models import Embedder, Fingerprint, exact
from bethink.models.exact import TiktokenCounter
from bethink.models.tokens import BuiltinCounter
from bethink.retrieval.ranker import Ranker
from bethink.settings import Settings
from bethink.testing.doubles import HashEmbedder, HashTokenEmbedder

FIGURES = (
    *("recall_at_5", "recall_at_10", "recall_all_at_10", "ndcg_at_10", "mrr", "session_recall_at_5"),
    *(f"evidence_within_{budget}_tokens" for budget in (250, 500, 1000, 2000, 4000)),
    *("by_category", "query_ms_p50", "query_ms_p95", "index_seconds", "ranker", "embedder", "groups", "threshold"),
)
COUNTER = BuiltinCounter()


class Counting:
    """A hashed bag of words that counts what it is asked for."""

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self._inner = HashEmbedder(64)

    @property
    def fingerprint(self) -> Fingerprint:
        return self._inner.fingerprint

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        return self._inner.embed(texts)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return cases("locomo", [locomo(tmp_path)])[0]


def ran(given: Sequence[Case], *, limit: int | None = None, **systems: Callable[[], System]) -> Results:
    results = Results()
    asked: dict[str, Callable[[], System]] = {OURS: lambda: Bethink(None, Ranker()), **systems}
    run(given, asked, results, vectors=None, counter=COUNTER, limit=limit)
    return results


def made(results: Results) -> Report:
    return report("locomo", results, ranker=Ranker(), embedder=None, counter="builtin")


def indexed(system: System, case: Case) -> System:
    system.index(case.read())
    return system


# -- vectors --------------------------------------------------------------------------------------------------------------


def test_a_vector_is_made_once_and_found_by_the_next_run(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    one, other = Vectors(first, tmp_path / "vectors.db"), Vectors(second, tmp_path / "vectors.db")
    texts = ["a kayak", "a cello", "a kayak"]
    made_now = one.embed(texts)
    one.close()
    assert first.embedded == ["a kayak", "a cello"]
    assert (other.embed(texts) == made_now).all()
    assert second.embedded == []
    assert (made_now == HashEmbedder(64).embed(texts)).all()
    other.close()


def test_another_model_finds_nothing_of_the_first(tmp_path: Path) -> None:
    one, other = Vectors(HashEmbedder(64), tmp_path / "v.db"), Vectors(HashEmbedder(64, "other"), tmp_path / "v.db")
    one.embed(["a kayak"])
    assert (other.embed(["a kayak"]) == HashEmbedder(64, "other").embed(["a kayak"])).all()
    one.close()
    other.close()


def test_what_a_vector_took_is_known_when_it_is_found(tmp_path: Path) -> None:
    vectors = Vectors(HashEmbedder(64), tmp_path / "v.db")
    vectors.embed(["a kayak"])
    assert vectors.spared == 0
    vectors.embed(["a kayak"])
    assert vectors.spared > 0
    vectors.close()


def test_a_fresh_vector_is_made_by_the_model_and_not_kept() -> None:
    embedder = Counting()
    vectors = Vectors(embedder)
    vectors.embed(["a kayak"])
    with vectors.fresh():
        vectors.embed(["a kayak", "a cello"])
    vectors.embed(["a cello"])
    assert embedder.embedded == ["a kayak", "a kayak", "a cello", "a cello"]
    vectors.close()


def test_nothing_to_embed_is_no_vector() -> None:
    vectors = Vectors(HashEmbedder(64))
    assert vectors.embed([]).shape == (0, 64)
    vectors.close()


def test_the_file_holds_no_text(tmp_path: Path) -> None:
    vectors = Vectors(HashEmbedder(64), tmp_path / "v.db")
    vectors.embed(["a very secret kayak"])
    vectors.close()
    assert all(b"kayak" not in file.read_bytes() for file in tmp_path.iterdir())


def test_tokens_are_made_once_too_in_the_run_that_makes_the_vector(tmp_path: Path) -> None:
    texts = ["a kayak", "a cello", "a kayak"]
    with closing(VectorsOfTokens(HashTokenEmbedder(64), tmp_path / "v.db")) as one:
        first = one.embed_tokens(texts)
        assert one.spared == pytest.approx(0)
    with closing(VectorsOfTokens(HashTokenEmbedder(64), tmp_path / "v.db")) as other:
        again = other.embed_tokens(texts)
        assert other.spared > 0
        assert (other.embed(texts) == first.vectors).all()
    assert (again.vectors == first.vectors).all()
    assert all((one == other).all() for one, other in zip(again.tokens, first.tokens, strict=True))


def test_vectors_without_tokens_are_given_them(tmp_path: Path) -> None:
    with closing(VectorsOfTokens(HashTokenEmbedder(64), tmp_path / "v.db")) as vectors:
        alone = vectors.embed(["a kayak"])
        both = vectors.embed_tokens(["a kayak"])
        assert (both.vectors == alone).all()
        assert len(both.tokens[0]) == 2


def test_fresh_tokens_are_made_by_the_model() -> None:
    with closing(VectorsOfTokens(HashTokenEmbedder(64))) as vectors:
        vectors.embed_tokens(["a kayak"])
        with vectors.fresh():
            vectors.embed_tokens(["a kayak"])
        assert vectors.token_fingerprint == HashTokenEmbedder(64).token_fingerprint
        assert vectors.embed_tokens([]).tokens == []


# -- systems --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [BM25, lambda: Dense(HashEmbedder(64)), lambda: RRF(HashEmbedder(64))])
def test_a_plain_retriever_finds_what_shares_words(make: Callable[[], System], case: Case) -> None:
    found = indexed(make(), case).ask(Question(text="Is Vera a beekeeper?", category=""), 3)
    assert (found[0].index, found[0].text) == (2, "Bo: My sister Vera is a beekeeper.")
    assert len({each.index for each in found}) == len(found) <= 3


def test_bm25_is_the_sum_of_its_formula(case: Case) -> None:
    (found,) = indexed(BM25(), case).ask(Question(text="beekeeper", category=""), 5)
    # One of four messages has the term, once. With their speakers they have 7, 7, 7 and 7 terms, so length does not matter.
    idf = np.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    assert found.score == pytest.approx(idf * 1 * 2.2 / (1 + 1.2), rel=0.02)


def test_fusion_adds_the_places_of_both(case: Case) -> None:
    question = Question(text="beekeeper", category="")
    place = {each.index: number for number, each in enumerate(indexed(Dense(HashEmbedder(64)), case).ask(question, 4), 1)}
    best = indexed(RRF(HashEmbedder(64)), case).ask(question, 4)[0]
    assert best.index == 2
    assert best.score == pytest.approx(1 / 61 + 1 / (60 + place[2]))


def test_bethink_ranks_messages_without_a_threshold_and_answers_with_it(case: Case) -> None:
    system = Bethink(None, Ranker())
    system.index(case.read())
    question = Question(text="Where can I rent a yellow kayak on the river tomorrow with Vera?", category="")
    assert system.ask(question, 3)
    assert system.answer(question, 3)[0] == []
    system.close()


def test_bethink_tells_all_of_a_hit(case: Case) -> None:
    with closing(VectorsOfTokens(HashTokenEmbedder(64))) as vectors:
        system = Bethink(vectors, Ranker(), Settings(maxsim=True))
        with closing(indexed(system, case)):
            told = system.hits(case.questions[0], 3)
            assert [(place, hit.text, hit.score) for place, hit in told] == [
                (each.index, each.text, each.score) for each in system.ask(case.questions[0], 3)
            ]
            assert any("tokens" in hit.scores for _, hit in told)


def test_a_hit_is_the_message_of_its_place(case: Case) -> None:
    system = Bethink(HashEmbedder(64), Ranker())
    system.index(case.read())
    for index, word in enumerate(("Ghent", "cello", "beekeeper", "sold")):
        assert system.ask(Question(text=word, category=""), 1)[0].index == index
    system.close()


@pytest.mark.parametrize("name", PEERS)
def test_a_store_of_others_ranks_as_exact_cosine_does(name: str, case: Case) -> None:
    if missing(name):
        pytest.skip(missing(name))
    question = Question(text="Is Vera a beekeeper?", category="")
    embedder: Embedder = HashEmbedder(64)
    system = indexed(PEERS[name](embedder), case)
    found = system.ask(question, 10)
    expected = indexed(Dense(embedder), case).ask(question, 10)
    assert found[0].index == expected[0].index == 2
    assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-5)
    system.close()


def test_a_store_that_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "bethink[bench]" in missing("langgraph")


# -- figures --------------------------------------------------------------------------------------------------------------


def found(*indices: int, text: str = "Hello.") -> list[Found]:
    return [Found(index, text, 1.0) for index in indices]


def test_turns_are_judged_by_the_ten_best_and_sessions_by_all(case: Case) -> None:
    talk = Talk.of(case.read())
    question = Question(text="?", category="", turns=frozenset(["D2:1"]), sessions=frozenset(["D2"]))
    scores = judge(question, talk, found(0, 1), found(0, 1, 2), COUNTER)
    assert (scores.recall_at_10, scores.mrr, scores.session_mrr, scores.session_hit_at_1) == (0.0, 1 / 3, 0.5, 0.0)
    assert scores.session_recall_at_5 == 1.0


def test_a_budget_counts_the_line_that_a_context_would_show(case: Case) -> None:
    talk = Talk.of(case.read())
    question = Question(text="?", category="", turns=frozenset(["D1:1"]), sessions=frozenset(["D1"]))
    line = "2023-05-08:\n- Ada: {}"
    short, long = "x " * 20, "x " * 400
    assert COUNTER.count(line.format(short)) < 250 < COUNTER.count(line.format(long)) < 1000
    assert judge(question, talk, found(0), found(0, text=short), COUNTER).evidence_within_250_tokens == 1.0
    judged = judge(question, talk, found(0), found(0, text=long), COUNTER)
    assert (judged.evidence_within_250_tokens, judged.evidence_within_1000_tokens) == (0.0, 1.0)


def test_lines_of_one_day_are_counted_under_one_heading(case: Case) -> None:
    talk = Talk.of(case.read())
    text = "x " * 20
    heading, line = COUNTER.count("2023-05-08:") + 1, COUNTER.count(f"- Ada: {text.strip()}") + 1
    many = 250 // line
    assert many * line + heading <= 250 < many * (line + heading)
    question = Question(text="?", category="", turns=frozenset(["D1:2"]), sessions=frozenset(["D1"]))
    ranked = [*found(*[0] * (many - 1), text=text), *found(1, text=text)]
    assert judge(question, talk, found(1), ranked, COUNTER).evidence_within_250_tokens == 1.0


def test_who_said_it_is_counted_once_for_everybody(case: Case) -> None:
    talk = Talk.of(case.read())
    question = Question(text="?", category="", turns=frozenset(["D1:1"]), sessions=frozenset(["D1"]))
    ours, theirs = (found(*[0] * 60, text=f"{prefix}Hello.") for prefix in ("", f"{talk.messages[0].speaker}: "))
    figures_of = [judge(question, talk, found(0), ranked, COUNTER) for ranked in (ours, theirs)]
    assert figures_of[0] == figures_of[1]


def test_without_turns_only_sessions_have_figures(case: Case) -> None:
    question = Question(text="?", category="", sessions=frozenset(["D1"]))
    scores = judge(question, Talk.of(case.read()), found(0), found(0), COUNTER)
    assert (scores.recall_at_5, scores.mrr, scores.session_recall_at_5) == (None, None, 1.0)


def test_a_mean_is_over_those_that_have_the_figure() -> None:
    mean = mean_of([Scores(mrr=1.0), Scores(mrr=0.5, recall_at_5=0.25), Scores()])
    assert (mean.mrr, mean.recall_at_5, mean.recall_at_10) == (0.75, 0.25, None)


def test_times_are_the_median_and_the_slowest_twentieth() -> None:
    asked = [
        Asked(case="c", category="x", scores=Scores(mrr=1.0), seconds=0.001 * each, cpu=0.0005 * each) for each in range(1, 101)
    ]
    made_of = figures(asked, index_seconds=2.0)
    assert (made_of.query_ms_p50, made_of.query_cpu_ms_p50, made_of.index_seconds) == (50.5, 25.25, 2.0)
    assert 95 <= made_of.query_ms_p95 <= 96


# -- a run and its report -------------------------------------------------------------------------------------------------


def test_everybody_is_asked_the_same_questions(tmp_path: Path) -> None:
    results = ran(cases("locomo", [locomo(tmp_path)]), bm25=BM25)
    assert [[each.case for each in asked] for asked in results.asked.values()] == [["conv-26", "conv-99"]] * 2
    whole = made(results)
    assert set(whole.groups) == {"development", "others"}
    assert (whole.questions, whole.against["bm25"].questions, whole.recall_at_5) == (2, 2, 1.0)
    assert set(whole.against["bm25"].groups) == {"development", "others"}


def test_the_same_data_give_the_same_figures(tmp_path: Path) -> None:
    given = cases("locomo", [locomo(tmp_path)])
    timeless = {"seconds": 0.0, "cpu": 0.0}

    def without_times() -> list[dict[str, Any]]:
        asked = [each for some in ran(given, bm25=BM25).asked.values() for each in some]
        return [{**{name: getattr(each, name) for name in each.__struct_fields__}, **timeless} for each in asked]

    assert without_times() == without_times()


def test_adversarial_questions_are_told_apart(tmp_path: Path) -> None:
    questions = [
        {"question": "Which kayak did Ada buy?", "category": 4, "evidence": ["D1:1"]},
        {"question": "Which cello did Ada buy?", "category": 5, "evidence": ["D2:2"]},
    ]
    whole = made(ran(cases("locomo", [locomo(tmp_path, sample("conv-26", "Ada", "Bo", *questions))])))
    assert (whole.questions, whole.recall_at_10, list(whole.by_category)) == (1, 1.0, ["single-hop"])
    assert whole.adversarial is not None
    assert whole.with_adversarial.recall_at_10 == pytest.approx((1.0 + cast("float", whole.adversarial.recall_at_10)) / 2)


def test_the_curve_agrees_with_what_the_threshold_did(tmp_path: Path) -> None:
    threshold = made(ran(cases("locomo", [locomo(tmp_path)]))).threshold["development"]
    own = min(threshold.curve, key=lambda point: abs(point.threshold - threshold.own.threshold))
    assert (own.quiet, own.lost, own.silent) == (threshold.own.quiet, threshold.own.lost, threshold.own.silent)


def test_a_limit_takes_questions_from_the_whole_file(tmp_path: Path) -> None:
    questions = [{"question": f"Kayak {number}?", "category": number, "evidence": ["D1:1"]} for number in (1, 2, 3, 4)]
    given = cases("locomo", [locomo(tmp_path, sample("conv-26", "Ada", "Bo", *questions))])
    assert [each.category for each in ran(given, limit=2).asked[OURS]] == ["multi-hop", "open-domain"]


def test_an_interrupted_run_keeps_the_cases_that_were_done(tmp_path: Path) -> None:
    given, results = cases("locomo", [locomo(tmp_path)]), Results()

    def stop(line: str) -> None:
        if line.startswith("conv-99"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(given, {OURS: lambda: Bethink(None, Ranker())}, results, vectors=None, counter=COUNTER, progress=stop)
    assert [each.case for each in results.asked[OURS]] == ["conv-26"]
    assert made(results).questions == 1


def test_a_conversation_without_questions_is_not_taken_in(tmp_path: Path) -> None:
    given = cases("longmemeval", [written(tmp_path / "s.json", [haystack(question_id="q1_abs"), haystack()])])
    assert list(ran(given).index_seconds[OURS]) == ["q1"]


def test_questions_without_turns_have_no_part_in_the_threshold(tmp_path: Path) -> None:
    plain = haystack(haystack_sessions=[[{"role": "user", "content": "Hi."}], [{"role": "user", "content": "The cello."}]])
    results = ran(cases("longmemeval", [written(tmp_path / "s.json", [plain])]))
    assert results.probes == {"q1": []}


# -- in a document --------------------------------------------------------------------------------------------------------

DOCUMENT = "# Benchmarks\n\n<!-- bench locomo none -->\nformer figures\n<!-- end -->\n\nMore.\n"


@pytest.fixture
def whole(tmp_path: Path) -> Report:
    return made(ran(cases("locomo", [locomo(tmp_path)]), bm25=BM25))


def test_a_report_is_written_between_its_markers(whole: Report) -> None:
    document = updated(DOCUMENT, whole)
    assert document.startswith("# Benchmarks\n\n<!-- bench locomo none -->\n")
    assert document.endswith("\n<!-- end -->\n\nMore.\n")
    assert "former figures" not in document
    assert whole.ranker in document
    assert "conv-26" in document
    assert updated(document, whole) == document


@pytest.mark.parametrize("document", ["", "<!-- bench locomo none -->\n", "<!-- bench beam none -->\n<!-- end -->\n"])
def test_a_document_without_a_place_is_left_alone(document: str, whole: Report) -> None:
    with pytest.raises(InvalidInput, match="bench locomo none"):
        updated(document, whole)


def test_every_row_of_a_table_has_as_many_cells(whole: Report) -> None:
    for table in markdown(whole).split("\n\n"):
        rows = [line.count("|") for line in table.splitlines() if line.startswith("|")]
        assert len(set(rows)) <= 1


def test_the_threshold_of_the_ranker_stands_above_its_curve(whole: Report) -> None:
    rows = [line.split("|")[1].strip() for line in markdown(whole).splitlines() if line.startswith("| 0.")]
    assert rows[:3] == [f"{Ranker().lexical_threshold:.2f} (the ranker's)", "0.00", "0.04"]
    assert rows[-1] == "0.60"


def test_a_picture_has_a_line_for_everybody(whole: Report) -> None:
    picture = drawn(whole)
    assert picture.count("<polyline") == 2
    assert "bm25" in picture


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    results = ran(cases("locomo", [locomo(tmp_path)]))
    left_out = {"chroma": "it is not installed"}
    whole = report("locomo", results, ranker=Ranker(), embedder=None, counter="builtin", left_out=left_out)
    for words in (text(whole), markdown(whole)):
        assert "chroma was left out: it is not installed." in words


# -- the command ----------------------------------------------------------------------------------------------------------


def test_one_object_has_every_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert locomo_main([str(locomo(tmp_path)), "--embedder", "none", "--against", "bm25,dense", "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert set(FIGURES) <= set(found)
    assert (found["embedder"], found["ranker"], found["benchmark"]) == ("none", Ranker().fingerprint, "locomo")
    assert list(found["against"]) == ["bm25"]
    assert found["left_out"] == {"dense": "it needs an embedder"}
    assert "conv-26" in printed.err


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
def test_tokens_are_counted_exactly_where_the_vocabulary_is_there(
    tmp_path: Path, encoding: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if not TiktokenCounter.available(encoding):
        pytest.skip("the vocabulary is not on this machine")
    assert locomo_main([str(locomo(tmp_path)), "--embedder", "none", "--counter", encoding, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counter"] == f"tiktoken:{encoding}"


def test_an_exact_counter_without_its_vocabulary_says_which_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_files", lambda _: iter(()))
    monkeypatch.setattr(exact, "_loaded", {})
    with pytest.raises(MissingExtra, match="tokens"):
        locomo_main([str(locomo(tmp_path)), "--embedder", "none", "--counter", "cl100k_base"])


def test_options_are_rows_beside_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "MiniLM", type("Hashed", (HashTokenEmbedder,), {"available": staticmethod(lambda: True)}))
    assert locomo_main([str(locomo(tmp_path)), "--maxsim", "--rerank", "--against", "dense", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["against"]) == ["dense", "bethink maxsim", "bethink rerank"]


def test_options_that_need_an_embedder_are_left_out_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert locomo_main([str(locomo(tmp_path)), "--maxsim", "--embedder", "none", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_out"] == {"bethink maxsim": "it needs an embedder"}


def test_the_plot_and_the_document_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document, plot = tmp_path / "benchmarks.md", tmp_path / "plot.svg"
    document.write_text(DOCUMENT)
    given = [str(locomo(tmp_path)), "--embedder", "none", "--against", "bm25", "--plot", str(plot), "--update", str(document)]
    assert locomo_main(given) == 0
    assert "<svg" in plot.read_text()
    assert "| bm25 | all | 2 |" in document.read_text()
    assert "conv-26" in capsys.readouterr().out


def test_a_document_without_a_place_is_refused_before_the_work(tmp_path: Path) -> None:
    document = tmp_path / "other.md"
    document.write_text("# Nothing here\n")
    with pytest.raises(InvalidInput, match="bench locomo none"):
        locomo_main([str(locomo(tmp_path)), "--embedder", "none", "--update", str(document)])


def test_an_interrupted_command_prints_what_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(given: Sequence[Case], *arguments: Any, **named: Any) -> None:
        run(given[:1], *arguments, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", interrupted)
    assert locomo_main([str(locomo(tmp_path)), "--embedder", "none", "--json"]) == 130
    found = json.loads(capsys.readouterr().out)
    assert (found["questions"], found["interrupted"]) == (1, True)


@pytest.mark.parametrize("given", [["--against", "bm26"], ["--limit-questions", "0"], ["--limit-questions", "some"]])
def test_an_option_that_says_nothing_is_refused(tmp_path: Path, given: list[str]) -> None:
    with pytest.raises(SystemExit):
        locomo_main([str(locomo(tmp_path)), *given])


def test_chats_of_beam_are_named_by_their_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(beam(tmp_path / name)) for name in ("1", "4")]
    assert command.main("beam", [*paths, "--embedder", "none", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (list(found["conversations"]), list(found["groups"])) == (["1", "4"], ["development", "others"])
    assert (found["unlabelled"], sorted(found["by_category"])) == (2, ["information_extraction", "knowledge_update"])


@pytest.mark.shared
@pytest.mark.slow
def test_real_questions_are_answered(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = shared / "data"
    for source, path in (
        ("locomo", data / "locomo/locomo_dev.json"),
        ("longmemeval", data / "longmemeval/longmemeval_s.json"),
        ("beam", data / "beam/100K/1"),
    ):
        assert command.main(cast("Any", source), [str(path), "--embedder", "none", "--limit-questions", "2", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["session_recall_at_5"] > 0.3


def test_figures_of_a_system_are_those_of_its_questions(whole: Report) -> None:
    assert isinstance(whole, Figures)
    assert whole.questions == sum(group.questions for group in whole.groups.values())
