"""As of any time, a memory answers what a copy of its database answered then."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from bethink import Insight, Memory, Settings, Summary
from bethink.retrieval.grouping import Unit
from bethink.testing.doubles import START, FrozenClock, HashEmbedder

SETTINGS = Settings(profile_size=4)
TOLD = (
    *("I live in Porto.", "I moved to Ghent.", "I moved to Lisbon.", "Actually it's Berlin, not Ghent."),
    *("I'm allergic to peanuts.", "I like coffee.", "I don't like coffee any more.", "I love tea.", "I prefer Vim to Emacs."),
    *("I work at Acme.", "I work at Globex now.", "My name is Mara.", "I'm vegetarian.", "My sister Ana lives in Braga."),
    *("I have a dog.", "My favourite colour is green.", "I use Linux.", "I switched from Vim to Emacs."),
)
ASKED = ("where does she live", "what does Mara like", "coffee or tea", "Acme work")
UNITS: tuple[Unit, ...] = ("message", "turn", "session", "record")


class History:
    """A random history of one memory, with a copy of its file after each step."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.clock = FrozenClock()
        self.folder = folder
        self.memory = self.open(folder / "memory.db")
        self.threads = 0
        self.times = [START]

    def open(self, path: Path, clock: FrozenClock | None = None) -> Memory:
        return Memory(path, clock=clock or self.clock, settings=SETTINGS, embedder=HashEmbedder())

    def step(self) -> None:
        """Something happens, and somebody asks."""
        self.clock.advance(timedelta(hours=self.random.randint(1, 90)))
        acts = (self.say, self.say, self.say, self.cite, self.reply, self.end, self.note, self.fork)
        self.random.choice(acts)()
        self.memory.profile()
        self.memory.flush()
        self.times.append(self.clock.now())

    def thread(self) -> str:
        if self.threads == 0 or self.random.random() < 0.2:
            self.threads += 1
        return f"t{self.random.randint(1, self.threads)}"

    def say(self) -> None:
        name = self.random.choice((None, "Mara", "Tom"))
        self.memory.thread(self.thread()).add("user", self.random.choice(TOLD), name=name)

    def cite(self) -> None:
        records = self.memory.records("insight", current=False)
        if records:
            self.memory.cite(self.random.choice(records).id)

    def reply(self) -> None:
        records = self.memory.records()
        mark = f" [mem:{self.random.choice(records).id.replace('-', '')[-8:]}]" if records else ""
        self.memory.thread(self.thread()).add("assistant", f"As you said.{mark}")

    def end(self) -> None:
        thread = self.memory.thread(self.thread())
        if thread.messages():
            thread.end()

    def note(self) -> None:
        self.memory.store(f"wifi code {self.random.randint(1, 9)} in Porto")

    def fork(self) -> None:
        thread = self.memory.thread(self.thread())
        tip = len(thread.messages())
        if tip:
            self.threads += 1
            thread.fork(tip, thread_id=f"t{self.threads}")

    def forget(self) -> str | None:
        """Forget some message for good, in whatever copy there is of it; its id."""
        infos = self.memory.threads()
        messages = self.memory.thread(self.random.choice(infos).thread_id).messages() if infos else []
        if not messages:
            return None
        forgotten = self.random.choice(messages).id
        self.memory.forget(message=forgotten)
        return forgotten

    def copy(self, name: str) -> Path:
        """A copy of the file. By another process: to close a file lets go of the locks that this one holds."""
        target = self.folder / f"{name}.db"
        for suffix in ("", "-wal"):
            if (self.folder / f"memory.db{suffix}").exists():
                subprocess.run(["cp", str(self.folder / f"memory.db{suffix}"), f"{target}{suffix}"], check=True)
        return target


def answers(memory: Memory, as_of: datetime | None) -> object:
    """What the memory tells of itself."""
    profiles = [
        [(entry.insight, round(entry.score, 9)) for entry in memory.profile(subject, as_of=as_of).entries]
        for subject in ("user", "mara", "ana")
    ]
    recalled = [
        [
            (hit.kind, hit.id, hit.thread_id, hit.text, hit.score, [(each.id, each.score) for each in hit.members])
            for hit in memory.recall(query, 5, unit=unit, as_of=as_of)
        ]
        for query, unit in zip(ASKED, UNITS, strict=True)
    ]
    return profiles, recalled


@pytest.fixture(params=range(2))
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[History]:
    history = History(tmp_path, request.param)
    with closing(history.memory):
        yield history


def copies_of(history: History, steps: int, times: int) -> dict[datetime, Path]:
    """Random times, each with the copy of the file that there was then."""
    wanted = sorted(history.random.sample(range(steps * 10), times))
    taken: dict[datetime, Path] = {}
    for number in range(steps):
        history.step()
        within = [each for each in wanted if each // 10 == number]
        if within:
            path = history.copy(f"copy{number}")
            taken.update((history.clock.now() + timedelta(minutes=each % 10), path) for each in within)
    history.step()
    return taken


def test_as_of_any_of_50_times_is_what_a_copy_of_the_database_answered_then(history: History) -> None:
    for at, path in copies_of(history, 80, 50).items():
        with closing(history.open(path, FrozenClock(at))) as copy:
            assert answers(history.memory, at) == answers(copy, None), at


def test_what_was_forgotten_since_is_as_if_the_copy_had_forgotten_it_too(history: History) -> None:
    copies = copies_of(history, 30, 12)
    forgotten = [name for name in (history.forget() for _ in range(3)) if name]
    for at, path in copies.items():
        with closing(history.open(path, FrozenClock(at))) as copy:
            for name in forgotten:
                if any(message.id == name for info in copy.threads() for message in copy.thread(info.thread_id).messages()):
                    copy.forget(message=name)
            copy.flush()
            assert answers(history.memory, at) == answers(copy, None), at


def standing(memory: Memory) -> dict[str, Insight | Summary]:
    """What is current of what is drawn and summed up, without how often it was used."""
    records = [record for record in memory.records() if isinstance(record, Insight | Summary)]
    return {record.id: msgspec.structs.replace(record, access_count=0, last_accessed=None) for record in records}


def test_undoing_the_newest_change_leaves_what_stood_before(history: History) -> None:
    for _ in range(40):
        before, known = standing(history.memory), len(history.memory.changes())
        history.step()
        for change in reversed(history.memory.changes()[known:]):
            history.memory.undo(change.id)
        assert standing(history.memory) == before
        if history.random.random() < 0.5:
            history.step()
    assert history.memory.check() == []


def test_a_question_as_of_a_time_draws_nothing_from_messages(history: History) -> None:
    for _ in range(20):
        history.step()
    history.say()
    history.memory.flush()
    before = history.memory.stats()
    answers(history.memory, history.times[5])
    assert history.memory.stats() == before
