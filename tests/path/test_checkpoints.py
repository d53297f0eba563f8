"""Checkpoints as users hold them: save, reopen, resume, fork, prune; what is refused, and what damage leaves readable."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from bethink import AsyncMemory, Checkpoint, Conflict, CorruptStore, ImportFailed, InvalidInput, Memory, NotFound, Thread
from bethink.checkpoints import MAX_BYTES, line_of, relinked
from bethink.cli.app import app
from bethink.storage.reference import ReferenceStore
from bethink.storage.sqlite import SqliteStore
from bethink.storage.sqlite.driver import Database
from bethink.testing.doubles import FrozenClock
from bethink.threads import ForkPoint

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc_é", max_size=3), inner, max_size=3),
    max_leaves=10,
)


def opened(path: Path) -> Memory:
    return Memory(path, clock=FrozenClock(), embedder=None, namespace=("acme", "ada"))


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[Thread]:
    with opened(tmp_path / "memory.db") as memory:
        thread = memory.thread("trip")
        thread.add("user", "Where shall we eat?", id="m1")
        yield thread
        assert memory.check() == []


# -- save and resume ------------------------------------------------------------------------------------------------------


def test_what_was_saved_is_resumed_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    state = bytes(range(256)) + b"\xff\x00" * 100
    with opened(path) as memory:
        thread = memory.thread("trip")
        thread.add("user", "Where shall we eat?")
        saved = thread.checkpoint(state, format="langgraph", label="asked", view={"step": 1}, metadata={"source": "loop"})
    with opened(path) as memory:
        assert memory.thread("trip").resume() == saved
        assert memory.thread("trip").resume(saved.id).state == state
        assert memory.check() == []


def test_the_newest_is_resumed_unless_another_is_named(thread: Thread) -> None:
    first = thread.checkpoint({"step": 1})
    second = thread.checkpoint({"step": 2})
    assert (second.parent_id, first.parent_id) == (first.id, None)
    assert thread.resume().value == {"step": 2}
    assert thread.resume(first.id).value == {"step": 1}


def test_a_thread_may_begin_with_a_state(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as memory:
        saved = memory.thread("new").checkpoint(["ready"])
        assert (saved.seq, memory.thread("new").resume().value) == (0, ["ready"])
        assert memory.thread("new").info().count == 0


def test_a_state_that_is_no_json_has_no_value(thread: Thread) -> None:
    saved = thread.checkpoint(b"\x93\x01\x02\x03", format="msgpack")
    with pytest.raises(InvalidInput, match="msgpack"):
        _ = saved.value


def test_a_list_shows_them_newest_first_without_their_states(thread: Thread) -> None:
    saved = [thread.checkpoint({"step": step}, label=f"step {step}", view={"step": step}) for step in range(4)]
    found = thread.checkpoints()
    assert [each.label for each in found] == ["step 3", "step 2", "step 1", "step 0"]
    assert not any(isinstance(each, Checkpoint) for each in found)
    assert [each.id for each in thread.checkpoints(2)] == [saved[3].id, saved[2].id]
    assert thread.checkpoints(0) == []
    with pytest.raises(InvalidInput, match="limit"):
        thread.checkpoints(-1)


def test_saving_again_under_an_id_is_a_retry_or_a_conflict(thread: Thread) -> None:
    saved = thread.checkpoint({"step": 1}, id="run-1")
    assert thread.checkpoint({"step": 1}, id="run-1") == saved
    with pytest.raises(Conflict):
        thread.checkpoint({"step": 2}, id="run-1")
    assert len(thread.checkpoints()) == 1


@pytest.mark.parametrize("make", [ReferenceStore, None], ids=["memory", "file"])
def test_V045_what_is_changed_after_the_call_is_not_in_the_checkpoint(
    tmp_path: Path, make: Callable[[], ReferenceStore] | None
) -> None:
    state: dict[str, Any] = {"list": [1]}
    view, metadata = {"list": [1]}, {"list": [1]}
    buffer = bytearray(b"bytes")
    store = make() if make else SqliteStore(tmp_path / "memory.db")
    with Memory(store=store, embedder=None) as memory:
        thread = memory.thread("t")
        saved = [thread.checkpoint(state, view=view, metadata=metadata), thread.checkpoint(buffer, format="x")]
        for changed in (state, view, metadata):
            changed["list"].append(2)
        buffer[:] = b"other"
        assert [thread.resume(each.id) for each in saved] == saved
        assert (saved[0].value, saved[0].view, saved[0].metadata) == ({"list": [1]},) * 3
        assert saved[1].state == b"bytes"


def test_V020_a_cancelled_save_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with AsyncMemory(tmp_path / "memory.db", embedder=None) as memory:
            thread = memory.thread("t")
            for attempt in range(20):
                task = asyncio.create_task(thread.checkpoint({"step": attempt}, id=f"c{attempt}"))
                await asyncio.sleep(0.0003 * (attempt % 5))
                task.cancel()
                # It may also be done before it is cancelled.
                with suppress(asyncio.CancelledError):
                    await task
            found = await thread.checkpoints()
            states = [await thread.resume(each.id) for each in found]
            assert [f"c{each.value['step']}" for each in states] == [each.id for each in found]
            assert await memory.check() == []

    asyncio.run(run())


def test_V045_nor_while_the_call_runs(tmp_path: Path) -> None:
    async def run() -> None:
        async with AsyncMemory(tmp_path / "memory.db", embedder=None) as memory:
            state: dict[str, Any] = {"list": [1]}
            task = asyncio.create_task(memory.thread("t").checkpoint(state, view=state))
            await asyncio.sleep(0)
            state["list"].append(2)
            saved = await task
            assert (saved.value, saved.view) == ({"list": [1]}, {"list": [1]})

    asyncio.run(run())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(state=st.binary(max_size=20_000))
def test_any_bytes_come_back_as_they_were(thread: Thread, state: bytes) -> None:
    saved = thread.checkpoint(state, format="opaque")
    assert thread.resume(saved.id).state == state


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(state=json_values, view=st.dictionaries(st.text("abc", max_size=3), json_values, max_size=3))
def test_any_json_comes_back_equal(thread: Thread, state: Any, view: dict[str, Any]) -> None:
    saved = thread.checkpoint(state, view=view, metadata=view)
    found = thread.resume(saved.id)
    assert json.dumps(found.value) == json.dumps(state)
    assert json.dumps([found.view, found.metadata]) == json.dumps([view, view])


# -- what cannot be taken -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "options", "field"),
    [
        (b"\x93", {}, "state"),
        (b'{"a": ', {}, "state"),
        (b"\xff", {}, "state"),
        ({1: 2}, {}, "state"),
        (object(), {}, "state"),
        (float("nan"), {}, "state"),
        ({"a": {1, 2}}, {}, "state.a"),
        ({"a": 1}, {"format": "msgpack"}, "state"),
        (b"", {"format": ""}, "format"),
        (b"x" * (MAX_BYTES + 1), {"format": "x"}, "state"),
        ("x" * MAX_BYTES, {}, "state"),
        (None, {"view": {"a": b"b"}}, "view.a"),
        (None, {"view": [1]}, "view"),
        (None, {"metadata": {"a": "x" * MAX_BYTES}}, "metadata"),
        (None, {"label": "a\x00"}, "label"),
        (None, {"parent": "nothing"}, "parent_id"),
        (None, {"parent": ""}, "parent"),
    ],
)
def test_what_cannot_be_taken_is_named_and_nothing_is_written(
    thread: Thread, state: Any, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        thread.checkpoint(state, **options)
    assert caught.value.field == field
    assert thread.checkpoints() == []


_circular: dict[str, Any] = {}
_circular["itself"] = _circular


@pytest.mark.parametrize(
    "value",
    [
        Decimal("1.5"),
        AT,
        AT.date(),
        UUID(int=1),
        b"bytes",
        {1},
        (1,),
        math.nan,
        math.inf,
        2**70,
        {1: 2},
        _circular,
        ForkPoint("t", 1),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("field", ["state", "view", "metadata"])
def test_V109_V110_what_json_has_no_form_for_is_refused_by_its_path(thread: Thread, field: str, value: object) -> None:
    options: dict[str, Any] = {"state": None, field: {"deep": [0, {"at": value}]}}
    with pytest.raises(InvalidInput) as caught:
        thread.checkpoint(**options)
    assert caught.value.field.startswith(f"{field}.deep[1].at")
    assert thread.checkpoints() == []


@pytest.mark.parametrize("format", ["pickle", "msgpack", "yaml"])
def test_V100_a_state_is_inert_whatever_it_says(thread: Thread, tmp_path: Path, format: str) -> None:  # noqa: A002
    evidence = tmp_path / "ran"
    states = {
        "pickle": f"cos\nsystem\n(S'touch {evidence}'\ntR.".encode(),
        "msgpack": b"\xc7\x09\x05os.system",
        "yaml": f"!!python/object/apply:os.system ['touch {evidence}']".encode(),
    }
    view = {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": f"touch {evidence}"}}
    saved = thread.checkpoint(states[format], format=format, view=view)
    assert (thread.resume(saved.id).state, thread.resume().view) == (states[format], view)
    with pytest.raises(InvalidInput):
        _ = thread.resume().value
    assert not evidence.exists()


def test_the_largest_state_is_taken(thread: Thread) -> None:
    assert thread.checkpoint(bytes(MAX_BYTES), format="x").size == MAX_BYTES
    assert thread.resume().state == bytes(MAX_BYTES)


def test_read_only_mappings_are_mappings(thread: Thread) -> None:
    nested = MappingProxyType({"a": MappingProxyType({"b": 1})})
    saved = thread.checkpoint(nested, view=nested)
    assert thread.resume().value == thread.resume().view == saved.view == {"a": {"b": 1}}


def test_a_thread_without_checkpoints_says_how_to_make_one(thread: Thread) -> None:
    with pytest.raises(NotFound, match=r"thread\.checkpoint\(state\)"):
        thread.resume()


def test_a_checkpoint_of_another_thread_is_refused_and_its_thread_is_named(thread: Thread) -> None:
    memory = opened_beside(thread)
    other = memory.thread("other")
    saved = other.checkpoint({})
    with pytest.raises(NotFound, match="'other'"):
        thread.resume(saved.id)
    with pytest.raises(NotFound, match="'other'"):
        thread.fork(saved.id)
    with pytest.raises(NotFound):
        thread.prune(saved.id)
    with pytest.raises(InvalidInput, match="parent_id"):
        thread.checkpoint({}, parent=saved.id)
    assert other.resume() == saved


def test_one_of_another_namespace_is_unknown(thread: Thread) -> None:
    saved = opened_beside(thread).user("bob").thread("trip").checkpoint({})
    with pytest.raises(NotFound, match="has no checkpoint"):
        thread.resume(saved.id)


def opened_beside(thread: Thread) -> Memory:
    return Memory._of(thread._engine, thread.namespace, thread._policy)


# -- fork and prune -------------------------------------------------------------------------------------------------------


def test_a_fork_at_a_checkpoint_resumes_from_it(thread: Thread) -> None:
    thread.checkpoint({"step": 1})
    chosen = thread.checkpoint({"step": 2})
    thread.checkpoint({"step": 3})
    thread.add("assistant", "By the river.")
    fork = thread.fork(chosen.id, thread_id="other way")
    assert [message.text for message in fork.messages()] == ["Where shall we eat?"]
    resumed = fork.resume()
    assert (resumed.id, resumed.thread_id, resumed.value) == (chosen.id, "other way", {"step": 2})
    assert [each.value for each in (fork.resume(chosen.parent_id), fork.checkpoint({"step": "2b"}))] == [
        {"step": 1},
        {"step": "2b"},
    ]
    assert fork.resume().parent_id == chosen.id
    assert thread.resume().value == {"step": 3}


def test_a_fork_is_a_copy_with_all_checkpoints(thread: Thread) -> None:
    saved = [thread.checkpoint({"step": step}) for step in range(3)]
    fork = thread.fork()
    assert [each.id for each in fork.checkpoints()] == [each.id for each in reversed(saved)]
    thread.delete()
    assert fork.resume().value == {"step": 2}


def test_a_state_between_a_call_and_its_result_is_resumed_and_not_forked(thread: Thread) -> None:
    thread.append([{"role": "assistant", "tool_calls": [{"id": "k", "function": {"name": "f", "arguments": "{}"}}]}])
    saved = thread.checkpoint({"waits for": "k"})
    thread.append([{"role": "tool", "tool_call_id": "k", "content": "four"}])
    assert thread.resume() == saved
    with pytest.raises(InvalidInput, match="within a group"):
        thread.fork(saved.id)


def test_pruning_keeps_the_newest_and_their_links(thread: Thread) -> None:
    saved = [thread.checkpoint({"step": step}).id for step in range(5)]
    assert thread.prune(keep=2) == saved[:3]
    assert [(each.id, each.parent_id) for each in thread.checkpoints()] == [(saved[4], saved[3]), (saved[3], None)]
    assert thread.prune(saved[3]) == [saved[3]]
    assert thread.resume().parent_id is None
    for wrong in ({}, {"keep": -1}):
        with pytest.raises(InvalidInput):
            thread.prune(**wrong)
    with pytest.raises(InvalidInput):
        thread.prune(saved[4], keep=1)
    with pytest.raises(NotFound):
        thread.prune(saved[0])
    assert [each.id for each in thread.checkpoints()] == [saved[4]]


@given(st.data())
def test_links_lead_to_the_nearest_ancestor_that_stays(data: st.DataObject) -> None:
    names = [str(number) for number in range(data.draw(st.integers(0, 8)))]
    links = {name: data.draw(st.none() | st.sampled_from(names[:at])) if at else None for at, name in enumerate(names)}
    going = set(data.draw(st.lists(st.sampled_from(names)))) if names else set()
    parents = {name: parent for name, parent in (links | relinked(links, going)).items() if name not in going}
    assert not going.intersection(filter(None, parents.values()))
    for name in parents:
        # What is left of a line is the line of what is left.
        assert line_of(parents, name) == line_of(links, name) - going


def test_forgetting_takes_along_the_states_that_may_know(thread: Thread) -> None:
    before = thread.checkpoint({"heard": []})
    said = thread.add("user", "my safe opens with zanzibar 4711")
    thread.checkpoint({"heard": [said.text]}, view={"last": said.text})
    receipt = opened_beside(thread).forget(message=said.id)
    assert receipt.checkpoints == 1
    assert [each.id for each in thread.checkpoints()] == [before.id]
    assert opened_beside(thread).verify(said.text).clean


# -- damage ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def damaged(tmp_path: Path) -> Iterator[tuple[SqliteStore, Thread, list[str]]]:
    """Three checkpoints, of which a test damages the second."""
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        thread = Memory(store=store, embedder=None).thread("t")
        yield store, thread, [thread.checkpoint({"step": step}, view={"step": step}).id for step in range(3)]


_DAMAGE = {
    "state": "UPDATE states SET data = CAST('{\"step\":9}' AS BLOB) WHERE id = 2",
    "cut": "UPDATE states SET data = substr(data, 1, 5) WHERE id = 2",
    "lost": "DELETE FROM states WHERE id = 2",
    "digest": "UPDATE checkpoints SET digest = 'x' WHERE id = 2",
    "view": "UPDATE checkpoints SET view = CAST('{' AS BLOB) WHERE id = 2",
    "metadata": "UPDATE checkpoints SET metadata = CAST('[]' AS BLOB) WHERE id = 2",
}


@pytest.mark.parametrize("damage", _DAMAGE.values(), ids=_DAMAGE.keys())
def test_a_damaged_checkpoint_is_refused_and_the_others_stay_readable(
    damaged: tuple[SqliteStore, Thread, list[str]], damage: str
) -> None:
    store, thread, (first, second, third) = damaged
    _write(store, damage)
    with pytest.raises(CorruptStore, match=second):
        thread.resume(second)
    with pytest.raises(CorruptStore):
        thread.fork(second)
    assert [thread.resume(each).value for each in (first, third)] == [{"step": 0}, {"step": 2}]
    assert [each.id for each in thread.checkpoints()] == [third, second, first]
    assert [problem for problem in store.check() if "checkpoint" in problem.where]
    assert thread.prune(second) == [second]
    assert thread.resume().parent_id == first
    assert store.check() == []


def test_a_list_says_whose_view_cannot_be_read(damaged: tuple[SqliteStore, Thread, list[str]]) -> None:
    store, thread, _ = damaged
    _write(store, _DAMAGE["view"])
    assert [(each.damaged, each.view) for each in thread.checkpoints()] == [
        (False, {"step": 2}),
        (True, {}),
        (False, {"step": 0}),
    ]


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM threads",
        "UPDATE checkpoints SET seq = 9 WHERE id = 1",
        "UPDATE checkpoints SET parent_id = 'x' WHERE id = 1",
        "INSERT INTO states (data) VALUES (x'00')",
        "UPDATE checkpoints SET state = 9 WHERE id = 1",
    ],
)
def test_check_finds_what_is_astray(damaged: tuple[SqliteStore, Thread, list[str]], damage: str) -> None:
    store, _, _ = damaged
    assert store.check() == []
    _write(store, damage)
    assert store.check() != []


def _write(store: SqliteStore, sql: str) -> None:
    def write(database: Database) -> None:
        database.execute(sql)

    store._writer.run(write)


# -- export and import ----------------------------------------------------------------------------------------------------


def _export(memory: Memory, to: Path) -> Path:
    to.write_bytes(b"".join(memory.export()))
    return to


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """Two threads with checkpoints; messages forgotten, so that their seqs have gaps; one checkpoint off the line."""
    with opened(tmp_path / "from.db") as memory:
        thread, bare = memory.thread("trip"), memory.user("kim").thread("bare")
        thread.checkpoint({"step": 0}, id="c0")
        for number in range(4):
            thread.add("user", f"message {number}", id=f"m{number}")
        memory.forget(message="m1")
        memory.forget(message="m0")
        thread.checkpoint(bytes(range(256)), format="opaque", id="c1", label="one", view={"v": 1}, metadata={"m": [2]})
        thread.add("user", "message 4", id="m4")
        thread.checkpoint({"step": 2}, id="c2")
        bare.checkpoint({"step": 0}, id="c0")
        return _export(memory, tmp_path / "export.jsonl")


def test_an_export_read_back_holds_the_same_states_behind_the_same_messages(tmp_path: Path, exported: Path) -> None:
    with opened(tmp_path / "to.db") as memory:
        report = memory.import_file(exported)
        assert (report.checkpoints, report.errors) == (4, ())
        assert memory.import_file(exported).checkpoints == 0
        thread = memory.thread("trip")
        there = [(each.id, each.seq, each.parent_id) for each in thread.checkpoints()]
        assert there == [("c2", 3, "c1"), ("c1", 2, "c0"), ("c0", 0, None)]
        found = thread.resume("c1")
        assert (found.state, found.format, found.label) == (bytes(range(256)), "opaque", "one")
        assert (found.view, found.metadata) == ({"v": 1}, {"m": [2]})
        assert [message.id for message in thread.fork("c1").messages()] == ["m2", "m3"]
        assert memory.user("kim").thread("bare").resume().seq == 0
        assert memory.check() == []


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"digest":"', b'"digest":"0'), (b'"after":"m4"', b'"after":"m9"'), (b'"parent_id":"c1"', b'"parent_id":"c9"')],
)
def test_a_checkpoint_that_cannot_be_taken_is_left_out_and_reported(
    tmp_path: Path, exported: Path, old: bytes, new: bytes
) -> None:
    lines = exported.read_bytes().splitlines(keepends=True)
    broken = [line.replace(old, new) if b'"id":"c2"' in line else line for line in lines]
    assert broken != lines
    exported.write_bytes(b"".join(broken))
    with opened(tmp_path / "to.db") as memory:
        with pytest.raises(ImportFailed):
            memory.import_file(exported)
        assert len(memory.import_file(exported, on_error="skip").errors) == 1
        assert [each.id for each in memory.thread("trip").checkpoints()] == ["c1", "c0"]


def test_a_damaged_one_stops_an_export_that_would_lack_it(damaged: tuple[SqliteStore, Thread, list[str]]) -> None:
    store, thread, (_, second, _) = damaged
    _write(store, _DAMAGE["state"])
    with pytest.raises(CorruptStore, match=second):
        list(opened_beside(thread).export())


# -- the twin and the command line ----------------------------------------------------------------------------------------


def test_the_twin_does_the_same(tmp_path: Path) -> None:
    async def run() -> None:
        async with AsyncMemory(tmp_path / "memory.db", embedder=None) as memory:
            thread = memory.thread("t")
            await thread.add("user", "hello")
            first = await thread.checkpoint({"step": 1}, label="one", metadata={"by": "me"})
            second = await thread.checkpoint(b"\x00", format="x", parent=first.id, id="mine")
            assert await thread.resume() == second
            assert [each.id for each in await thread.checkpoints(1)] == ["mine"]
            fork = await thread.fork(first.id)
            assert (await fork.resume()).value == {"step": 1}
            assert await thread.prune(keep=1) == [first.id]
            assert await thread.prune("mine") == ["mine"]
            assert await memory.check() == []

    asyncio.run(run())


def test_the_command_lists_and_prunes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        thread = memory.thread("trip")
        thread.add("user", "hello")
        saved = [thread.checkpoint({"step": step}, label=f"step {step}", view={"n": step}).id for step in range(3)]
        memory.thread("none").add("user", "hello")
    shell = ["--db", str(path), "--namespace", "acme/ada"]
    shown = CliRunner().invoke(app, ["checkpoints", "trip", *shell])
    assert shown.exit_code == 0
    listed = [line for line in shown.stdout.splitlines() if not line.startswith(" ")]
    assert listed == [f"{saved[step]} step {step}" for step in (2, 1, 0)]
    one = json.loads(CliRunner().invoke(app, ["checkpoints", "trip", *shell, "--limit", "1", "--json"]).stdout)
    assert [(each["id"], each["view"], each["size"]) for each in one["checkpoints"]] == [(saved[2], {"n": 2}, 10)]
    kept = json.loads(CliRunner().invoke(app, ["checkpoints", "trip", *shell, "--keep", "1", "--json"]).stdout)
    assert (kept["removed"], [each["id"] for each in kept["checkpoints"]]) == (saved[:2], [saved[2]])
    assert "1 checkpoint" in CliRunner().invoke(app, ["forget", "--thread", "trip", "--yes", *shell]).stdout
    assert "no checkpoints" in CliRunner().invoke(app, ["checkpoints", "none", *shell]).stdout
    assert CliRunner().invoke(app, ["checkpoints", "nowhere", *shell]).exit_code == 3


# -- folding --------------------------------------------------------------------------------------------------------------


def test_a_folded_thread_gives_the_same_bytes_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        thread = memory.thread("trip")
        for number in range(60):
            thread.add("user", f"Day {number}: we walk {number + 3} km from Ghent to stop {number} and it rains a little.")
        thread.context("stops", budget=600)
        assert thread.info().folded_through > 0
        before = thread.context("stops", budget=600).to_bytes()
    with opened(path) as memory:
        assert memory.thread("trip").context("stops", budget=600).to_bytes() == before
