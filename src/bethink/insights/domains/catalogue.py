"""The templates that are there, by name: values, to be taken as they are or to be varied with `msgspec.structs.replace`."""

from __future__ import annotations

from bethink.insights.domains.listed import FRAMEWORKS, LANGUAGES, LEARNING
from bethink.insights.domains.template import ProfileTemplate, TemplateSection

__all__ = ["TEMPLATES"]


def _words(listed: str) -> tuple[str, ...]:
    return tuple(listed.split(","))


_SAFETY = (
    TemplateSection(name="allergies", slots=("allergy", "intolerance"), pinned=True),
    TemplateSection(name="conditions", title="medical conditions", slots=("medical",), pinned=True),
    TemplateSection(name="medication", slots=("medication",), pinned=True),
)

RECOMMENDATIONS = ProfileTemplate(
    name="recommendations",
    about="What to suggest to somebody: what he bought and likes, from whom, and what it may cost.",
    sections=(
        TemplateSection(name="must_avoid", title="must avoid", slots=("allergy", "intolerance"), pinned=True),
        TemplateSection(name="diet", title="what is eaten", slots=("diet", "eats", "drinks"), limit=2),
        TemplateSection(name="price_sensitivity", title="price", slots=("price_sensitivity", "budget"), limit=2),
        TemplateSection(name="brands", slots=("brand", "favourite:brand"), limit=3),
        TemplateSection(name="style", slots=("style",), limit=2),
        TemplateSection(name="sizes", slots=("size",), limit=3),
        TemplateSection(name="purchases", topics=("event",), words=("bought", "purchased", "ordered"), limit=3),
        TemplateSection(name="preferences", topics=("preference",), limit=4),
    ),
)

HEALTHCARE = ProfileTemplate(
    name="healthcare",
    about="What whoever cares for somebody must know: it is never let go, whatever it scores.",
    sections=(
        *_SAFETY,
        TemplateSection(name="history", title="medical history", slots=("medical_history", "family_history"), pinned=True),
        TemplateSection(name="blood_type", title="blood type", slots=("blood_type",), pinned=True),
        TemplateSection(name="treatment_preferences", title="treatment preferences", slots=("treatment",), limit=5),
        TemplateSection(name="communication", slots=("communication", "contact", "speaks", "pronouns"), limit=4),
        TemplateSection(name="lifestyle", slots=("diet", "eats", "drinks", "smokes", "can"), limit=4),
        TemplateSection(name="person", slots=("name", "age", "birthday", "job"), limit=4),
    ),
)

FINANCIAL_ADVICE = ProfileTemplate(
    name="financial_advice",
    about="What advice on money rests on: what somebody can bear, wants, has and owes, and what changed in his life.",
    sections=(
        TemplateSection(name="legal", title="legal constraints", slots=("legal",), pinned=True),
        TemplateSection(name="risk_tolerance", title="risk tolerance", slots=("risk_tolerance",), limit=1),
        TemplateSection(name="goals", slots=("retirement", "horizon"), topics=("goal",), limit=4),
        TemplateSection(name="income", slots=("income", "job", "employer"), limit=3),
        TemplateSection(name="assets", title="savings and debts", slots=("savings", "debt", "budget"), limit=5),
        TemplateSection(name="household", slots=("marital", "age", "residence", "has"), limit=4),
        TemplateSection(
            name="life_events",
            title="life events",
            topics=("event", "plan"),
            words=(
                *("married", "divorced", "baby", "born", "retired", "promoted", "laid off", "fired", "hired", "house", "flat"),
                *(
                    "apartment",
                    "wedding",
                    "moving",
                    "moved",
                    "inherited",
                    "inheritance",
                    "graduated",
                    "quit",
                    "sold",
                    "surgery",
                ),
            ),
            limit=3,
        ),
    ),
)

CUSTOMER_SUPPORT = ProfileTemplate(
    name="customer_support",
    about="What a customer has, what went wrong before, how much he knows, and what would put it right for him.",
    sections=(
        TemplateSection(name="products", slots=("product", "subscription", "platform"), limit=5),
        TemplateSection(name="references", title="account and orders", slots=("reference",), limit=3),
        TemplateSection(name="past_issues", title="past issues", slots=("issue",), limit=5),
        TemplateSection(name="expertise", slots=("expertise",), limit=1),
        TemplateSection(name="resolution", title="preferred resolution", slots=("resolution",), limit=1),
        TemplateSection(name="communication", slots=("contact", "communication", "speaks", "timezone"), limit=3),
        TemplateSection(name="customer", slots=("name", "residence"), limit=2),
    ),
)

TUTORING = ProfileTemplate(
    name="tutoring",
    about="Where a learner stands, what is hard for him, how he learns, and what he learns for.",
    instructions=True,
    sections=(
        TemplateSection(name="level", slots=("level", "grade", "expertise"), limit=4),
        TemplateSection(name="struggles", slots=("struggles",), limit=4),
        TemplateSection(name="learning_style", title="learning style", slots=("learning_style",), limit=2),
        TemplateSection(name="instructions", slots=("instruction", "communication"), limit=2),
        TemplateSection(name="goals", topics=("goal",), limit=2),
        TemplateSection(name="studies", slots=("doing",), words=_words(LEARNING), limit=2),
        TemplateSection(
            name="exams", topics=("plan", "event"), words=("exam", "test", "quiz", "midterm", "final", "finals"), limit=2
        ),
        TemplateSection(name="study_time", title="time to study", slots=("study_time",), limit=1),
        TemplateSection(name="strengths", slots=("skill",), limit=1),
    ),
)

CODING_AGENT = ProfileTemplate(
    name="coding_agent",
    about="How somebody wants code to be written: what he told to do or never to do, conventions, languages, tools, decisions.",
    instructions=True,
    size=34,
    sections=(
        TemplateSection(name="instructions", slots=("instruction",), limit=8),
        TemplateSection(name="requirements", slots=("requirement", "legal"), limit=3),
        TemplateSection(name="conventions", slots=("convention",), limit=6),
        TemplateSection(name="languages", slots=("uses",), words=_words(LANGUAGES), limit=5),
        TemplateSection(name="frameworks", slots=("uses",), words=_words(FRAMEWORKS), limit=4),
        TemplateSection(name="tools", slots=("uses", "platform"), limit=5),
        TemplateSection(name="decisions", topics=("decision",), limit=3),
    ),
)

TEMPLATES: dict[str, ProfileTemplate] = {
    each.name: each for each in (RECOMMENDATIONS, HEALTHCARE, FINANCIAL_ADVICE, CUSTOMER_SUPPORT, TUTORING, CODING_AGENT)
}
"""By name."""
