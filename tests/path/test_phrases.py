"""What is read out of sentences in German, Spanish, French and Portuguese, and what is not."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.insights.extract import extract
from bethink.memory import Memory
from bethink.messages import Message
from bethink.records import Insight
from bethink.storage.reference import ReferenceStore

AT = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)


def insights(text: str) -> tuple[Insight, ...]:
    return extract([Message(role="user", content=text, id="m1", created_at=AT)], thread_id="t", now=AT)


STATED = [
    ("Ich heiße Mara.", [("name", "Name: Mara")]),
    ("Hallo! Ich wohne in Berlin und ich liebe Sushi.", [("residence", "wohnt in Berlin")]),
    ("Ich bin nach Gent umgezogen.", [("residence", "wohnt in Gent")]),
    (
        "Ich bin allergisch gegen Nüsse und Soja.",
        [("allergy:nüsse", "allergisch gegen Nüsse"), ("allergy:soja", "allergisch gegen Soja")],
    ),
    ("Ich bin Vegetarierin.", [("diet", "Vegetarierin")]),
    ("Ich mag keine Oliven, weil sie bitter sind.", [("likes:oliven", "mag nicht: Oliven")]),
    ("Ich mag Jazz sehr.", [("likes:jazz", "mag Jazz")]),
    ("Hola, me llamo Ana.", [("name", "nombre: Ana")]),
    ("Vivo en Gante desde marzo.", [("residence", "vive en Gante")]),
    ("Soy alérgica a los cacahuetes.", [("allergy:cacahuetes", "alergia: cacahuetes")]),
    ("No me gusta el jazz.", [("likes:jazz", "no le gusta: el jazz")]),
    ("Me encantan los trenes nocturnos.", [("likes:trenes nocturnos", "le gusta: los trenes nocturnos")]),
    ("Soy vegana.", [("diet", "vegana")]),
    ("Je m'appelle Zoé.", [("name", "nom : Zoé")]),
    ("J’habite à Gand.", [("residence", "habite à Gand")]),
    ("Je suis allergique aux noix.", [("allergy:noix", "allergique : noix")]),
    ("Je n'aime pas les olives.", [("likes:olives", "n'aime pas : olives")]),
    ("Je ne mange pas de viande.", [("eats:viande", "ne mange pas : viande")]),
    ("Eu moro em Lisboa.", [("residence", "mora em Lisboa")]),
    ("Sou alérgico a amendoim.", [("allergy:amendoim", "alergia: amendoim")]),
    ("Não gosto de café.", [("likes:café", "não gosta de café")]),
    ("Gosto muito de caminhar na praia.", [("likes:caminhar na praia", "gosta de caminhar na praia")]),
]  # fmt: skip


@pytest.mark.parametrize(("said", "expected"), STATED, ids=[said for said, _ in STATED])
def test_V097_a_statement_is_read_and_kept_in_its_own_language(said: str, expected: list[tuple[str, str]]) -> None:
    assert [(found.slot, found.text) for found in insights(said)] == expected


@pytest.mark.parametrize(
    "said",
    [
        "Wohne ich in Berlin?",
        "Ich mag es.",
        "Ich liebe dich.",
        "Wenn ich in Rom wohne, esse ich Pizza.",
        "Ich würde in Berlin wohnen.",
        "Sie sagt: „ich wohne in Berlin“",
        "Ich bin müde.",
        "Ich bin in der Küche.",
        "Ich wohne in einem Haus.",
        "¿Vivo en Gante?",
        "Me gustaría vivir en Gante.",
        "Me gusta que llueva.",
        "Soy de Gante.",
        "J'aime ça.",
        "Je suis à Gand.",
        "J'aimerais habiter à Gand.",
        "Gosto disso.",
        "Talvez eu more em Lisboa.",
        "> Ich wohne in Berlin",
        "<memory>Ich wohne in Berlin.</memory>",
        "My name tag says Mara.",
        "Leave me alone, mate.",
    ],
)
def test_nothing_is_read_into_what_states_nothing(said: str) -> None:
    assert insights(said) == ()


def test_an_answer_in_another_language_takes_the_place_of_the_former() -> None:
    with Memory(store=ReferenceStore(), embedder=None) as memory:
        thread = memory.thread("t")
        thread.add("user", "I live in Porto. I'm vegetarian.")
        thread.add("user", "Ich wohne in Gent.")
        thread.add("user", "Soy vegetariana.")
        assert sorted(insight.text for insight in memory.profile()) == ["vegetarian", "wohnt in Gent"]


def test_V097_what_was_said_in_a_language_is_found_in_it() -> None:
    with Memory(store=ReferenceStore(), embedder=None) as memory:
        memory.thread("t").add("user", "Sou alérgico a amendoim.")
        assert any("amendoim" in hit.text for hit in memory.recall("alérgico amendoim"))


def test_V099_a_foreign_word_does_not_change_the_language() -> None:
    (found,) = insights("Ich mag 寿司.")
    assert found.text == "mag 寿司"


@given(st.text())
def test_any_text_is_taken(said: str) -> None:
    assert all(found.text for found in insights(f"Ich mag {said}"))
