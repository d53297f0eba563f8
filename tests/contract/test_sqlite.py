"""The storage contract on SQLite, with each driver; and what only a database in a file has to promise."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import settings
from tests.contract.sqlite_files import AT, EVERYTHING, NS, add, opened, texts

from bethink.errors import CorruptStore, InvalidInput, StoreBusy, StoreError
from bethink.messages import Message, ToolCall
from bethink.records import Note
from bethink.storage.base import Append, Forget, Put, Read, Scan, Scope, Store
from bethink.storage.sqlite import SqliteStore, lexicon, tail, threads
from bethink.storage.sqlite.driver import Driver, choose, connect, translated
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.verify import needles_of
from bethink.testing.stateful import StoreMachine
from bethink.testing.store import StoreContract


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(opened(tmp_path / "memory.db")) as store:
        yield store
        assert store.check() == []


# -- the contract ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with nothing in it: making the schema takes longer than most tests."""
    path = tmp_path_factory.mktemp("empty") / "memory.db"
    opened(path).close()
    return path


class TestSqliteStore(StoreContract):
    """With apsw and tails settled by every search, and with sqlite3 and all that can be in tails: both places to look."""

    @pytest.fixture(params=["apsw", "sqlite3"])
    def store(
        self, request: pytest.FixtureRequest, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Store]:
        if request.param == "apsw":
            monkeypatch.setattr(tail, "LONGEST", 0)
            monkeypatch.setattr(lexicon, "_EACH", 0)
        else:
            monkeypatch.setattr(lexicon, "_enough", lambda _: 0)
            monkeypatch.setattr(lexicon, "_READ", range(10_000))
            monkeypatch.setattr(threads, "_listed_at_once", lambda *_: False)
            monkeypatch.setattr(threads, "may_be_new", lambda _: True)
        self.driver: Driver = request.param
        shutil.copyfile(empty, tmp_path / "memory.db")
        with closing(opened(tmp_path / "memory.db", self.driver)) as store:
            yield store

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, SqliteStore)
        return opened(store.path, self.driver)


class SqliteMachine(StoreMachine):
    def make_store(self) -> Store:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(tail, "LONGEST", 2)
        self.patch.setattr(lexicon, "_enough", lambda _: 0)
        self.patch.setattr(lexicon, "_READ", range(10_000))
        # Every other message waits for its place in the index of ids, whatever its id.
        self.patch.setattr(threads, "_listed_at_once", lambda _, message_id: crc32(message_id.encode()) % 2 == 0)
        self.patch.setattr(threads, "may_be_new", lambda _: True)
        return opened(_fresh_path())

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, SqliteStore)
        store.close()
        return opened(store.path)

    def teardown(self) -> None:
        try:
            problems = self.store.check()
            assert problems == [], problems
        finally:
            self.patch.undo()
            super().teardown()


_folder: list[Path] = []


@pytest.fixture(scope="module", autouse=True)
def _machine_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    _folder.append(tmp_path_factory.mktemp("machine"))


def _fresh_path() -> Path:
    return _folder[-1] / f"{time.monotonic_ns()}.db"


TestSqliteMachine = SqliteMachine.TestCase
TestSqliteMachine.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


# -- forgetting -----------------------------------------------------------------------------------------------------------


def test_no_copy_stays_in_the_free_part_of_a_page(store: SqliteStore) -> None:
    # Threads that grow in turn make SQLite split pages in the middle, which leaves copies that `secure_delete` does not reach.
    secrets = []
    for number in range(60):
        for thread in range(12):
            text = f"consignment {thread * 7919 + number} of {'zanzibar' * (number % 13)} {thread}"
            add(store, f"t{thread}", text, prefix=f"n{number}")
            if thread == 5:
                secrets.append(text)
    receipt = store.forget(Forget(scope=Scope(NS), at=AT, thread_id="t5"))
    assert receipt.erased
    content = b"".join(Path(f"{store.path}{suffix}").read_bytes() for suffix in ("", "-wal"))
    assert [text for text in secrets if text.encode() in content] == []


def test_a_piece_that_others_still_say_is_no_hit(store: SqliteStore) -> None:
    add(store, "t", "the password of the garden shed is 4711-zanzibar-consignment, do not tell anybody at all about it")
    add(store, "t", "the password of the garden shed is a secret", prefix="other")
    store.forget(Forget(scope=Scope(NS), at=AT, message_id="m-t-0"))
    text = "the password of the garden shed is 4711-zanzibar-consignment, do not tell anybody at all about it"
    assert store.verify((text,)).clean
    assert not store.verify(("the password of the garden shed is a secret",)).clean


def test_needles_cover_a_long_text_in_every_form() -> None:
    text = 'Ada said "the number is 4711" ' * 50
    needles = needles_of(text)
    assert text.encode()[:32] in needles
    assert text.encode()[-32:] in needles
    assert any(b'\\"' in needle for needle in needles)
    assert any(b"number" in needle and b"the" in needle for needle in needles)
    assert all(len(needle) <= 64 for needle in needles)


def test_an_erasure_that_a_reader_prevents_is_reported_and_made_up_for(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = opened(path, busy_timeout=timedelta(milliseconds=200))
    add(store, "t", "the zanzibar consignment")
    with store._readers.reading() as database:
        database.execute("SELECT count(*) FROM messages")
        assert not store.forget(Forget(scope=Scope(NS), at=AT, thread_id="t")).erased
    assert [problem.what for problem in store.check()] == ["may still hold bytes that were forgotten"]
    store.close()
    with closing(opened(path)) as store:
        assert store.check() == []
        assert store.verify(("the zanzibar consignment",)).clean


def test_a_call_id_that_came_back_is_answered_again_when_its_second_call_is_forgotten(store: SqliteStore) -> None:
    def call(name: str) -> Message:
        return Message(role="assistant", tool_calls=(ToolCall("c", "f"),), id=name, created_at=AT)

    result = Message(role="tool", content="four", tool_call_id="c", id="m2", created_at=AT)
    batch = (call("m1"), result, call("m3"))
    store.append(Append(namespace=NS, thread_id="t", at=AT, messages=batch))
    store.forget(Forget(scope=Scope(NS), at=AT, message_id="m3"))
    store.append(Append(namespace=NS, thread_id="t", at=AT, messages=(call("m4"),)))
    assert [message.id for message in store.read(Read(namespace=NS, thread_id="t")).messages] == ["m1", "m2", "m4"]


# -- opening and errors ---------------------------------------------------------------------------------------------------


def test_V044_twenty_first_openings_at_once_make_one_schema(tmp_path: Path) -> None:
    def use(number: int) -> int:
        with closing(opened(tmp_path / "memory.db")) as store:
            add(store, "t", "hello", prefix=f"m{number}")
            return store.stats(EVERYTHING).schema_version

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(use, range(20))) == {1}
    with closing(opened(tmp_path / "memory.db")) as store:
        assert texts(store, "t") == ["hello"] * 20
        assert store.check() == []


def test_V044_twenty_first_operations_on_one_store(store: SqliteStore) -> None:
    with ThreadPoolExecutor(20) as pool:
        for done in [pool.submit(add, store, "t", "hello", prefix=f"m{number}") for number in range(20)]:
            done.result()
    assert texts(store, "t") == ["hello"] * 20


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (5, StoreBusy),
        (261, StoreBusy),  # SQLITE_BUSY_RECOVERY
        (517, StoreBusy),  # SQLITE_BUSY_SNAPSHOT
        (6, StoreBusy),
        (8, StoreError),
        (10, StoreError),
        (266, StoreError),  # SQLITE_IOERR_READ
        (11, CorruptStore),
        (267, CorruptStore),  # SQLITE_CORRUPT_VTAB
        (26, CorruptStore),
        (13, StoreError),
        (14, StoreError),
        (1, StoreError),
        (19, StoreError),
    ],
)
def test_every_code_of_sqlite_has_its_error(code: int, kind: type[StoreError]) -> None:
    assert type(translated(code, "")) is kind


def test_a_driver_without_codes_is_read_by_its_text() -> None:
    assert type(translated(None, "database is locked")) is StoreBusy
    assert type(translated(None, "database disk image is malformed")) is CorruptStore
    assert type(translated(None, "something else")) is StoreError


@pytest.mark.parametrize("driver", ["apsw", "sqlite3"])
def test_V043_a_lock_held_beyond_the_timeout_is_StoreBusy(tmp_path: Path, driver: Driver) -> None:
    with closing(opened(tmp_path / "memory.db", driver, busy_timeout=timedelta(milliseconds=50))) as store:
        add(store, "t", "before")
        with closing(connect(str(store.path), driver, timedelta())) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy) as raised:
                add(store, "t", "during", prefix="x")
            assert raised.value.__cause__ is not None
            assert texts(store, "t") == ["before"]
            holder.execute("ROLLBACK")
        add(store, "t", "after", prefix="y")
        assert texts(store, "t") == ["before", "after"]


@pytest.mark.parametrize("driver", ["apsw", "sqlite3"])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, driver: Driver) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("groceries\n" * 1000)
    with pytest.raises(CorruptStore):
        opened(path, driver)
    assert path.read_text() == "groceries\n" * 1000


@pytest.mark.parametrize("driver", ["apsw", "sqlite3"])
def test_a_damaged_page_is_CorruptStore(tmp_path: Path, driver: Driver) -> None:
    path = tmp_path / "memory.db"
    with closing(opened(path, driver)) as store:
        add(store, "t", *[f"message {number} " * 30 for number in range(1_000)])
    content = bytearray(path.read_bytes())
    for page in range(len(content) // 8192, len(content) // 4096):
        content[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(content)
    with closing(opened(path, driver)) as store:
        with pytest.raises(CorruptStore):
            texts(store, "t")
        try:
            problems = [problem.where for problem in store.check()]
        except CorruptStore:
            problems = ["the file"]
        assert "the file" in problems


def test_a_folder_that_is_not_there_is_a_StoreError(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        opened(tmp_path / "nowhere" / "memory.db")


def test_durability_is_one_of_two(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="durability"):
        opened(tmp_path / "memory.db", durability="off")


def test_full_durability_is_the_default(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        assert store._writer.alone(lambda database: database.execute("PRAGMA synchronous")) == [(2,)]
        assert store._writer.alone(lambda database: database.execute("PRAGMA journal_mode")) == [("wal",)]
        assert store._writer.alone(lambda database: database.execute("PRAGMA secure_delete")) == [(1,)]
        assert store._writer.alone(lambda database: database.execute("PRAGMA mmap_size")) in ([(0,)], [])


def test_an_old_sqlite_is_used_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 51, 2))
    with pytest.warns(RuntimeWarning, match="pip install apsw"):
        assert choose("sqlite3") == "sqlite3"
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 51, 3))
    assert choose("sqlite3") == "sqlite3"
    assert choose(None) == "apsw"


def test_V048_times_are_the_same_instant_in_every_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = datetime(2026, 3, 8, 2, 30, 15, 123456, tzinfo=timezone.utc)
    seen = []
    for zone in ("America/New_York", "Asia/Kolkata"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        with closing(opened(tmp_path / f"{zone[:4]}.db")) as store:
            message = Message(role="user", content="hi", id="m1", created_at=at)
            store.append(Append(namespace=NS, thread_id="t", at=at, messages=(message,)))
            store.put(Put(namespace=NS, records=(Note(id="r1", text="x", trust="user", recorded_at=at),)))
            transcript = store.read(Read(namespace=NS, thread_id="t"))
            record = store.scan(Scan(what="records", scope=Scope(NS))).items[0].record  # type: ignore[union-attr]
            seen += [transcript.thread.created_at, transcript.messages[0].created_at, record.recorded_at]
    monkeypatch.undo()
    time.tzset()
    assert seen == [at] * 6
    assert {str(moment.utcoffset()) for moment in seen if moment} == {"0:00:00"}


def test_queries_that_nothing_uses_are_not_kept() -> None:
    folder = Path(tail.__file__).parent
    code = "\n".join(path.read_text() for path in sorted(folder.glob("*.py")))
    assert [name for name in q.names if f"q.{name}" not in code] == []
