"""With review, nothing comes to be known by itself."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from bethink import Conflict, Memory, NotFound, Settings
from bethink.testing.doubles import FrozenClock

DAY = timedelta(days=1)
REVIEWED = Settings(review=True)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Iterator[Memory]:
    path = ":memory:" if request.param == "memory" else tmp_path / "memory.db"
    with Memory(path, clock=clock, embedder=None, settings=REVIEWED) as opened:
        yield opened
        assert opened.check() == []


def say(memory: Memory, clock: FrozenClock, *texts: str) -> None:
    for text in texts:
        memory.thread("t").add("user", text)
        clock.advance(DAY)


def waiting(memory: Memory) -> list[str]:
    return [proposal.text for proposal in memory.pending()]


def profile(memory: Memory) -> list[str]:
    return sorted(insight.text for insight in memory.profile())


def approve_all(memory: Memory) -> list[str]:
    return [record.text for record in memory.approve(*[proposal.id for proposal in memory.pending()])]


class TestPending:
    def test_what_was_drawn_waits_and_is_in_no_profile_recall_or_context(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I'm allergic to peanuts.")
        assert waiting(memory) == ["allergic to peanuts"]
        assert profile(memory) == []
        assert memory.records(current=False) == []
        assert [hit.kind for hit in memory.recall("peanuts")] == ["message"]
        shown = memory.thread("new").context("what about peanuts").lines
        assert not [line for line in shown if line.section == "profile"]

    def test_the_summary_of_an_end_waits(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "We decided to take the night train to Lisbon.")
        summary = memory.thread("t").end()
        assert summary is not None
        assert memory.thread("t").end() == summary
        assert memory.records("summary") == []
        approve_all(memory)
        assert [record.id for record in memory.records("summary")] == [summary.id]

    def test_an_episode_waits_too(self, memory: Memory, clock: FrozenClock) -> None:
        thread = memory.thread("t")
        thread.add("user", "Our goal is to migrate the billing service.")
        thread.add("user", "We decided to use blue-green deploys, because the shop must stay open.")
        thread.add("user", "Perfect, that worked.")
        thread.end()
        assert [each.proposed.kind for each in memory.pending()].count("episode") == 1
        assert memory.records("episode") == []
        approve_all(memory)
        assert [episode.thread_id for episode in memory.episodes()] == ["t"]

    def test_what_changes_nothing_does_not_wait(self, memory: Memory, clock: FrozenClock) -> None:
        memory.pending()
        say(memory, clock, "The weather is fine.")
        assert waiting(memory) == []

    def test_it_survives_a_restart(self, tmp_path: Path, clock: FrozenClock) -> None:
        with Memory(tmp_path / "m.db", clock=clock, embedder=None, settings=REVIEWED) as memory:
            say(memory, clock, "I live in Porto.")
            before = memory.pending()
        with Memory(tmp_path / "m.db", clock=clock, embedder=None, settings=REVIEWED) as memory:
            assert memory.pending() == before
            memory.approve(before[0].id)
        with Memory(tmp_path / "m.db", clock=clock, embedder=None) as memory:
            assert profile(memory) == ["lives in Porto"]

    def test_it_is_forgotten_with_its_sources(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        (proposal,) = memory.pending()
        memory.forget(message=memory.thread("t").messages()[0].id)
        assert waiting(memory) == []
        assert memory.verify("lives in Porto", "I live in Porto").clean
        with pytest.raises(NotFound):
            memory.approve(proposal.id)

    def test_a_summary_that_waits_loses_the_lines_of_what_is_forgotten(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "We decided to take the night train to Lisbon.", "We decided to book the Alfama hotel.")
        memory.thread("t").end()
        first, second = (message.id for message in memory.thread("t").messages())
        memory.forget(message=first)
        (left,) = [each for each in memory.pending() if each.proposed.kind == "summary"]
        assert {source.message_id for source in left.sources} == {second}
        assert "train" not in left.text

    def test_it_goes_with_its_thread(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "We decided to take the night train to Lisbon.")
        memory.thread("t").end()
        memory.forget(thread="t")
        assert waiting(memory) == []

    def test_another_namespace_has_its_own(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        (proposal,) = memory.pending()
        assert memory.user("other").pending() == []
        with pytest.raises(NotFound):
            memory.user("other").approve(proposal.id)


class TestApprove:
    def test_what_is_approved_comes_to_be_known_then(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        before = clock.now()
        clock.advance(DAY)
        assert approve_all(memory) == ["lives in Porto"]
        (insight,) = memory.profile()
        assert (insight.recorded_at, [source.thread_id for source in insight.sources]) == (clock.now(), ["t"])
        assert not memory.profile(as_of=before)
        assert waiting(memory) == []

    def test_it_supersedes_what_is_known_by_then(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        approve_all(memory)
        say(memory, clock, "I moved to Ghent.")
        assert profile(memory) == ["lives in Porto"]
        approve_all(memory)
        assert profile(memory) == ["lives in Ghent"]

    def test_the_order_of_approvals_does_not_matter(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.", "I moved to Ghent.")
        older, newer = memory.pending()
        memory.approve(newer.id)
        memory.approve(older.id)
        assert profile(memory) == ["lives in Ghent"]
        assert [entry.record.text for entry in memory.history("residence")] != []

    def test_all_of_it_or_none(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.", "I like tea.")
        first, second = memory.pending()
        memory.reject(second.id)
        with pytest.raises(Conflict, match="rejected"):
            memory.approve(first.id, second.id)
        assert profile(memory) == []
        assert waiting(memory) == ["lives in Porto"]

    def test_again_it_changes_nothing(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        (proposal,) = memory.pending()
        memory.approve(proposal.id)
        before = memory.records(current=False)
        clock.advance(DAY)
        assert memory.approve(proposal.id) == []
        assert memory.records(current=False) == before

    def test_of_several_at_once_one_does_it(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        (proposal,) = memory.pending()
        with ThreadPoolExecutor(6) as pool:
            done = list(pool.map(lambda _: memory.approve(proposal.id), range(6)))
        assert sorted(len(records) for records in done) == [0, 0, 0, 0, 0, 1]
        assert [change.what for change in memory.changes()] == ["drawn", "reviewed"]

    def test_it_can_be_undone_and_then_waits_again(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        (record,) = memory.approve(memory.pending()[0].id)
        memory.undo(record.id)
        assert profile(memory) == []
        assert waiting(memory) == ["lives in Porto"]
        approve_all(memory)
        assert profile(memory) == ["lives in Porto"]

    def test_a_mark_will_do(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        memory.approve(f"mem:{memory.pending()[0].id.replace('-', '')[-8:]}")
        assert profile(memory) == ["lives in Porto"]

    def test_what_is_no_proposal_is_not_found(self, memory: Memory, clock: FrozenClock) -> None:
        note = memory.store("the key is in the shed")
        for wrong in (note.id, "019bea82-cf80-7db8-b808-604b99e76e19"):
            with pytest.raises(NotFound):
                memory.approve(wrong)
            with pytest.raises(NotFound):
                memory.reject(wrong)


class TestReject:
    def test_what_is_rejected_is_not_known_and_not_drawn_again(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        (proposal,) = memory.pending()
        assert [each.id for each in memory.reject(proposal.id)] == [proposal.id]
        memory.thread("t").end()
        assert "lives in Porto" not in waiting(memory)
        assert profile(memory) == []

    def test_again_it_changes_nothing(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        (proposal,) = memory.pending()
        memory.reject(proposal.id)
        assert memory.reject(proposal.id) == []

    def test_what_was_approved_is_not_rejected(self, memory: Memory, clock: FrozenClock) -> None:
        say(memory, clock, "I live in Porto.")
        (proposal,) = memory.pending()
        memory.approve(proposal.id)
        with pytest.raises(Conflict, match="approved"):
            memory.reject(proposal.id)
        assert profile(memory) == ["lives in Porto"]
