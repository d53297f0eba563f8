"""Templates: what is refused, what a dataclass and a JSON Schema are filled with, and the bounds that always hold."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink.errors import InvalidInput, NotFound
from bethink.insights.domains.asked import rules_of
from bethink.insights.domains.catalogue import TEMPLATES
from bethink.insights.domains.filled import answer_of, number_in
from bethink.insights.domains.given import template_from
from bethink.insights.domains.sectioned import laid_out, section_of
from bethink.insights.domains.template import Holds, ProfileTemplate, TemplateSection
from bethink.insights.retention import exempt
from bethink.memory import Memory
from bethink.records import Insight
from bethink.settings import Retention, Settings
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock

AT = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
DAY = timedelta(days=1)


def opened(template: Any = None, **options: Any) -> Memory:
    return Memory(store=ReferenceStore(), embedder=None, clock=FrozenClock(AT), profile=template, **options)


def having_heard(*said: str, template: Any = None, **options: Any) -> Memory:
    memory = opened(template, **options)
    for text in said:
        memory.thread("t").add("user", text, created_at=AT)
    return memory


def section(name: str = "a", **options: Any) -> TemplateSection:
    return TemplateSection(name=name, **({"slots": ("allergy",)} | options))


def template(*sections: TemplateSection, **options: Any) -> ProfileTemplate:
    return ProfileTemplate(name="mine", sections=sections, **options)


# -- what cannot be met ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class NeedsName:
    name: str


@dataclasses.dataclass
class HasDict:
    likes: dict[str, str] | None = None


@dataclasses.dataclass
class HasPair:
    likes: tuple[str, str] = ("a", "b")


@dataclasses.dataclass
class HasSeveral:
    age: int | str | None = None


@dataclasses.dataclass
class HasFlag:
    funny: bool | None = None


@dataclasses.dataclass
class ClaimsTwice:
    city: str | None = None
    residence: str | None = None


@dataclasses.dataclass
class HasOption:
    city: str | None = dataclasses.field(default=None, metadata={"profile": {"slot": "residence"}})


@dataclasses.dataclass
class Nothing:
    pass


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


UNMET: list[tuple[Callable[[], Any], str]] = [
    # sections
    (lambda: section(name="a b"), "section.name: no name"),
    (lambda: section(title="<b>"), r"section 'a'.title: not fit for a heading"),
    (lambda: section(topics=("mood",), slots=()), r"section 'a'.topics: 1 unknown kind"),
    (lambda: section(slots=()), "section 'a': nothing that it takes"),
    (lambda: section(slots=["allergy"]), r"section 'a'.slots: not a tuple of texts"),
    (lambda: section(slots=("allergy", "allergy")), "the same twice"),
    (lambda: section(limit=0), r"section 'a'.limit: not a number of 1 or more"),
    (lambda: section(pinned=True, limit=3), "a limit on what is pinned"),
    (lambda: section(pinned=True, topics=("constraint",)), r"section 'a'.pinned: topics or words"),
    (lambda: section(polarity="both"), r"section 'a'.polarity"),
    (lambda: section(limit=2, holds=Holds(kind="text", many=False)), "2 of a single value"),
    (lambda: Holds(kind="choice"), "holds.choices"),
    (lambda: Holds(kind="flag"), "a flag is one answer"),
    # templates
    (lambda: template(), r"template 'mine'.sections: none"),
    (lambda: template(section("a"), section("a", slots=("diet",))), "'a' twice"),
    (lambda: template(section("a"), section("b")), "'a' and 'b' both take the slot 'allergy'"),
    (
        lambda: template(section("a", slots=(), topics=("goal",)), section("b", slots=(), topics=("plan", "goal"))),
        "both take the topic 'goal'",
    ),
    (lambda: template(section("a", words=("nuts",)), section("b", words=("eggs", "nuts"))), "both take the slot"),
    (lambda: template(section("a", limit=4), section("b", slots=("diet",), limit=3), size=6), "limits of 7 together"),
    (lambda: template(section(), size=0), r"template 'mine'.size"),
    # where they are given
    (lambda: opened("health_care"), "did you mean 'healthcare'"),
    (lambda: opened("nonsense"), "no template of that name"),
    (lambda: opened(7), "profile: a int"),
    (lambda: opened(template(section(slots=("alergy",)))), "did you mean 'allergy'"),
    (lambda: opened("tutoring", settings=Settings(profile_size=5)), "settings.profile_size: 5"),
    (lambda: opened().profile(template=template(section(limit=21))), "settings.profile_size: 20"),
    # classes
    (lambda: opened(dict), "a class that is no dataclass"),
    (lambda: opened(NeedsName), r"NeedsName.name: neither None nor a default"),
    (lambda: opened(HasDict), r"HasDict.likes: a type that nothing can fill"),
    (lambda: opened(HasPair), r"HasPair.likes: a tuple of a fixed length"),
    (lambda: opened(HasSeveral), r"HasSeveral.age: several types"),
    (lambda: opened(HasFlag), r"HasFlag.funny: a yes or no that no rule finds"),
    (lambda: opened(ClaimsTwice), "'city' and 'residence' both take the slot 'residence'"),
    (lambda: opened(HasOption), r"HasOption.city: 1 unknown option"),
    (lambda: opened(Nothing), "Nothing: no fields"),
    # schemas
    (lambda: opened({"type": "array"}), r"schema.type: no object"),
    (lambda: opened({"type": "object"}), r"schema.properties: none"),
    (lambda: opened(schema(name={"type": "string", "pattern": "^A"})), r"schema.properties.name: .* \(pattern\)"),
    (lambda: opened(schema(name={"type": "object"})), r"schema.properties.name.type: a type that nothing can fill"),
    (lambda: opened(schema(name={"$ref": "#/x"})), r"schema.properties.name.type"),
    (lambda: opened(schema(likes={"type": "array"})), r"schema.properties.likes.items"),
    (lambda: opened(schema(likes={"type": "array", "minItems": 1, "items": {"type": "string"}})), r"\(minItems\)"),
    (lambda: opened(schema(age={"type": "integer", "enum": [1, 2]})), r"schema.properties.age.enum"),
    (lambda: opened({**schema(name={"type": "string"}), "required": ["name"]}), 'required, without "null"'),
    (lambda: opened({**schema(name={"type": "string"}), "required": ["age"]}), "schema.required"),
    (lambda: opened({**schema(name={"type": "string"}), "oneOf": []}), r"schema: keywords that cannot be kept \(oneOf\)"),
]


@pytest.mark.parametrize(("given_template", "match"), UNMET)
def test_a_template_that_cannot_be_met_is_refused(given_template: Callable[[], Any], match: str) -> None:
    with pytest.raises(InvalidInput, match=match) as caught:
        given_template()
    assert caught.value.field
    assert caught.value.fix


def test_a_template_is_refused_before_anything_is_read_or_written() -> None:
    memory = having_heard("I live in Porto.")
    before = list(memory.export())
    with pytest.raises(InvalidInput):
        memory.profile(template=NeedsName)
    assert list(memory.export()) == before


def test_claims_that_differ_by_words_or_polarity_or_how_particular_they_are_do_not_clash() -> None:
    kept = template(
        section("liked", slots=("likes",), polarity="positive"),
        section("disliked", slots=("likes",), polarity="negative"),
        section("python", slots=("uses",), words=("python",)),
        section("go", slots=("uses",), words=("go",)),
        section("tools", slots=("uses",)),
        section("rest", slots=(), topics=("preference",)),
    )
    assert kept.needed == 6


# -- which section --------------------------------------------------------------------------------------------------------


def insight(slot: str, text: str = "", **fields: Any) -> Insight:
    value = slot.partition(":")[2] or text or slot
    known = {"id": f"{slot}|{text}|{fields.get('polarity', '')}", "topic": "preference", "subject": "user"}
    options: dict[str, Any] = {**known, "trust": "user", "recorded_at": AT, **fields}
    return Insight(text=text or slot, slot=slot, value=value, **options)


def placed(found: Insight, *sections: TemplateSection) -> str | None:
    where = section_of(found, template(*sections))
    return None if where is None else where.name


def test_an_insight_goes_where_the_claim_is_the_most_particular() -> None:
    sections = (
        section("topic", slots=(), topics=("preference",)),
        section("slot", slots=("uses",)),
        section("words", slots=("uses",), words=("python", "c++")),
        section("long", slots=("size:shoe",)),
        section("short", slots=("size",)),
    )
    assert placed(insight("likes:tea"), *sections) == "topic"
    assert placed(insight("uses:go"), *sections) == "slot"
    assert placed(insight("uses:python", "uses Python 3.12"), *sections) == "words"
    assert placed(insight("uses:c++", "uses C++"), *sections) == "words"
    assert placed(insight("size:shoe", "shoe size: 42"), *sections) == "long"
    assert placed(insight("size:hat", "hat size: M"), *sections) == "short"
    assert placed(insight("name", "name: Ana", topic="identity"), *sections) is None


# -- bounds ---------------------------------------------------------------------------------------------------------------

_SLOTS = (
    "allergy:a",
    "allergy:b",
    "medical:c",
    "likes:d",
    "likes:e",
    "likes:f",
    "diet",
    "income",
    "uses:g",
    "goal:h",
    "goal:i",
)
_TOPICS = {"allergy": "constraint", "medical": "constraint", "diet": "constraint", "goal": "goal", "income": "identity"}


@st.composite
def known_insights(draw: st.DrawFn) -> list[Insight]:
    slots = draw(st.lists(st.sampled_from(_SLOTS), unique=True))
    return [
        insight(
            slot,
            topic=_TOPICS.get(slot.partition(":")[0], "preference"),
            importance=draw(st.sampled_from(["high", "medium", "low"])),
            recorded_at=AT - DAY * draw(st.integers(0, 300)),
            pinned=draw(st.booleans()),
            polarity=draw(st.sampled_from(["positive", "negative"])),
        )
        for slot in slots
    ]


@st.composite
def given_templates(draw: st.DrawFn) -> ProfileTemplate:
    limit = st.none() | st.integers(1, 3)
    sections = [
        section("safety", slots=("allergy",), pinned=draw(st.booleans())),
        section("likes", slots=("likes",), limit=draw(limit), polarity=draw(st.sampled_from([None, "positive"]))),
        section("body", slots=("diet", "medical"), limit=draw(limit)),
        section("ends", slots=(), topics=("goal",), limit=draw(limit)),
    ]
    kept = draw(st.lists(st.sampled_from(sections), min_size=1, unique_by=lambda each: each.name))
    return template(*kept)


@settings(max_examples=150)
@given(known_insights(), given_templates(), st.integers(1, 12))
def test_for_any_insights_the_bounds_hold_and_nothing_exempt_is_left_out(
    known: list[Insight], laid_by: ProfileTemplate, size: int
) -> None:
    retention = Retention(kept=laid_by.kept)
    laid = laid_out(known, laid_by, size=size, now=AT, retention=Retention())
    held = [found for found, _ in laid.entries]
    safe = [found for found in known if exempt(found, retention)]
    kept = {found.id for found, _ in (*laid.entries, *laid.others)}
    assert len(kept) <= max(size, len(safe))
    assert {found.id for found in safe} <= kept
    assert len({found.id for found in held}) == len(held)
    assert sorted([*kept, *[found.id for found, _ in laid.beyond]]) == sorted(found.id for found in known)
    for each, pairs in laid.sections:
        free = [found for found, _ in pairs if not exempt(found, retention)]
        assert each.most is None or len(free) <= max(0, each.most - (len(pairs) - len(free)))
        assert all(section_of(found, laid_by) is each for found, _ in pairs)


@settings(max_examples=50)
@given(known_insights(), given_templates(), st.randoms(use_true_random=False))
def test_for_any_order_of_what_is_known_a_profile_is_the_same(
    known: list[Insight], laid_by: ProfileTemplate, random: Any
) -> None:
    shuffled = list(known)
    random.shuffle(shuffled)
    assert laid_out(known, laid_by, size=6, now=AT, retention=Retention()) == laid_out(
        shuffled, laid_by, size=6, now=AT, retention=Retention()
    )


def test_pinned_sections_stand_first_wherever_the_template_has_them() -> None:
    memory = having_heard("I like tea. I'm allergic to nuts.")
    mine = template(section("likes", slots=("likes",)), section("safe", slots=("allergy",), pinned=True))
    assert [each.name for each in memory.profile(template=mine).sections] == ["safe", "likes"]


def test_a_session_by_a_template_archives_by_its_sections() -> None:
    mine = template(section("likes", slots=("likes",), limit=2), section("where", slots=("residence",), limit=1))
    memory = having_heard("I like tea.", "I like jazz.", "I like rain.", "I live in Porto.", template=mine)
    memory.thread("t").end()
    profile = memory.profile()
    assert [len(each) for each in profile.sections] == [2, 1]
    gone = [record for record in memory.records("insight", current=False) if not record.current]
    assert len(gone) == 1
    assert gone[0].reason.endswith("those that mine keeps of its section")


def test_what_a_pinned_section_takes_is_never_archived() -> None:
    mine = template(section("home", slots=("residence",), pinned=True), section("likes", slots=("likes",)), size=3)
    clock = FrozenClock(AT)
    memory = Memory(store=ReferenceStore(), embedder=None, clock=clock, profile=mine)
    memory.thread("t").add("user", "I live in Porto.", created_at=AT)
    memory.thread("t").end()
    clock.advance(400 * DAY)
    later = memory.thread("later")
    later.add("user", "I like tea. I like jazz. I like rain. I like snow.", created_at=clock.now())
    later.end()
    profile = memory.profile()
    assert profile.section("home").value == ["lives in Porto"]
    assert len(profile) == 3


def test_a_preview_goes_by_the_template_of_the_memory() -> None:
    mine = template(section("likes", slots=("likes",), limit=1))
    memory = having_heard("I like tea. I like jazz.", template=mine)
    for profile in (memory.profile(), memory.profile(template="healthcare")):
        assert len(profile.preview().archive) == 0
    memory.thread("t").add("user", "I like rain.", created_at=AT)
    assert len(memory.profile()) == 1


def test_a_template_of_a_call_changes_nothing_that_is_stored() -> None:
    memory = having_heard("I like tea. I'm allergic to nuts.")
    before = memory.profile()
    memory.profile(template="healthcare")
    assert memory.profile() == before
    assert before.sections == ()


def test_a_profile_of_another_time_is_laid_out_likewise() -> None:
    clock = FrozenClock(AT)
    memory = Memory(store=ReferenceStore(), embedder=None, clock=clock, profile="financial_advice")
    memory.thread("t").add("user", "I earn $85,000 a year.", created_at=AT)
    memory.profile()
    clock.advance(10 * DAY)
    memory.thread("t").add("user", "I earn $95,000 a year.", created_at=clock.now())
    memory.profile()
    assert memory.profile(as_of=AT + DAY).section("income").value == ["income: $85,000 a year"]
    assert memory.profile(valid_at=AT + DAY).section("income").value == ["income: $85,000 a year"]
    assert memory.profile().section("income").value == ["income: $95,000 a year"]


def test_a_section_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound, match="there are allergies"):
        opened("healthcare").profile().section("shoes")


# -- a dataclass ----------------------------------------------------------------------------------------------------------


class Risk(enum.Enum):
    LOW = "low"
    HIGH = "high"


@dataclasses.dataclass(frozen=True)
class Client:
    name: str | None
    city: str | None
    age: int | None
    income: float | None
    risk_tolerance: Risk | None
    diet: Literal["vegan", "vegetarian"] | None
    smokes: bool | None
    allergies: list[str]
    likes: tuple[str, ...]
    dislikes: list[str]
    goals: list[str]
    shoe_size: int | None = None
    favourite_colour: str | None = None
    pet_names: list[str] = dataclasses.field(default_factory=list)
    tone: str = "friendly"
    since: str | None = dataclasses.field(default=None, init=False)


SAID = (
    "My name is Ana Souza and I live in the Netherlands. I'm 34 years old. I earn $85k a year.",
    "My risk tolerance is low. I'm vegan. I don't smoke. I'm allergic to nuts, and I'm not allergic to eggs.",
    "I love hiking and jazz. I hate mornings. I want to learn Rust. My shoe size is 42.",
    "My favourite colour is dark green. My pet names are Rex and Bo.",
)


def test_a_dataclass_is_filled_with_typed_answers() -> None:
    found = having_heard(*SAID, template=Client).profile().to(Client)
    assert dataclasses.replace(found, likes=tuple(sorted(found.likes)), pet_names=sorted(found.pet_names)) == Client(
        name="Ana Souza",
        city="Netherlands",
        age=34,
        income=85_000.0,
        risk_tolerance=Risk.LOW,
        diet="vegan",
        smokes=False,
        allergies=["nuts"],
        likes=("hiking", "jazz"),
        dislikes=["mornings"],
        goals=["learn Rust"],
        shoe_size=42,
        favourite_colour="dark green",
        pet_names=["Bo", "Rex"],
        tone="friendly",
    )


def test_what_nobody_said_is_none_or_empty_or_the_default() -> None:
    found = opened(Client).profile().to(Client)
    assert (found.name, found.age, found.smokes, found.allergies, found.likes, found.tone) == (
        None,
        None,
        None,
        [],
        (),
        "friendly",
    )


def test_each_value_of_a_dataclass_can_be_traced_to_the_words() -> None:
    memory = having_heard(*SAID, template=Client)
    profile = memory.profile()
    (city,) = profile.traced()["city"]
    (source,) = next(each for each in profile if each.id == city).sources
    assert source.text == "lives in the Netherlands"
    assert profile.traced()["tone"] == ()
    assert len(profile.traced()["likes"]) == len(profile.as_dict()["likes"])


def test_what_a_template_asks_for_is_heard_by_a_memory_opened_with_it_alone() -> None:
    assert sorted(having_heard(*SAID, template=Client).profile().to(Client).pet_names) == ["Bo", "Rex"]
    assert having_heard(*SAID).profile(template=Client).to(Client).pet_names == []
    assert rules_of(None) == ()


def test_a_profile_without_a_template_fills_a_class_too() -> None:
    @dataclasses.dataclass
    class Person:
        city: str | None = None

    assert having_heard(*SAID).profile().to(Person) == Person("Netherlands")


# -- a JSON Schema --------------------------------------------------------------------------------------------------------

PATIENT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Patient",
    "type": "object",
    "required": ["allergies"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": ["string", "null"]},
        "age": {"type": "integer"},
        "allergies": {"type": "array", "items": {"type": "string"}, "x-profile": {"slots": ["allergy"], "pinned": True}},
        "diet": {"enum": ["vegan", "vegetarian", None], "type": ["string", "null"]},
        "likes": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
        "shoe-size": {"type": "integer"},
        "insuranceNumber": {"type": "string", "description": "as on the card"},
    },
}


def test_a_json_schema_is_filled_so_that_it_is_true_of_what_comes_out() -> None:
    memory = having_heard(*SAID, "My insurance number is A-17.", template=PATIENT)
    found = memory.profile().to(PATIENT)
    assert found.pop("likes") in (["hiking"], ["jazz"])
    assert found == {
        "name": "Ana Souza",
        "age": 34,
        "allergies": ["nuts"],
        "diet": "vegan",
        "shoe-size": 42,
        "insuranceNumber": "A-17",
    }


def test_a_property_that_nothing_fills_is_null_where_the_schema_has_that_and_else_not_there() -> None:
    assert opened(PATIENT).profile().to(PATIENT) == {"name": None, "allergies": [], "diet": None, "likes": []}


def test_a_schema_is_a_template_of_its_title() -> None:
    found = template_from(PATIENT)
    assert found.name == "Patient"
    assert found.kept == ("allergy",)


# -- answers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "answer"),
    [
        ("lives in the Netherlands", "netherlands", "Netherlands"),
        ("goal: retire at 60", "retire 60", "retire at 60"),
        ("bought a kayak (28 February 2026)", "bought kayak @2026-02-28", "bought a kayak"),
        ("nombre: Ana", "ana", "Ana"),
        ("does not eat pork", "pork", "pork"),
        ("words that are not there", "other", "other"),
        ("plays the piano, the old piano man", "piano man", "piano man"),
    ],
)
def test_an_answer_is_as_it_was_said(text: str, value: str, answer: str) -> None:
    assert answer_of(msgspec.structs.replace(insight("x", text), value=value)) == answer


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("$85,000 a year", 85_000),
        ("80k", 80_000),
        ("1.5 million", 1_500_000),
        ("about 42", 42),
        ("no number", None),
        ("A1234", None),
        ("-3.5 degrees", -3.5),
        ("3m", 3_000_000),
        ("10th grade", None),
    ],
)
def test_a_number_is_the_first_of_an_answer(text: str, number: float | None) -> None:
    assert number_in(text) == number


@settings(max_examples=60)
@given(st.text(max_size=40), st.text(max_size=40))
def test_for_any_text_an_answer_is_in_it_or_is_the_value(text: str, value: str) -> None:
    found = answer_of(msgspec.structs.replace(insight("x"), text=text, value=value))
    assert found in text or found == value.split(" @")[0]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_goes_through_json_and_back(name: str) -> None:
    assert msgspec.json.decode(msgspec.json.encode(TEMPLATES[name]), type=ProfileTemplate) == TEMPLATES[name]
