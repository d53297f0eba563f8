"""What the built-in counter promises: budgets hold at the model, for any script, and a text is never cut inside a character.

The true counts below were measured with tiktoken 0.14 on the vocabularies of cl100k_base and o200k_base; the paragraphs are
our own. With the extra "tokens" installed the tests count them again (`pytest -k written_here`), and every text of the other
corpora beside them; `bethink bench tokens` prints the figures.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.bench.tokens import Compared, compare, own_corpora, texts_of
from bethink.messages import Message, Part, ToolCall
from bethink.models.cached import CachedCounter
from bethink.models.exact import ENCODINGS, TiktokenCounter
from bethink.models.tokens import IMAGE_TOKENS, SLICE, BuiltinCounter, message_tokens, truncate

COUNTER = BuiltinCounter()
VOCABULARIES = pytest.mark.skipif(
    not all(map(TiktokenCounter.available, ENCODINGS)), reason="the vocabularies are not on this machine (extra tokens)"
)

_HASHES = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(8))
_PYTHON = '''\
def retry(call, *, attempts=5, base_delay=0.25, jitter=random.random):
    """Call until it succeeds; sleeps base_delay * 2**n with jitter between attempts."""
    for attempt in range(attempts):
        try:
            return call()
        except (TimeoutError, ConnectionResetError) as error:
            if attempt == attempts - 1:
                raise RetriesExhausted(attempts) from error
            time.sleep(base_delay * 2**attempt * (1 + jitter()))
'''

TEXTS = {
    "english": (
        "We moved the launch to the second week of March because the supplier in Rotterdam could not deliver the "
        "sensors before then. Priya will tell the customers, and I have asked Tomasz to check whether the old "
        "contract still lets us cancel without paying the whole fee."
    ),
    "english_chat": (
        "hey, did you end up trying that ramen place near the library? I went on friday and it was honestly the "
        "best bowl I've had in ages, the broth was so rich! we should go together next week if you're free."
    ),
    "german": (
        "Wir haben die Auslieferung auf die zweite Märzwoche verschoben, weil der Zulieferer in Rotterdam die "
        "Messfühler nicht früher liefern kann. Die Geschäftsführung möchte außerdem wissen, ob der bestehende "
        "Rahmenvertrag eine Kündigung ohne Vertragsstrafe zulässt."
    ),
    "french": (
        "Nous avons repoussé le lancement à la deuxième semaine de mars, parce que le fournisseur ne pouvait pas "
        "livrer les capteurs avant. Élodie préviendra les clients et vérifiera si l'ancien contrat nous permet "
        "encore de résilier sans frais."
    ),
    "polish": (
        "Przesunęliśmy premierę na drugi tydzień marca, ponieważ dostawca nie mógł wcześniej dostarczyć czujników. "
        "Proszę sprawdzić, czy dotychczasowa umowa pozwala nam zrezygnować bez płacenia całej opłaty."
    ),
    "finnish": (
        "Siirsimme julkaisun maaliskuun toiselle viikolle, koska toimittaja ei pystynyt toimittamaan antureita "
        "aikaisemmin. Tarkistathan vielä, voimmeko irtisanoa vanhan sopimuksen maksamatta koko korvausta."
    ),
    "russian": (
        "Мы перенесли запуск на вторую неделю марта, потому что поставщик не мог доставить датчики раньше. "
        "Пожалуйста, проверьте, позволяет ли старый договор отказаться без уплаты всей суммы."
    ),
    "greek": (
        "Μεταφέραμε την έναρξη στη δεύτερη εβδομάδα του Μαρτίου, επειδή ο προμηθευτής δεν μπορούσε να παραδώσει "
        "νωρίτερα τους αισθητήρες. Παρακαλώ ελέγξτε το παλιό συμβόλαιο."
    ),
    "chinese": (
        "我们把发布推迟到三月的第二周，因为供应商无法提前交付传感器。"
        "请通知客户，并且确认旧合同是否允许我们不付全部费用就取消。"
        "会议改到星期四下午三点，地点还是二楼的小会议室。"
    ),
    "japanese": (
        "センサーの納品が間に合わないため、発売を三月の第二週に延期しました。"
        "お客様への連絡は私が担当します。"
        "以前の契約書で、費用を全額払わずに解約できるかどうかも確認してください。"
    ),
    "korean": (
        "공급업체가 센서를 더 일찍 납품할 수 없어서 출시를 삼월 둘째 주로 미뤘습니다. "
        "고객들에게는 제가 연락하겠습니다. "
        "기존 계약을 위약금 없이 해지할 수 있는지도 확인해 주세요."
    ),
    "arabic": (
        "أجلنا الإطلاق إلى الأسبوع الثاني من شهر مارس لأن المورد لم يستطع تسليم أجهزة الاستشعار قبل ذلك. من فضلك "
        "تحقق مما إذا كان العقد القديم يسمح لنا بالإلغاء دون دفع الرسوم كاملة."
    ),
    "hebrew": (
        "דחינו את ההשקה לשבוע השני של מרץ כי הספק לא הצליח לספק את החיישנים לפני כן. בבקשה תבדקו אם החוזה הישן "
        "מאפשר לנו לבטל בלי לשלם את כל הסכום."
    ),
    "hindi": (
        "हमने लॉन्च को मार्च के दूसरे सप्ताह तक टाल दिया है क्योंकि आपूर्तिकर्ता सेंसर पहले नहीं भेज सका। कृपया "
        "देखें कि पुराना अनुबंध हमें बिना पूरा शुल्क दिए रद्द करने देता है या नहीं।"
    ),
    "thai": ("เราเลื่อนการเปิดตัวไปเป็นสัปดาห์ที่สองของเดือนมีนาคม เพราะผู้จัดส่งไม่สามารถส่งเซ็นเซอร์ได้เร็วกว่านี้ กรุณาตรวจสอบว่าสัญญาเดิมยกเลิกได้หรือไม่"),
    "tamil": (
        "சென்சார்களை முன்கூட்டியே வழங்க முடியாததால் வெளியீட்டை மார்ச் இரண்டாம் வாரத்திற்கு ஒத்திவைத்தோம். பழைய ஒப்பந்தத்தை ரத்து செய்ய முடியுமா என்று பாருங்கள்."
    ),
    "vietnamese": (
        "Chúng tôi đã dời ngày ra mắt sang tuần thứ hai của tháng ba vì nhà cung cấp không thể giao cảm biến sớm "
        "hơn. Xin kiểm tra xem hợp đồng cũ có cho phép hủy mà không phải trả toàn bộ phí hay không."
    ),
    "emoji": "😀🎉👍🏽 👨‍👩‍👧‍👦 🇩🇪🇯🇵 ❤️🔥 🧘‍♀️ ☕🥐 🏳️‍🌈 ✅❌ 🤷🏽‍♂️ 🪐 1️⃣2️⃣",
    "numbers": (
        "2026-11-30T14:05:59.123456Z 192.168.10.254 +49 170 1234567 3.14159265358979 1,234,567.89 EUR "
        "0x7fffdeadbeef 10:30-11:45"
    ),
    "python": _PYTHON,
    "json": (
        '{"order_id": "ord_8Fq2", "customer": {"name": "Priya Raman", "email": "priya@example.com", "vip": true}, '
        '"items": [{"sku": "QX-4071", "qty": 2, "price": 19.99}, {"sku": "LM-0093", "qty": 1, "price": 249.0}], '
        '"notes": null, "created_at": "2026-11-30T14:05:59Z"}'
    ),
    "base64": base64.b64encode(_HASHES).decode(),
    "hex": _HASHES.hex(),
    "uuids": "018f4e2c-7d3a-7c41-9b1e-5a0c2f6d8e11 018f4e2c-7d3a-7c42-8f0d-1b2a3c4d5e6f",
}
# name: (cl100k_base, o200k_base)
TRUE_COUNTS = {
    "english": (52, 52),
    "english_chat": (49, 46),
    "german": (72, 54),
    "french": (63, 51),
    "polish": (73, 63),
    "finnish": (74, 55),
    "russian": (82, 42),
    "greek": (150, 63),
    "chinese": (83, 57),
    "japanese": (98, 62),
    "korean": (95, 55),
    "arabic": (119, 44),
    "hebrew": (134, 53),
    "hindi": (174, 50),
    "thai": (134, 54),
    "tamil": (207, 47),
    "vietnamese": (91, 52),
    "emoji": (95, 62),
    "numbers": (65, 65),
    "python": (106, 108),
    "json": (112, 111),
    "base64": (244, 234),
    "hex": (283, 286),
    "uuids": (66, 66),
}

FAMILY = "👨‍👩‍👧‍👦"
FLAGS = "🇩🇪🇯🇵"
WHOLE_CHARACTERS = ("a", " ", FAMILY, "🇩🇪", "🇯🇵", "é", "नि", "1️⃣", "👍🏽", "한", "กำ", "\r\n")


@pytest.mark.parametrize("name", TEXTS)
def test_V061_no_script_is_counted_below_a_real_tokeniser(name: str) -> None:
    assert COUNTER.count(TEXTS[name]) >= max(TRUE_COUNTS[name])


@pytest.mark.parametrize("name", ["english", "english_chat", "json", "numbers", "uuids"])
def test_what_agents_write_most_is_counted_at_most_15_percent_above(name: str) -> None:
    assert COUNTER.count(TEXTS[name]) <= 1.15 * max(TRUE_COUNTS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_is_counted_above_1_7_times_the_truth(name: str) -> None:
    assert COUNTER.count(TEXTS[name]) <= 1.7 * max(TRUE_COUNTS[name])


def test_the_empty_text_has_no_tokens() -> None:
    assert COUNTER.count("") == 0


def test_a_lone_surrogate_is_counted_and_not_refused() -> None:
    assert COUNTER.count("\ud800") == 3


@given(st.lists(st.text(max_size=20), max_size=6))
def test_a_longer_text_never_counts_less_than_its_first_lines(lines: list[str]) -> None:
    counts = [COUNTER.count("\n".join(lines[:end])) for end in range(len(lines) + 1)]
    assert counts == sorted(counts)


def test_a_name_of_a_counter_changes_with_what_it_counts() -> None:
    assert COUNTER.name == "builtin-2"
    assert sum(COUNTER.count(text) for text in TEXTS.values()) == 3_306


def test_a_text_of_megabytes_is_counted_in_parts_without_losing_any() -> None:
    sentence = TEXTS["english"] + " "
    many = COUNTER.count(sentence * 1_000)
    assert many == pytest.approx(1_000 * COUNTER.count(sentence), rel=0.05)


# -- beside the vocabularies ----------------------------------------------------------------------------------------------

# English that people and assistants wrote: (file, texts, tokens in cl100k_base, tokens in o200k_base).
ENGLISH = (
    ("locomo/locomo_dev.json", 3_434, 98_180, 94_099),
    ("longmemeval/longmemeval_s.json", 1_215, 308_575, 304_625),
    ("longmemeval/longmemeval_oracle_sample.json", 305, 84_080, 83_040),
    ("longmemeval/longmemeval_abstain_sample.json", 458, 86_190, 84_868),
)


@pytest.mark.shared
@pytest.mark.parametrize(("file", "texts", "cl100k", "o200k"), ENGLISH)
def test_english_is_counted_at_most_15_percent_above(shared: Path, file: str, texts: int, cl100k: int, o200k: int) -> None:
    found = texts_of(shared / "data" / file)
    assert len(found) == texts
    assert max(cl100k, o200k) <= sum(map(COUNTER.count, found)) <= 1.15 * min(cl100k, o200k)


@VOCABULARIES
@pytest.mark.shared
@pytest.mark.parametrize(("file", "texts", "cl100k", "o200k"), ENGLISH)
def test_no_message_in_english_is_counted_below(shared: Path, file: str, texts: int, cl100k: int, o200k: int) -> None:
    beside = compare(texts_of(shared / "data" / file), {name: TiktokenCounter(name) for name in ENCODINGS}).beside
    assert {name: each.tokens for name, each in beside.items()} == {"cl100k_base": cl100k, "o200k_base": o200k}
    assert {name: (each.below, each.lowest >= 1) for name, each in beside.items()} == dict.fromkeys(ENCODINGS, (0, True))


@VOCABULARIES
@pytest.mark.parametrize(
    ("corpus", "most"),
    [("demo, talk", 1.15), ("demo, tool calls", 1.15), ("Python", 1.2), ("JSON", 1.15), ("CJK", 1.4), ("emoji", 1.4)],
)
def test_no_text_of_our_own_is_counted_below(corpus: str, most: float) -> None:
    beside = compare(own_corpora()[corpus], {name: TiktokenCounter(name) for name in ENCODINGS}).beside
    assert [each.below for each in beside.values()] == [0, 0]
    assert min(each.times for each in beside.values()) <= most


@VOCABULARIES
@pytest.mark.parametrize("name", TEXTS)
def test_the_true_counts_are_the_ones_written_here(name: str) -> None:
    assert tuple(TiktokenCounter(encoding).count(TEXTS[name]) for encoding in ENCODINGS) == TRUE_COUNTS[name]


def test_a_comparison_tells_the_ratio_of_all_and_the_lowest_of_one() -> None:
    class Letters:
        name = "letters"

        def count(self, text: str) -> int:
            return len(text)

    made = compare(["the cat", "a"], {"letters": Letters()})
    assert (made.texts, made.tokens) == (2, 3)
    assert made.beside == {"letters": Compared(tokens=8, times=3 / 8, lowest=2 / 7, below=0.5)}


# -- messages -------------------------------------------------------------------------------------------------------------


# Words that tell English and words that do not, and every kind of blank, so that lines begin and end in all ways.
_WORDS = ("the", " you have", "and ", "Kissa", " istuu", "ämpäri", "日本", "👍", "12345", "- ", "(user)", "'s", "x" * 70)
_BLANKS = ("\n", "\n\n", " \n", "\n ", "\r\n", "\r", "\t", " ", "\u2028", "\x00", "\x1c")
_LINES = st.lists(st.sampled_from((*_WORDS, *_BLANKS)), max_size=60).map("".join)


@given(texts=st.lists(st.one_of(_LINES, st.text(max_size=60)), max_size=4))
def test_lines_counted_before_count_the_same_in_any_text(texts: list[str]) -> None:
    remembering = CachedCounter(COUNTER)
    for text in (*texts, "\n".join(texts), "\n".join(reversed(texts))):
        assert remembering.count(text) == COUNTER.count(text)


@settings(max_examples=200, deadline=None)
@given(lines=st.lists(_LINES.map(lambda text: " ".join(text.split())).filter(bool), min_size=1, max_size=6))
def test_lines_counted_together_count_what_their_text_does(lines: list[str]) -> None:
    assert CachedCounter(COUNTER).count_lines(lines) == COUNTER.count("\n".join(lines))


@pytest.mark.parametrize("length", [SLICE - 1, SLICE, SLICE + 1, 2 * SLICE])
def test_lines_counted_before_count_the_same_in_a_text_counted_in_parts(length: int) -> None:
    text = ("Kissa istuu puussa\nand the dog sits under it\n" * 4_000)[:length]
    assert CachedCounter(COUNTER).count(text) == COUNTER.count(text)


def test_a_counter_made_from_the_built_in_one_has_the_last_word() -> None:
    class Twice(BuiltinCounter):
        def count(self, text: str) -> int:
            return 2 * super().count(text)

    assert CachedCounter(Twice()).count("one\ntwo") == 2 * COUNTER.count("one\ntwo")
    assert CachedCounter(Twice()).count_lines(("one", "two")) == 2 * COUNTER.count("one\ntwo")


def test_V063_arguments_of_tool_calls_are_counted() -> None:
    arguments = json.dumps({"rows": [{"id": number, "name": f"row {number}"} for number in range(1_400)]})
    message = Message(role="assistant", content="", tool_calls=(ToolCall(id="call_1", name="save", arguments=arguments),))
    assert len(arguments) > 40_000
    assert message_tokens(message, COUNTER) > COUNTER.count(arguments) > 10_000


def test_an_empty_message_still_costs_its_frame() -> None:
    assert message_tokens(Message(role="user", content=""), COUNTER) == 5


def test_the_name_of_the_speaker_is_counted() -> None:
    unnamed = Message(role="user", content="hello")
    named = Message(role="user", content="hello", name="Caroline")
    assert message_tokens(named, COUNTER) > message_tokens(unnamed, COUNTER)


def test_the_id_of_the_answered_call_is_counted() -> None:
    short = Message(role="tool", content="ok", tool_call_id="1")
    long = Message(role="tool", content="ok", tool_call_id="call_9f8e7d6c5b4a39281706")
    assert message_tokens(long, COUNTER) >= message_tokens(short, COUNTER) + 10


def test_an_image_costs_the_same_whatever_its_data_url_weighs() -> None:
    def picture(ref: str) -> Message:
        return Message(role="user", content=(Part("text", "look"), Part("image", ref=ref)))

    small = message_tokens(picture("https://example.com/a.png"), COUNTER)
    large = message_tokens(picture("data:image/png;base64," + TEXTS["base64"] * 1_000), COUNTER)
    assert small == large == message_tokens(Message(role="user", content="look"), COUNTER) + IMAGE_TOKENS


def test_reasoning_is_counted() -> None:
    text = Part("text", "yes")
    silent = message_tokens(Message(role="assistant", content=(text,)), COUNTER)
    thinking = message_tokens(Message(role="assistant", content=(Part("reasoning", TEXTS["english"]), text)), COUNTER)
    assert thinking == silent + COUNTER.count(TEXTS["english"])


def test_no_content_is_no_text() -> None:
    call = ToolCall(id="c", name="f")
    nothing = Message(role="assistant", content=None, tool_calls=(call,))
    empty = Message(role="assistant", content="", tool_calls=(call,))
    assert message_tokens(nothing, COUNTER) == message_tokens(empty, COUNTER)


# -- cutting --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", range(1, 41))
def test_V056_emoji_are_never_cut_in_two(limit: int) -> None:
    cut = truncate((FAMILY + FLAGS) * 4, limit, COUNTER)
    whole = [FAMILY, "🇩🇪", "🇯🇵"] * 4
    assert cut in {"".join(whole[:count]) for count in range(len(whole) + 1)}
    assert COUNTER.count(cut) <= limit
    assert "\ufffd" not in cut.encode().decode()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WHOLE_CHARACTERS), max_size=20), st.integers(0, 40))
def test_a_cut_falls_between_characters_and_within_the_limit(characters: list[str], limit: int) -> None:
    text = "".join(characters)
    cut = truncate(text, limit, COUNTER)
    assert COUNTER.count(cut) <= limit
    # Neighbours may join (two line feeds after a carriage return do not), so ends are compared, not lists.
    ends = {sum(map(len, characters[:count])) for count in range(len(characters) + 1)}
    assert text.startswith(cut)
    assert len(cut) in ends


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.integers(0, 30), st.sampled_from(("start", "end")))
def test_a_cut_leaves_little_of_its_limit_unused(text: str, limit: int, keep: Literal["start", "end"]) -> None:
    cut = truncate(text, limit, COUNTER, keep=keep)
    assert text.startswith(cut) if keep == "start" else text.endswith(cut)
    assert COUNTER.count(cut) <= limit
    if len(cut) < len(text) and text.isascii() and "\r" not in text:
        one_more = text[: len(cut) + 1] if keep == "start" else text[len(text) - len(cut) - 1 :]
        assert COUNTER.count(one_more) > limit


def test_a_cut_keeps_the_limit_of_a_counter_for_which_a_word_counts_less_than_its_letters() -> None:
    class Odd:
        name = "odd"

        def count(self, text: str) -> int:
            return {"": 0, "a": 5, "ab": 1}.get(text, 9)

    # Two characters would fit but take the second from its accent; one by itself does not fit.
    assert truncate("ab\u0301", 1, Odd()) == ""


def test_what_fits_is_given_back_whole() -> None:
    assert truncate(TEXTS["japanese"], 10_000, COUNTER) == TEXTS["japanese"]


def test_a_limit_of_nothing_gives_nothing() -> None:
    assert truncate("hello", 0, COUNTER) == ""


def test_a_cut_of_a_huge_text_looks_at_little_of_it() -> None:
    class Recording(BuiltinCounter):
        read = 0

        def count(self, text: str) -> int:
            Recording.read += len(text)
            return super().count(text)

    truncate(TEXTS["english"] * 20_000, 100, Recording())
    assert Recording.read < 50_000
