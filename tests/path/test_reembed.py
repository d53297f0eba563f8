"""Another embedding model while everybody goes on: what is searched meanwhile, what an interrupt leaves, who is told what."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from bethink import AsyncMemory, Conflict, EmbedderMismatch, EmbeddingFailed, Memory, MissingExtra, Settings
from bethink.cli.app import app
from bethink.models import Embedder, Fingerprint
from bethink.storage.sqlite import SqliteStore
from bethink.testing.doubles import HashEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OLD, NEW, OTHER = HashEmbedder(), HashEmbedder(16, "new"), HashEmbedder(32, "other")
COUNT = 30


class Batches:
    """An embedder that does something before each batch but the probes, and takes few texts at a time."""

    batch_size = 4

    def __init__(self, inner: HashEmbedder, before: Callable[[int], object]) -> None:
        self._inner, self._before = inner, before
        self.batches = 0
        self.texts: list[str] = []

    @property
    def fingerprint(self) -> Fingerprint:
        return self._inner.fingerprint

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches += 1
        self._before(self.batches)
        self.texts += texts
        return self._inner.embed(texts)


def interrupted_at(batch: int, inner: HashEmbedder = NEW) -> Batches:
    def before(number: int) -> None:
        if number == batch:
            raise KeyboardInterrupt

    return Batches(inner, before)


def text(number: int) -> str:
    return f"a note about word{number} thing{number}"


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A file of two namespaces, with vectors of the old model. Sound at the end."""
    path = tmp_path / "a.db"
    with opened(path, OLD) as memory:
        for number in range(COUNT):
            (memory if number % 2 else memory.user("mara")).thread("t").add("user", text(number))
        memory.flush()
    yield path
    with closing(SqliteStore(path)) as store:
        assert store.check() == []


def opened(path: Path, embedder: Embedder | Sequence[Embedder | str] | str | None) -> Memory:
    return Memory(path, embedder=embedder, namespace=("acme",), durability="normal")


def vectors(path: Path) -> list[tuple[str, str, int, int]]:
    with closing(SqliteStore(path)) as store:
        return [(each.fingerprint.name, each.state, each.vectors, each.pending) for each in store.spaces()]


def by_meaning(memory: Memory) -> set[str]:
    """What of the whole is found by meaning."""
    found = [
        hit for each in (memory, memory.user("mara")) for hit in each.recall("a note about", k=COUNT) if hit.scores.get("dense")
    ]
    return {hit.text for hit in found}


# -- the change -----------------------------------------------------------------------------------------------------------


def test_reembed_makes_the_vectors_of_the_whole_database_and_changes_over(path: Path) -> None:
    with opened(path, NEW) as memory:
        assert memory.user("mara").reembed() == COUNT
        assert by_meaning(memory) == {text(number) for number in range(COUNT)}
        assert memory.stats().embedder == NEW.fingerprint
    assert vectors(path) == [("new", "current", COUNT, 0)]


def test_while_it_runs_the_old_model_is_searched_as_before(path: Path) -> None:
    with opened(path, OLD) as old:
        before = old.recall("word3 thing3")
        found = []
        model = Batches(NEW, lambda _: found.append(old.recall("word3 thing3")))
        with opened(path, model) as new:
            new.reembed()
        assert len(found) >= COUNT // 4
        assert all(each == before for each in found)


def test_a_memory_that_uses_the_old_model_changes_by_itself(path: Path) -> None:
    with opened(path, OLD) as memory:
        before, found = memory.recall("word3 thing3"), []
        model = Batches(NEW, lambda number: found.append(memory.recall("word3 thing3")) if number <= COUNT // 4 else None)
        assert memory.reembed(model) == COUNT
        assert len(found) == COUNT // 4
        assert all(each == before for each in found)
        assert memory.recall("word3 thing3")[0].text == text(3)
        assert memory.stats().embedder == NEW.fingerprint
        memory.thread("t").add("user", "a later thing")
        assert memory.flush() == 1
        assert model.texts[-1] == "a later thing"


def test_who_has_both_models_goes_on_after_the_change(path: Path) -> None:
    with opened(path, [NEW, OLD]) as both, opened(path, NEW) as new:
        assert both.recall("word3 thing3")[0].text == text(3)
        assert vectors(path) == [("hash", "current", COUNT, 0)]
        new.reembed()
        assert both.recall("word3 thing3")[0].text == text(3)
        both.thread("t").add("user", "a later thing")
        assert both.flush() == 1
        assert vectors(path) == [("new", "current", COUNT + 1, 0)]


def test_a_new_database_takes_the_first_of_several(tmp_path: Path) -> None:
    with opened(tmp_path / "b.db", [NEW, OLD]) as memory:
        memory.thread("t").add("user", "hello")
        memory.flush()
        assert memory.stats().embedder == NEW.fingerprint


def test_V071_who_has_the_old_model_alone_is_told_after_the_change(path: Path) -> None:
    with opened(path, OLD) as old, opened(path, OTHER) as new:
        assert old.recall("word3 thing3")
        new.reembed()
        old.thread("t").add("user", "said by who has the old model")
        for act in (lambda: old.recall("word3 thing3"), old.flush, lambda: old.thread("t").context()):
            with pytest.raises(EmbedderMismatch) as refused:
                act()
            assert (refused.value.bound, refused.value.given) == (OTHER.fingerprint, OLD.fingerprint)
            assert "other (32 dimensions)" in str(refused.value)
            assert "bethink reembed" in str(refused.value)
        assert new.recall("said by who has the old model")[0].text == "said by who has the old model"


def test_who_has_the_new_model_alone_finds_by_meaning_what_is_there_and_the_rest_by_words(path: Path) -> None:
    with opened(path, interrupted_at(3)) as memory, pytest.raises(KeyboardInterrupt):
        memory.reembed()
    # What is recalled from is embedded first, as always, unless nothing may be.
    with Memory(path, embedder=NEW, namespace=("acme",), settings=Settings(embed_at_recall=0)) as memory:
        found = [each.recall("a note about", k=COUNT) for each in (memory, memory.user("mara"))]
        assert sum(each.pending for each in found) == COUNT - 8
        assert len(by_meaning(memory)) == 8
        assert {memory.recall(f"word{number}")[0].text for number in range(1, COUNT, 2)} == {
            text(n) for n in range(1, COUNT, 2)
        }
    assert vectors(path) == [("hash", "current", COUNT, 0), ("new", "filling", 8, COUNT - 8)]
    with opened(path, NEW) as memory:
        assert memory.recall("a note about").pending == 0


def test_without_a_change_another_model_is_refused_as_ever(path: Path) -> None:
    with opened(path, interrupted_at(2)) as memory, pytest.raises(KeyboardInterrupt):
        memory.reembed()
    with opened(path, OTHER) as memory, pytest.raises(EmbedderMismatch, match="bethink reembed") as refused:
        memory.recall("word3")
    assert "not of other (32 dimensions), and is about to change to new (16 dimensions)" in str(refused.value)


def test_no_embedder_is_told_what_to_install(path: Path) -> None:
    with opened(path, None) as memory, pytest.raises(MissingExtra):
        memory.reembed()


# -- interrupts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 2, 5, 8])
def test_it_goes_on_where_it_was_interrupted(path: Path, batch: int) -> None:
    stopped = interrupted_at(batch)
    with opened(path, stopped) as memory, pytest.raises(KeyboardInterrupt):
        memory.reembed()
    assert vectors(path)[1] == ("new", "filling", 4 * (batch - 1), COUNT - 4 * (batch - 1))
    told: list[int] = []
    again = Batches(NEW, lambda _: None)
    with opened(path, again) as memory:
        assert memory.reembed(progress=told.append) == COUNT - 4 * (batch - 1)
    assert not set(stopped.texts) & set(again.texts)
    assert told[0] == 4 * (batch - 1)
    assert sum(told) == COUNT
    assert vectors(path) == [("new", "current", COUNT, 0)]


def test_another_target_begins_anew_and_drops_the_unfinished(path: Path) -> None:
    with opened(path, interrupted_at(4)) as memory, pytest.raises(KeyboardInterrupt):
        memory.reembed()
    with opened(path, OTHER) as memory:
        assert memory.reembed() == COUNT
    assert vectors(path) == [("other", "current", COUNT, 0)]


def test_the_old_model_as_the_target_drops_the_unfinished_and_makes_nothing(path: Path) -> None:
    with opened(path, interrupted_at(4)) as memory, pytest.raises(KeyboardInterrupt):
        memory.reembed()
    with opened(path, OLD) as memory:
        assert memory.reembed() == 0
        assert memory.recall("word3 thing3")[0].text == text(3)
    assert vectors(path) == [("hash", "current", COUNT, 0)]


def test_a_model_that_fails_half_way_leaves_all_as_it_was_and_what_it_made(path: Path) -> None:
    def fails(number: int) -> None:
        if number == 3:
            raise EmbeddingFailed("new", "it is down", "try again")

    with opened(path, OLD) as memory:
        with pytest.raises(EmbeddingFailed):
            memory.reembed(Batches(NEW, fails))
        assert memory.recall("word3 thing3")[0].text == text(3)
        assert memory.reembed(NEW) == COUNT - 8
    assert vectors(path) == [("new", "current", COUNT, 0)]


_KILLED = """
import os, signal, sys
from test_reembed import NEW, Batches, opened

def before(number):
    if number == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

with opened(sys.argv[1], Batches(NEW, before)) as memory:
    memory.reembed()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_it_goes_on_after_kill_9(path: Path) -> None:
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    ended = subprocess.run([sys.executable, "-c", _KILLED, str(path), "5"], env=here, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert vectors(path) == [("hash", "current", COUNT, 0), ("new", "filling", 16, COUNT - 16)]
    with opened(path, NEW) as memory:
        assert memory.reembed() == COUNT - 16
    assert vectors(path) == [("new", "current", COUNT, 0)]


def test_what_an_interrupt_after_the_change_leaves_is_swept_by_the_next_flush(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: SqliteStore) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, opened(path, NEW) as memory:
        patched.setattr(SqliteStore, "sweep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            memory.reembed()
        assert memory.recall("word3 thing3")[0].text == text(3)
    assert rows(path) == 2 * COUNT
    with opened(path, NEW) as memory:
        assert memory.flush() == 0
    assert rows(path) == COUNT


def rows(path: Path) -> int:
    with closing(SqliteStore(path)) as store, store._readers.reading() as database:
        assert store.check() == []
        count: int = database.execute("SELECT count(*) FROM vectors")[0][0]
        return count


# -- others meanwhile -----------------------------------------------------------------------------------------------------


def test_what_is_said_and_forgotten_meanwhile_is_so_in_both(path: Path) -> None:
    with opened(path, OLD) as old:

        def meanwhile(number: int) -> None:
            if number == 3:
                thread = old.thread("late")
                for each in range(6):
                    thread.add("user", f"late {each} word{each + 100}")
                old.forget(message=old.recall("word3 thing3")[0].id)
                assert old.recall("word102")[0].text == "late 2 word102"

        with opened(path, Batches(NEW, meanwhile)) as new:
            new.reembed()
            assert new.stats().pending == 0
            assert new.recall("word102")[0].text == "late 2 word102"
            assert text(3) not in by_meaning(new)
    assert vectors(path) == [("new", "current", COUNT + 5, 0)]


def test_somebody_who_writes_all_the_time_does_not_keep_it_from_its_end(path: Path) -> None:
    with opened(path, OLD) as old:
        model = Batches(NEW, lambda number: old.thread("late").add("user", f"late {number}"))
        with opened(path, model) as new:
            assert new.reembed() > COUNT
    assert vectors(path)[0][:2] == ("new", "current")


def test_a_change_that_another_one_has_replaced_says_so(path: Path) -> None:
    with opened(path, OTHER) as other:

        def meanwhile(number: int) -> None:
            if number == 3:
                other.reembed()

        with opened(path, Batches(NEW, meanwhile)) as new, pytest.raises(Conflict, match="another model"):
            new.reembed()
        assert other.recall("word3 thing3")[0].text == text(3)
    assert vectors(path) == [("other", "current", COUNT, 0)]


def test_two_that_change_to_the_same_model_both_come_to_the_end(path: Path) -> None:
    start = threading.Barrier(2)

    def change() -> int:
        with opened(path, NEW) as memory:
            start.wait()
            return memory.reembed()

    with ThreadPoolExecutor(2) as pool:
        done = [each.result() for each in [pool.submit(change), pool.submit(change)]]
    assert COUNT <= sum(done) <= 2 * COUNT
    assert vectors(path) == [("new", "current", COUNT, 0)]


def test_threads_of_a_memory_recall_throughout_its_change(path: Path) -> None:
    with opened(path, OLD) as memory, ThreadPoolExecutor(4) as pool:
        changed = pool.submit(memory.reembed, Batches(OTHER, lambda _: None))
        found = []
        while not changed.done():
            found.append(memory.recall("word3 thing3")[0].text)
        found.append(memory.recall("word3 thing3")[0].text)
        assert changed.result() == COUNT
        assert set(found) == {text(3)}


def test_an_event_loop_goes_on_meanwhile(path: Path) -> None:
    async def change() -> tuple[int, str]:
        memory = AsyncMemory(path, embedder=OLD, namespace=("acme",), durability="normal")
        try:
            done, found = await asyncio.gather(memory.reembed(NEW), memory.recall("word3 thing3"))
            return done, found[0].text
        finally:
            await memory.close()

    assert asyncio.run(change()) == (COUNT, text(3))


_BESIDE = """
import sys
from test_reembed import NEW, OLD, opened
from bethink import EmbedderMismatch

with opened(sys.argv[1], OLD if sys.argv[2] == "old" else [NEW, OLD]) as memory:
    for _ in sys.stdin:
        try:
            print(memory.recall("word3 thing3")[0].text, flush=True)
        except EmbedderMismatch as refusal:
            print("refused:", refusal.bound.name, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("has", "then"), [("old", "refused: new"), ("both", text(3))])
def test_another_process_searches_on_until_the_change_and_then_is_told_or_goes_on(path: Path, has: str, then: str) -> None:
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", _BESIDE, str(path), has]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=here) as beside:
        assert beside.stdin is not None
        assert beside.stdout is not None

        def asked() -> str:
            print("", file=beside.stdin, flush=True)
            assert beside.stdout is not None
            return beside.stdout.readline().strip()

        assert asked() == text(3)
        found: list[str] = []
        with opened(path, Batches(NEW, lambda number: found.append(asked()) if number <= 3 else None)) as memory:
            memory.reembed()
        assert found == [text(3)] * 3
        assert asked() == then
        beside.stdin.close()
        assert beside.wait(60) == 0


# -- the command line -----------------------------------------------------------------------------------------------------


def test_the_command_says_how_far_it_came_and_goes_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named: dict[str, Embedder] = {"new": interrupted_at(4), "old": OLD}
    monkeypatch.setattr("bethink.models.named.embedder_named", lambda name: named[name])

    def bethink(*arguments: str, embedder: str = "new") -> Any:
        options = ("--db", str(path), "--namespace", "acme", "--embedder", embedder)
        return CliRunner().invoke(app, [*arguments, *options])

    stopped = bethink("reembed")
    assert stopped.exit_code == 130
    assert stopped.stderr.startswith("bethink: interrupted: 12 of 30 vectors are there; the old ones serve until all are")
    stats = " ".join(bethink("stats", embedder="old").stdout.split())
    assert "hash, 32 dimensions; 12 of 30 made for new" in stats
    assert text(3) in bethink("recall", "word3 thing3", embedder="old").stdout
    named["new"] = Batches(NEW, lambda _: None)
    assert json.loads(bethink("reembed", "--json").stdout) == {
        "embedded": 18,
        "vectors": 30,
        "embedder": {"name": "new", "dimension": 16, "probe": NEW.fingerprint.probe},
    }
    assert " ".join(bethink("reembed").stdout.split()) == "0 vectors made; all 30 are of new (16 dimensions)."
    refused = bethink("recall", "word3", embedder="old")
    assert (refused.exit_code, "bethink reembed" in refused.stderr) == (5, True)
