"""Profiles by domain: what each template makes of a conversation of its domain, and what the words of domains say."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from bethink.async_memory import AsyncMemory
from bethink.insights.domains.catalogue import TEMPLATES
from bethink.insights.domains.fields import family, known_slots
from bethink.insights.extract import extract
from bethink.memory import Memory
from bethink.messages import Message
from bethink.profile import Profile
from bethink.records import Insight
from bethink.settings import Settings
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock

AT = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)  # a Monday
DAY = timedelta(days=1)
ASSISTANT = "I'm allergic to nothing. I earn $5 a year. My shoe size is 12. I take metformin."


def opened(template: Any, **options: Any) -> Memory:
    return Memory(store=ReferenceStore(), embedder=None, clock=FrozenClock(AT), profile=template, **options)


def told(template: Any, *said: str, **options: Any) -> Profile:
    memory = opened(template, **options)
    thread = memory.thread("t")
    for number, text in enumerate(said):
        thread.add("user", text, id=f"m{number}", created_at=AT)
        thread.add("assistant", ASSISTANT, id=f"a{number}", created_at=AT)
    return memory.profile()


def values(profile: Profile) -> dict[str, Any]:
    return {name: value for name, value in profile.as_dict().items() if value not in ([], None)}


CONVERSATIONS: dict[str, tuple[tuple[str, ...], dict[str, list[str]]]] = {
    "recommendations": (
        (
            "Hi! I'm looking for a rain jacket, something for weekend hikes.",
            "I'm on a tight budget, but I don't mind paying more for shoes.",
            "I always buy Patagonia and my go-to brand is Merrell. I never buy Shein.",
            "My style is minimalist. My shoe size is 42 and I wear a size M.",
            "I bought a tent last week. I love camping. Oh, and I'm allergic to wool.",
        ),
        {
            "must_avoid": ["allergic to wool"],
            "price_sensitivity": ["on a tight budget", "does not mind paying more for shoes"],
            "brands": ["buys Patagonia", "favourite brand: Merrell", "does not buy Shein"],
            "style": ["style: minimalist"],
            "sizes": ["shoe size: 42", "size M"],
            "purchases": ["bought a tent (week of 23 February 2026)"],
            "preferences": ["likes camping"],
        },
    ),
    "healthcare": (
        (
            "I have type 2 diabetes, and I'm allergic to penicillin, eggs and latex.",
            "I take metformin 500 mg twice a day. My GP put me on lisinopril.",
            "I had a knee replacement in 2019. Heart disease runs in my family.",
            "I'd rather avoid surgery, and I would prefer physical therapy over medication. I don't want opioids.",
            "My blood type is O negative. I prefer plain explanations. I prefer phone calls.",
            "I don't smoke. I'm 52 years old.",
        ),
        {
            "allergies": ["allergic to penicillin", "allergic to eggs", "allergic to latex"],
            "conditions": ["has type 2 diabetes"],
            "medication": ["takes metformin", "takes lisinopril"],
            "history": ["had knee replacement", "in the family: Heart disease"],
            "blood_type": ["blood type: O negative"],
            "treatment_preferences": [
                "treatment: does not want surgery",
                "treatment: prefers physical therapy over medication",
                "treatment: does not want opioids",
            ],
            "communication": ["wants plain explanations", "contact: phone calls"],
            "lifestyle": ["does not smoke"],
            "person": ["age: 52"],
        },
    ),
    "financial_advice": (
        (
            "I'm pretty risk-averse, to be honest. I can't afford any risk.",
            "I earn $85,000 a year, and we have $30k in savings.",
            "We owe $240,000 on our mortgage. I have student loans, and I want to pay off my student loans.",
            "I want to retire at 60. My goal is to buy a house near the coast.",
            "We had a baby in January. I got married in 2020. I signed an NDA.",
        ),
        {
            "legal": ["signed NDA"],
            "risk_tolerance": ["risk tolerance: does not want any risk"],
            "goals": ["goal: pay off my student loans", "wants to retire at 60", "goal: buy a house near the coast"],
            "income": ["income: $85,000 a year"],
            "assets": ["$30k in savings", "owes $240,000 (mortgage)", "has student loans"],
            "household": ["married"],
            "life_events": ["had a baby (January 2026)"],
        },
    ),
    "customer_support": (
        (
            "Hello, my printer won't connect to Wi-Fi. I have an HP LaserJet M110 and I'm on the Premium plan.",
            "I'm on Windows 11. I'm not very technical, sorry.",
            "Last month I had problems with my order. My order number is #A1234.",
            "I'd like a refund. I prefer email.",
        ),
        {
            "products": ["has HP LaserJet M110", "Premium plan", "on Windows 11"],
            "references": ["order number: #A1234"],
            "past_issues": ["issue: printer will not connect to Wi-Fi", "issue with order (February 2026)"],
            "expertise": ["expertise: not technical"],
            "resolution": ["wants a refund"],
            "communication": ["contact: email"],
        },
    ),
    "tutoring": (
        (
            "I'm in 10th grade and I'm a beginner in calculus. My Spanish is A2.",
            "I struggle with fractions and word problems. I don't understand recursion.",
            "I'm a visual learner. I learn best with examples. Never give me the answer right away.",
            "I have an exam on Friday. I want to learn Spanish.",
            "I have 30 minutes a day to practice. I'm good at geometry. I'm preparing for the SAT.",
        ),
        {
            "level": ["grade: 10th grade", "level in calculus: beginner", "level in Spanish: A2"],
            "struggles": ["struggles with fractions", "struggles with word problems", "struggles with recursion"],
            "learning_style": ["visual learner", "learns best with examples"],
            "instructions": ["Never give me the answer right away"],
            "goals": ["goal: learn Spanish"],
            "studies": ["is preparing for the SAT"],
            "exams": ["has an exam (6 March 2026)"],
            "study_time": ["time to study: 30 minutes a day"],
            "strengths": ["good at geometry"],
        },
    ),
    "coding_agent": (
        (
            "We use Python 3.12, FastAPI and PostgreSQL. Always use type hints, and never push to main.",
            "From now on, write tests for every change.",
            "We use 4 spaces, and I prefer small functions. Our line length is 128.",
            "Our frontend is written in TypeScript. I use ruff. I prefer pytest over unittest.",
            "We must support Python 3.10. We upgraded to Python 3.13. We decided to use SQLite for tests.",
        ),
        {
            "instructions": ["Always use type hints", "never push to main", "write tests for every change"],
            "requirements": ["must support Python 3.10"],
            "conventions": ["convention: 4 spaces", "convention: small functions", "line length: 128"],
            "languages": ["uses TypeScript", "uses Python 3.13"],
            "frameworks": ["uses FastAPI"],
            "tools": ["uses PostgreSQL", "uses ruff", "uses pytest", "does not use unittest"],
            "decisions": ["decided: use SQLite for tests"],
        },
    ),
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_conversation_of_the_domain_fills_the_sections_of_its_template(name: str) -> None:
    said, expected = CONVERSATIONS[name]
    found = values(told(name, *said))
    assert {section: sorted(texts) for section, texts in found.items()} == {
        section: sorted(texts) for section, texts in expected.items()
    }


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_each_value_has_the_insight_that_it_came_from(name: str) -> None:
    profile = told(name, *CONVERSATIONS[name][0])
    by_id = {insight.id: insight for insight in profile}
    traced = profile.traced()
    for section, texts in profile.as_dict().items():
        assert [by_id[insight_id].text for insight_id in traced[section]] == texts


def test_there_is_a_conversation_for_each_template() -> None:
    assert set(CONVERSATIONS) == set(TEMPLATES)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_of_the_catalogue_names_nothing_that_no_rule_fills(name: str) -> None:
    slots = {family(slot) for section in TEMPLATES[name].sections for slot in section.slots}
    assert slots <= known_slots()


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_of_the_catalogue_fits_into_a_profile_by_default(name: str) -> None:
    template = TEMPLATES[name]
    template.check_room(template.bound(Settings()), "size")


def test_the_same_talk_and_template_give_the_same_profile() -> None:
    said, _ = CONVERSATIONS["healthcare"]
    assert told("healthcare", *said) == told("healthcare", *said)


def test_the_same_talk_and_template_give_the_same_bytes_of_a_context() -> None:
    def made() -> bytes:
        thread = opened("healthcare").thread("t")
        thread.add("user", "I'm allergic to penicillin. I take metformin. What may I take?", id="m", created_at=AT)
        return thread.context(budget=900).to_bytes()

    assert made() == made()


def test_no_section_is_filled_by_what_an_assistant_says() -> None:
    profile = told("healthcare", "Hello, can you help me?")
    assert values(profile) == {}


def test_what_changed_is_shown_as_it_is_now() -> None:
    said = ("I earn $85,000 a year. My risk tolerance is high.", "My salary is now $95,000. My risk tolerance is now low.")
    found = values(told("financial_advice", *said))
    assert found["income"] == ["income: $95,000"]
    assert found["risk_tolerance"] == ["risk tolerance: low"]


def test_medication_that_was_stopped_is_no_longer_taken() -> None:
    found = values(told("healthcare", "I take metformin.", "I stopped taking metformin."))
    assert found["medication"] == ["no longer takes metformin"]


def test_instructions_are_listened_for_only_by_a_template_that_wants_them() -> None:
    memory = opened(None)
    memory.thread("t").add("user", "Never give up! Always use type hints.", created_at=AT)
    assert list(memory.profile()) == []


# -- words of domains -----------------------------------------------------------------------------------------------------


def said_in(text: str) -> list[str]:
    message = Message(role="user", content=text, id="m", created_at=AT)
    return [insight.text for insight in extract([message], thread_id="t", now=AT)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm very price-sensitive.", ["price-sensitive"]),
        ("Price is not an issue for me.", ["price does not matter"]),
        ("My jacket size is now L.", ["jacket size: L"]),
        ("I only order from Decathlon.", ["buys Decathlon"]),
        ("My doctor prescribed ibuprofen.", ["takes ibuprofen"]),
        ("I no longer take sertraline.", ["no longer takes sertraline"]),
        ("My mother had breast cancer.", ["in the family: breast cancer (mother)"]),
        ("The best way to reach me is text messages.", ["contact: text messages"]),
        ("I'm comfortable with some risk.", ["risk tolerance: comfortable with some risk"]),
        ("We make about 6,000 euros a month.", ["income: 6,000 euros a month"]),
        ("My investment horizon is 20 years.", ["time horizon: 20 years"]),
        ("My dishwasher keeps leaking", []),
        ("My laptop keeps crashing when I open Excel.", ["issue: laptop keeps crashing"]),
        ("I'd like a replacement instead.", ["wants a replacement"]),
        ("I'm tech-savvy.", ["expertise: tech-savvy"]),
        ("I have trouble with logarithms", ["struggles with logarithms"]),
        ("I don't learn well from videos", ["does not learn well from videos"]),
        ("We use React 18 and Node 20.", ["uses React 18", "uses Node 20"]),
        ("I don't use semicolons.", ["convention: no semicolons"]),
        ("Our backend runs on Kubernetes.", ["uses Kubernetes"]),
    ],
)
def test_the_words_of_a_domain_are_understood(text: str, expected: list[str]) -> None:
    assert said_in(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Should I take metformin?",
        "If I earned $85,000 a year, I would move.",
        "My brother is a visual learner, they say.",
        "She said I'm risk-averse.",
        "I struggle with anxiety.",
        "I'm a newbie here.",
        "I've had problems with my business project.",
        "What does it mean to be risk-averse?",
        "Could I get a refund?",
        "My mother always buys Nike.",
        "I make a great lasagna.",
        "I wear glasses.",
        "I had a heart-to-heart with my mother.",
        "I would like to thank you.",
        "My son is not technical.",
        'The label says "I take metformin daily".',
    ],
)
def test_what_only_sounds_like_it_states_nothing_of_a_domain(text: str) -> None:
    slots = {insight.slot.partition(":")[0] for insight in _extracted(text)}
    assert slots <= {"likes"}


def _extracted(text: str) -> tuple[Insight, ...]:
    message = Message(role="user", content=text, id="m", created_at=AT)
    return tuple(each for each in extract([message], thread_id="t", now=AT) if each.subject == "user")


@pytest.mark.parametrize("text", ["I'm allergic to nuts, eggs and shellfish", "I'm allergic to nuts, eggs, and shellfish"])
def test_a_list_is_read_to_its_end_with_and_without_the_last_comma(text: str) -> None:
    assert said_in(text) == ["allergic to nuts", "allergic to eggs", "allergic to shellfish"]


# -- elsewhere ------------------------------------------------------------------------------------------------------------


def test_a_context_shows_the_sections_of_the_template_and_safety_first() -> None:
    memory = opened("healthcare", settings=Settings(line_order="ranked"))
    thread = memory.thread("t")
    said = "I prefer plain explanations. I'm 52 years old. I'm allergic to penicillin. I live in Porto."
    thread.add("user", said, created_at=AT)
    thread.end()
    following = memory.thread("next")
    following.add("user", "Hello.", created_at=AT + DAY)
    block = following.context(budget=900).messages[0].text
    shown = [
        block.index("allergies, 2026-03-02:\n- allergic to penicillin"),
        block.index("communication, 2026-03-02:\n- wants plain explanations"),
        block.index("person, 2026-03-02:\n- age: 52"),
        block.index("</profile>"),
    ]
    assert shown == sorted(shown)
    assert "lives in Porto" not in block[: shown[-1]]


def test_a_context_by_a_template_is_replayed_byte_for_byte_whatever_template_is_in_use_by_then(tmp_path: Path) -> None:
    said = "I'm allergic to penicillin. I prefer plain explanations. What can I take?"
    with Memory(tmp_path / "a.db", embedder=None, clock=FrozenClock(AT), profile="healthcare") as memory:
        memory.thread("t").add("user", said, created_at=AT)
        context = memory.thread("t").context(budget=900)
        assert "allergies, 2026-03-02:" in context.text
    with Memory(tmp_path / "a.db", embedder=None, clock=FrozenClock(AT)) as memory:
        assert memory.replay(context.receipt_id).to_bytes() == context.to_bytes()
        assert memory.check() == []


@pytest.mark.anyio
async def test_the_asynchronous_twin_lays_profiles_out_likewise() -> None:
    async with AsyncMemory(store=ReferenceStore(), embedder=None, clock=FrozenClock(AT), profile="healthcare") as memory:
        await memory.thread("t").add("user", "I'm allergic to penicillin.", created_at=AT)
        found = await memory.profile()
        assert found.section("allergies").value == ["allergic to penicillin"]
        assert values(await memory.profile(template="recommendations")) == {"must_avoid": ["allergic to penicillin"]}
