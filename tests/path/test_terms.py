"""What becomes of a text on its way into the index, and of a query on its way to it."""

from __future__ import annotations

import os
import signal
import threading
import unicodedata

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.retrieval import terms
from bethink.retrieval.terms import (
    MAX_QUERY,
    MAX_QUERY_TERMS,
    MAX_TERM_LENGTH,
    index_terms,
    query_part,
    query_terms,
    stop_words,
)

SENTENCES = {
    "Chinese": "我们把会议改到星期四下午三点",
    "Japanese": "昨日は妹と京都の庭園を散歩しました",
    "Korean": "다음 주에 부산으로 이사를 갑니다",
    "Thai": "พรุ่งนี้ฉันจะไปหาหมอฟันที่เชียงใหม่",
}
HOSTILE = (
    "QX-4071", '"unbalanced', "foo AND", "NOT x", "(a OR", "a:b", "*", "^a", "NEAR(", "", " ",
    "wget -qO- example.test/setup | sh -s -- -y",
    "'; DROP TABLE units; --", "a\x00b", "\ud800", "{}[]", "-", "a^2", "x*", "%_%",
)  # fmt: skip


def finds(query: str, text: str) -> bool:
    return not set(query_terms(query)).isdisjoint(index_terms(text).split())


def matches_wholly(query: str, text: str) -> bool:
    return bool(query_terms(query)) and set(query_terms(query)) <= set(index_terms(text).split())


# -- scripts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", SENTENCES)
def test_V057_four_characters_from_the_middle_of_a_sentence_find_it(language: str) -> None:
    sentence = SENTENCES[language]
    for start in range(1, len(sentence) - 4):
        assert finds(sentence[start : start + 4], sentence)


def test_V057_one_han_character_finds_its_sentence() -> None:
    assert finds("议", SENTENCES["Chinese"])


def test_a_korean_word_is_found_with_another_particle() -> None:
    assert finds("부산에서", SENTENCES["Korean"])


def test_words_of_two_scripts_side_by_side_are_found_each() -> None:
    assert matches_wholly("python", "用Python写的")
    assert matches_wholly("写", "用Python写的")


def test_an_indic_word_keeps_its_vowel_signs() -> None:
    assert index_terms("दिल्ली में") == "दिल्ली में"


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Łódź", "lodz"), ("Straße", "STRASSE"), ("crème brûlée", "creme brulee"), ("İstanbul", "istanbul"),
        ("ıspanak", "ispanak"), ("smørrebrød", "smorrebrod"), ("Đorđe", "dorde"), ("cafe\u0301", "café"),
        ("ＦＵＬＬ", "full"), ("ﬁne", "fine"),
        ("naïve", "naive"), ("Ёлка", "елка"), ("مُحَمَّد", "محمد"), ("שָׁלוֹם", "שלום"), ("٤٠٧١", "4071"), ("so\u00adft", "soft"),
        ("Άνοιξη", "ανοιξη"), ("Việt Nam", "viet nam"), ("Æsop", "aesop"), ("Ｔokyo", "tokyo"),
    ],
)  # fmt: skip
def test_spelling_without_case_and_accents_finds_the_word(written: str, asked: str) -> None:
    assert matches_wholly(asked, written)
    assert matches_wholly(written, asked)


def test_voiced_kana_stay_other_letters() -> None:
    assert not finds("か", "が")


# -- words ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("She was hiking", "hikes"),
        ("two cities", "city"),
        ("Caroline's dog", "Caroline"),
        ("Caroline’s dog", "caroline"),
        ("I don't know", "dont"),
    ],
)
def test_a_word_is_found_in_another_form(written: str, asked: str) -> None:
    assert matches_wholly(asked, written)


@pytest.mark.parametrize("asked", ["QX-4071", "qx-4071", "QX4071", "qx 4071", "4071", "QX", "QX–4071"])
def test_V058_a_code_is_found_whole_and_by_part(asked: str) -> None:
    assert matches_wholly(asked, "ticket QX-4071 is open")


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("$1,230.50", "1230.50"), ("at 10:30", "10:30"), ("on 2023-05-07", "20230507"), ("v1.2.3", "1.2.3"),
        ("e-mail", "email"), ("see example.org/setup", "example"), ("priya@example.com", "priya"), ("snake_case_name", "case"),
        ("O'Brien", "obrien"), ("and/or", "or"), ("node.js", "node"),
    ],
)  # fmt: skip
def test_numbers_and_joined_words_are_found_by_their_parts_or_as_one(written: str, asked: str) -> None:
    assert finds(asked, written)


def test_a_hash_longer_than_a_term_is_found_by_itself() -> None:
    digest = "0f" * 64
    assert len(digest) > MAX_TERM_LENGTH
    assert matches_wholly(digest, f"commit {digest} broke it")


def test_repeated_words_are_indexed_as_often_as_they_occur() -> None:
    assert index_terms("no, no, no").split() == ["no", "no", "no"]


# -- queries --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", HOSTILE)
def test_V058_V059_any_text_is_a_query_of_plain_words(query: str) -> None:
    for term in query_terms(query_part(query)):
        assert term
        assert all(unicodedata.category(character)[0] in "LNM" for character in term)


def test_V059_a_shell_line_finds_itself() -> None:
    line = "wget -qO- example.test/setup | sh -s -- -y"
    assert matches_wholly(line, line)


@pytest.mark.parametrize("query", ["", " ", "*", "?!", "—", "\u200b", "│├─"])
def test_a_query_without_letters_digits_or_emoji_has_no_terms(query: str) -> None:
    assert query_terms(query) == ()


def test_operators_are_words_and_function_words_are_left_out() -> None:
    assert query_terms("cats AND dogs OR NOT birds NEAR trees") == ("cat", "dog", "bird", "near", "tree")


def test_a_query_of_nothing_but_function_words_keeps_them() -> None:
    assert query_terms("who are you") == ("who", "are", "you")


def test_terms_come_once_and_in_the_order_of_the_query() -> None:
    assert query_terms("trains to Lisbon, trains to Porto") == ("train", "lisbon", "porto")


def test_names_of_speakers_are_left_out() -> None:
    assert query_terms("What did Caroline's sister paint?", names=frozenset({"Caroline"})) == ("sister", "paint")


def test_a_query_of_nothing_but_a_name_keeps_it() -> None:
    assert query_terms("Caroline?", names=frozenset({"Caroline"})) == ("carolin",)


def test_may_is_a_month_before_it_is_a_function_word() -> None:
    assert "may" not in stop_words
    assert query_terms("what happened in May") == ("happen", "may")


@pytest.mark.parametrize("size", [0, 1, MAX_QUERY - 1, MAX_QUERY])
def test_a_query_that_is_not_very_long_is_read_whole(size: int) -> None:
    assert query_part("é" * size) == "é" * size


def test_of_a_very_long_query_both_ends_are_read() -> None:
    asked = f"heron {'filler ' * 1_000_000}owl"
    assert {"heron", "filler", "owl"} <= set(query_terms(query_part(asked)))
    assert len(query_part(asked)) == MAX_QUERY + 1


def test_of_very_many_terms_the_first_and_the_last_are_looked_for() -> None:
    terms = query_terms(" ".join(f"w{number}" for number in range(2_000)))
    assert len(terms) == MAX_QUERY_TERMS
    assert (terms[0], terms[-1]) == ("w0", "w1999")


# -- for any text ---------------------------------------------------------------------------------------------------------

any_text = st.text(max_size=40) | st.text(alphabet="ab1-'./_:,@+ éŁßИ中がहि한ก\u0301\u200d\ud800", max_size=40)


@settings(max_examples=150, deadline=None)
@given(any_text)
def test_a_text_is_found_by_itself(text: str) -> None:
    assert set(query_terms(text)) <= set(index_terms(text).split())


@settings(max_examples=150, deadline=None)
@given(any_text)
def test_a_term_holds_letters_digits_marks_and_emoji_only(text: str) -> None:
    indexed = index_terms(text)
    for term in indexed.split(" ") if indexed else ():
        assert 0 < len(term) <= MAX_TERM_LENGTH
        assert all(kind[0] in "LNM" or kind == "So" for kind in map(unicodedata.category, term))


@settings(max_examples=100, deadline=None)
@given(any_text)
def test_case_does_not_matter(text: str) -> None:
    assert query_terms(text.upper()) == query_terms(text.upper().lower())


@settings(max_examples=40, deadline=None)
@given(any_text)
def test_fts5_sees_exactly_these_terms(text: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("create virtual table words using fts5(terms, tokenize='ascii')")
    connection.execute("create virtual table seen using fts5vocab(words, instance)")
    connection.execute("insert into words values (?)", (index_terms(text),))
    seen = [term for (term,) in connection.execute("select term from seen order by offset")]
    connection.close()
    assert " ".join(seen) == index_terms(text)


def test_threads_stem_alike() -> None:
    words = [f"{stem}{ending}" for stem in ("walk", "paint", "visit", "travel") for ending in ("ing", "ed", "s", "er")] * 50
    alone = index_terms(" ".join(words))
    seen: list[str] = []
    threads = [threading.Thread(target=lambda: seen.append(index_terms(" ".join(words)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) == {alone}


# -- processes ------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_process_that_is_forked_while_a_word_is_stemmed_stems_on() -> None:
    held, done = threading.Event(), threading.Event()

    def stem_for_long() -> None:
        with terms._stemming:
            held.set()
            done.wait()

    other = threading.Thread(target=stem_for_long)
    other.start()
    held.wait()
    child = os.fork()
    if child == 0:
        # Whoever waits for a lock that nobody will give back is ended by this.
        signal.alarm(20)
        os._exit(0 if index_terms("gondolas") == "gondola" else 1)
    status = os.waitpid(child, 0)[1]
    done.set()
    other.join()
    assert status == 0
