"""What no rule reads: which sentences are looked at, how they are turned, and what a calibrated embedder makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.bench.injection.attempts import attempts
from bethink.errors import EmbeddingFailed, InvalidInput
from bethink.insights import prototypes
from bethink.insights.domains.template import ProfileTemplate, TemplateSection
from bethink.insights.extract import extract
from bethink.insights.prototypes import CALIBRATED, PROTOTYPES, SAY_NOTHING, calibrated
from bethink.insights.turned import tense_of, turned
from bethink.insights.unstated import CONFIDENCE, MOST, meant, sayings
from bethink.memory import Memory
from bethink.messages import Message, Role
from bethink.models import Embedder, Fingerprint
from bethink.models.minilm import MiniLM
from bethink.records import Insight
from bethink.settings import Settings
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock, HashEmbedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOW = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)

UNREAD = "My car broke down on the highway last Friday."
"""No rule reads it; a prototype is of the kind."""

needs_minilm = pytest.mark.skipif(not MiniLM.available(), reason='needs the extra "minilm"')


def said(text: str, *, role: Role = "user", external: bool = False, name: str | None = None) -> Message:
    return Message(role=role, content=text, id="m1", created_at=NOW, external=external, name=name)


def found(text: str, *, role: Role = "user", external: bool = False) -> list[str]:
    message = said(text, role=role, external=external)
    return [saying.clause for saying in sayings([message], extract([message], thread_id="t", now=NOW))]


# -- which sentences ------------------------------------------------------------------------------------------------------


def test_the_premise_of_these_tests_no_rule_reads_the_sentence() -> None:
    assert extract([said(UNREAD)], thread_id="t", now=NOW) == ()


def test_a_sentence_about_its_speaker_is_looked_at_from_its_subject_on() -> None:
    assert found("Well, my car broke down on the highway.") == ["my car broke down on the highway"]
    assert found("It rained, and we've painted the whole kitchen.") == ["we have painted the whole kitchen"]


def test_a_sentence_that_a_rule_reads_is_left_to_it() -> None:
    assert found("I live in Ghent, near the old harbour. We row on the river all summer.") == ["We row on the river all summer"]


@pytest.mark.parametrize(
    "text",
    [
        "Why did my car break down on the highway?",
        "If my car broke down on the highway, who pays?",
        "I might paint the whole kitchen green.",
        "I painted it with my brother yesterday.",
        "I told you about the kitchen yesterday.",
        "The car broke down on the highway.",
        "I totally agree with the rest of the plan.",
        "I painted walls.",
        '"My car broke down on the highway last Friday."',
        "> My car broke down on the highway last Friday.",
        "Translate this: My car broke down on the highway last Friday.",
        "<memory>\n- My car broke down on the highway last Friday.\n</memory>",
        "```\nMy car broke down on the highway last Friday.\n```",
        "I have been using the library called `weather` for some time.",
    ],
)
def test_what_is_asked_supposed_pointed_at_passed_on_or_recalled_is_not_looked_at(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("role", ["assistant", "system"])
def test_only_a_user_is_evidence(role: Role) -> None:
    assert found(UNREAD, role=role) == []
    assert found(UNREAD, external=True) == []


def test_of_one_message_a_few_sentences_are_looked_at() -> None:
    assert len(found(" ".join(f"We usually row on river number {number}." for number in range(3 * MOST)))) == MOST


@given(st.text(max_size=300))
def test_a_saying_is_where_it_says_it_is(text: str) -> None:
    message = said(f"{text}\n\n{UNREAD}")
    for saying in sayings([message], ()):
        straight = message.text[saying.start : saying.end]
        assert len(straight) == len(saying.text)


def test_no_attempt_to_take_over_a_memory_is_looked_at() -> None:
    # What a tool, a document, an assistant or somebody quoted says, in all the ways of `bench injection`.
    texts = [(turn.by, turn.text) for attempt in attempts() for turn in attempt.turns]
    assert [text for by, text in texts if found(text, role="tool" if by == "tool" else "user", external=by == "external")] == []


# -- in the third person --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("I am in my last year of school", "is in my last year of school"),
        ("we have been married for five years", "has been married for five years"),
        ("I usually carry two pens", "usually carries two pens"),
        ("We watch films on Fridays", "watches films on Fridays"),
        ("I do not drive at night", "does not drive at night"),
        ("we were late for the train", "was late for the train"),
        ("I built a shelf for the kitchen", "built a shelf for the kitchen"),
        ("I will visit my parents", "will visit my parents"),
        ("My son plays chess", "my son plays chess"),
    ],
)
def test_a_clause_is_turned_by_its_verb_alone(clause: str, expected: str) -> None:
    assert turned(clause) == expected


def test_what_is_past_is_told_by_the_verb() -> None:
    assert [tense_of(clause) for clause in ("I painted a wall", "We went home", "I need a wall", "my wall fell")] == [
        "past",
        "past",
        "other",
        "",
    ]


# -- prototypes -----------------------------------------------------------------------------------------------------------


def test_every_topic_has_prototypes_and_none_stands_twice() -> None:
    every = [sentence for some in PROTOTYPES.values() for sentence in some] + list(SAY_NOTHING)
    assert len(set(every)) == len(every)
    assert all(len(some) >= 10 for some in PROTOTYPES.values())


def test_every_prototype_begins_as_what_is_held_against_it() -> None:
    some = [sentence for each in PROTOTYPES.values() for sentence in each]
    assert [sentence for sentence in some if not sentence.startswith(("I ", "We ", "My "))] == []


def test_only_the_space_that_the_thresholds_were_chosen_in_is_calibrated() -> None:
    assert calibrated(CALIBRATED)
    assert not calibrated(msgspec.structs.replace(CALIBRATED, probe="0" * 32))
    assert not calibrated(Fingerprint("another", 384, CALIBRATED.probe))


@needs_minilm
def test_the_vectors_are_those_of_the_sentences() -> None:
    texts = [sentence for some in PROTOTYPES.values() for sentence in some] + list(SAY_NOTHING)
    kept = np.load(Path(prototypes.__file__).with_name("prototypes.npy")).astype(np.float32)
    kept /= np.linalg.norm(kept, axis=1, keepdims=True)
    assert MiniLM().fingerprint == CALIBRATED
    assert float(np.einsum("nd,nd->n", kept, MiniLM().embed(texts)).min()) > 0.999


# -- by meaning -----------------------------------------------------------------------------------------------------------


def drawn(text: str, **options: str) -> tuple[Insight, ...]:
    some = sayings([said(text, name=options.get("name"))], ())
    return meant(some, MiniLM().embed([each.text for each in some]), thread_id="t", now=NOW)


@needs_minilm
def test_a_sentence_like_a_prototype_is_an_insight_with_its_words_its_place_and_less_confidence() -> None:
    (insight,) = drawn(f"Hello. {UNREAD}")
    assert insight.text == "my car broke down on the highway (27 February 2026)"
    assert (insight.topic, insight.subject, insight.confidence, insight.importance) == ("event", "user", CONFIDENCE, "low")
    (source,) = insight.sources
    assert f"Hello. {UNREAD}"[source.start : source.end] == UNREAD
    assert insight.valid_from == datetime(2026, 2, 27, tzinfo=timezone.utc)


@needs_minilm
def test_it_is_about_whoever_said_it() -> None:
    (insight,) = drawn(UNREAD, name="Mara")
    assert (insight.subject, insight.text[:6]) == ("mara", "Mara: ")


@needs_minilm
@pytest.mark.parametrize(
    "text",
    [
        "I totally agree with the rest.",
        "I have a question about the second step.",
        "We should all try to stay positive.",
        "I need help with a function that sorts names.",
    ],
)
def test_small_talk_and_requests_say_nothing(text: str) -> None:
    assert drawn(text) == ()


@needs_minilm
def test_the_same_words_are_the_same_insights() -> None:
    assert drawn(UNREAD) == drawn(UNREAD)


# -- where a session is reflected on --------------------------------------------------------------------------------------


def remembered(
    embedder: Embedder | None, settings: Settings | None = None, texts: Sequence[str] = (UNREAD, "I live in Ghent.")
) -> Memory:
    memory = Memory(store=ReferenceStore(), embedder=embedder, clock=FrozenClock(NOW), settings=settings or Settings())
    thread = memory.thread("t")
    for text in texts:
        thread.add("user", text)
    return memory


def texts_of(memory: Memory) -> list[str]:
    return sorted(insight.text for insight in memory.profile())


class _Down:
    """MiniLM, while it fails."""

    local = True
    fingerprint = CALIBRATED

    def __init__(self) -> None:
        self.down = True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.down:
            raise EmbeddingFailed("minilm", "no vectors today", "try tomorrow")
        return MiniLM().embed(texts)


class _Elsewhere(_Down):
    """The same behind a server, which nobody should wait for."""

    local = False


@needs_minilm
def test_the_end_of_a_session_draws_by_meaning_and_a_context_does_not() -> None:
    with remembered(MiniLM()) as memory:
        memory.thread("t").context("", budget=500)
        assert texts_of(memory) == ["lives in Ghent"]
        memory.thread("t").end()
        assert texts_of(memory) == ["lives in Ghent", "my car broke down on the highway (27 February 2026)"]


@needs_minilm
def test_ending_twice_draws_once() -> None:
    with remembered(MiniLM()) as memory:
        memory.thread("t").end()
        memory.thread("t").add("user", "Thanks!")
        memory.thread("t").end()
        assert [len(insight.sources) for insight in memory.profile()] == [1, 1]


@needs_minilm
def test_what_a_template_listens_for_is_left_to_it() -> None:
    listens = ProfileTemplate(name="work", sections=(TemplateSection(name="job", asks=("day job",)),))
    store, clock = ReferenceStore(), FrozenClock(NOW)
    with Memory(store=store, embedder=MiniLM(), clock=clock, profile=listens) as memory:
        memory.thread("t").add("user", "My day job is fixing old bicycles.")
        memory.thread("t").end()
        assert [record.text for record in memory.records("insight")] == ["day job: fixing old bicycles"]


@needs_minilm
def test_reflecting_often_draws_what_reflecting_once_does() -> None:
    texts = (UNREAD, "I live in Ghent.", "We raised money for the school with a bake sale.", "My brother is moving to Oslo.")
    with remembered(MiniLM(), texts=()) as often, remembered(MiniLM(), texts=texts) as once:
        for text in texts:
            often.thread("t").add("user", text)
            often.thread("t").end()
        once.thread("t").end()
        assert texts_of(often) == texts_of(once)
        assert len(texts_of(once)) > 2


@needs_minilm
def test_forgetting_the_message_forgets_what_was_drawn() -> None:
    with remembered(MiniLM()) as memory:
        memory.thread("t").end()
        memory.forget(message=memory.thread("t").messages()[0].id)
        assert texts_of(memory) == ["lives in Ghent"]
        assert memory.verify("highway").clean


@needs_minilm
def test_under_review_it_waits() -> None:
    with remembered(MiniLM(), Settings(review=True)) as memory:
        memory.thread("t").end()
        waiting = [proposal.text for proposal in memory.pending()]
        assert texts_of(memory) == []
        assert "my car broke down on the highway (27 February 2026)" in waiting


@pytest.mark.parametrize("embedder", [None, HashEmbedder(), _Elsewhere()])
def test_without_a_calibrated_embedder_of_this_process_rules_alone_draw(embedder: Embedder | None) -> None:
    with remembered(embedder) as memory:
        memory.thread("t").end()
        assert texts_of(memory) == ["lives in Ghent"]


def test_it_can_be_turned_off() -> None:
    with remembered(_Down(), Settings(prototypes=False)) as memory:
        memory.thread("t").end()
        assert texts_of(memory) == ["lives in Ghent"]


@pytest.mark.parametrize("embedder", [None, HashEmbedder(), _Elsewhere()])
def test_asked_for_with_another_embedder_it_is_refused(embedder: Embedder | None) -> None:
    with pytest.raises(InvalidInput, match=r"settings\.prototypes"):
        remembered(embedder, Settings(prototypes=True))


@needs_minilm
def test_an_embedder_that_fails_leaves_the_session_to_be_ended_again_with_the_same_result() -> None:
    embedder = _Down()
    with remembered(embedder) as memory, remembered(MiniLM()) as other:
        with pytest.raises(EmbeddingFailed):
            memory.thread("t").end()
        assert memory.thread("t").reflection() is None
        embedder.down = False
        memory.thread("t").end()
        other.thread("t").end()
        assert texts_of(memory) == texts_of(other)


@needs_minilm
def test_a_session_that_is_ended_for_somebody_else_holds_nobody_up_while_the_embedder_fails() -> None:
    embedder = _Down()
    settings = Settings(reflect_after=timedelta(minutes=30))
    clock = FrozenClock(NOW)
    with Memory(store=ReferenceStore(), embedder=embedder, clock=clock, settings=settings) as memory:
        memory.thread("t").add("user", UNREAD)
        clock.advance(timedelta(hours=1))
        assert texts_of(memory) == []
        embedder.down = False
        assert texts_of(memory) == ["my car broke down on the highway (27 February 2026)"]
