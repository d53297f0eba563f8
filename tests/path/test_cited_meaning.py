"""Records that replies use in other words: by nearness, where words are half there."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np
import pytest

from bethink.errors import InvalidInput
from bethink.insights.citations import HALF, half_used, near, wording
from bethink.memory import Memory
from bethink.models import Embedder
from bethink.models.minilm import MiniLM
from bethink.settings import Settings
from bethink.storage.reference import ReferenceStore
from bethink.testing.doubles import FrozenClock, HashEmbedder

AT = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
SHOWN = {"hike": "likes hiking in the mountains", "nuts": "allergic to peanuts", "home": "Mara: lives in Ghent"}
TOLD = "I love hiking in the mountains with the children. I live in Ghent."
OTHERWISE = "Take the kids for a mountain hike."
HIKES = "likes hiking in the mountains with the children"

needs_minilm = pytest.mark.skipif(not MiniLM.available(), reason='needs the extra "minilm"')


# -- as values ------------------------------------------------------------------------------------------------------------


def test_only_a_line_that_is_half_there_is_asked_about_with_the_sentences_that_share_its_words() -> None:
    reply = "There are mountains in the south. You are allergic to peanuts. The weather is fine."
    assert half_used(reply, SHOWN, threshold=0.5) == {"hike": ("There are mountains in the south.",)}


def test_a_line_is_near_from_the_threshold_on() -> None:
    one, other = np.array([1, 0], np.float32), np.array([0.6, 0.8], np.float32)
    half = {"hike": ("Up the hills!",)}
    vectors = {wording(SHOWN["hike"]): one, "Up the hills!": other}
    assert near(half, SHOWN, vectors, threshold=0.59) == ("hike",)
    assert near(half, SHOWN, vectors, threshold=0.61) == ()


def test_what_a_line_says_is_without_its_subject_and_date() -> None:
    assert [wording(line) for line in ("Mara: lives in Ghent", "went to Oslo (3 May 2026)")] == [
        "lives in Ghent",
        "went to Oslo",
    ]


def test_half_is_less_than_the_whole() -> None:
    threshold = Settings().citation_overlap
    assert threshold is not None
    assert 0 < HALF < threshold


@pytest.mark.parametrize("nearness", [0.0, -1.0, 1.5])
def test_a_threshold_that_means_nothing_is_refused(nearness: float) -> None:
    with pytest.raises(InvalidInput, match="citation_nearness"):
        Settings(citation_nearness=nearness)


# -- in a thread ----------------------------------------------------------------------------------------------------------


def counts(
    reply: str, *, embedder: Embedder | None, settings: Settings | None = None, ends: int = 1
) -> dict[str, tuple[int, int]]:
    """Uses of each insight before the session is ended, and after."""
    store = ReferenceStore()
    with Memory(store=store, embedder=embedder, clock=FrozenClock(AT), settings=settings or Settings()) as held:
        held.thread("before").add("user", TOLD)
        thread = held.thread("weekend")
        thread.add("user", "What shall we do on Sunday?")
        thread.context(budget=1_000)
        thread.add("assistant", reply)
        before = {record.text: record.access_count for record in held.profile()}
        for _ in range(ends):
            thread.end()
        after = {record.text: record.access_count for record in held.profile()}
    return {text: (count, after[text]) for text, count in before.items()}


@pytest.fixture(scope="module")
def embedder() -> MiniLM:
    return MiniLM()


@needs_minilm
def test_a_reply_in_other_words_is_a_use_once_the_session_has_ended(embedder: MiniLM) -> None:
    assert counts(OTHERWISE, embedder=embedder) == {HIKES: (0, 1), "lives in Ghent": (0, 0)}


@needs_minilm
def test_ending_again_counts_nothing_again(embedder: MiniLM) -> None:
    assert counts(OTHERWISE, embedder=embedder, ends=2)[HIKES] == (0, 1)


@needs_minilm
def test_what_the_words_were_counted_for_is_not_counted_by_meaning(embedder: MiniLM) -> None:
    assert counts("You like hiking in the mountains with the children.", embedder=embedder)[HIKES] == (1, 1)


@needs_minilm
def test_a_reply_with_a_mark_uses_what_it_names_and_nothing_else(embedder: MiniLM) -> None:
    assert counts(f"{OTHERWISE} [mem:00000000]", embedder=embedder)[HIKES] == (0, 0)


@needs_minilm
@pytest.mark.parametrize("settings", [Settings(citation_nearness=None), Settings(citation_overlap=None)])
def test_it_can_be_turned_off(embedder: MiniLM, settings: Settings) -> None:
    assert counts(OTHERWISE, embedder=embedder, settings=settings)[HIKES] == (0, 0)


@pytest.mark.parametrize("other", [None, HashEmbedder()])
def test_without_an_embedder_that_thresholds_were_chosen_for_words_alone_count(other: Embedder | None) -> None:
    assert counts(OTHERWISE, embedder=other)[HIKES] == (0, 0)
