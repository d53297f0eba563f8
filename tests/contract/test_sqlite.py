"""The storage contract on SQLite, with each driver; and what only a database in a file has to promise."""

from __future__ import annotations

import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings

from bethink.errors import (
    CorruptStore,
    InvalidInput,
    NotFound,
    StoreBusy,
    StoreClosed,
    StoreError,
)
from bethink.messages import Message, ToolCall
from bethink.records import Note
from bethink.retrieval.terms import index_terms
from bethink.storage.base import (
    Append,
    Forget,
    Found,
    Put,
    Read,
    Scan,
    Scope,
    Search,
    Store,
)
from bethink.storage.sqlite import SqliteStore, lexicon, tail, threads
from bethink.storage.sqlite.connection import Durability, Options
from bethink.storage.sqlite.driver import Database, Driver, choose, connect, translated
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import path_range
from bethink.storage.sqlite.verify import needles_of
from bethink.storage.sqlite.writer import Writer
from bethink.testing.doubles import HashEmbedder
from bethink.testing.stateful import StoreMachine
from bethink.testing.store import StoreContract

AT = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NS = ("acme", "ada")
EVERYTHING = Scope((), subtree=True)


def opened(path: Path, driver: Driver = "apsw", **options: Any) -> SqliteStore:
    """A store that does not wait for the disk and is quiet about the standard library's SQLite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return SqliteStore(path, driver=driver, **{"durability": "normal", **options})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(opened(tmp_path / "memory.db")) as store:
        yield store
        assert store.check() == []


def add(store: Store, thread_id: str, *texts: str, namespace: tuple[str, ...] = NS, prefix: str = "m") -> None:
    """Append user messages whose ids are the prefix, the thread and their number."""
    messages = tuple(
        Message(role="user", content=text, id=f"{prefix}-{thread_id}-{number}", created_at=AT)
        for number, text in enumerate(texts)
    )
    store.append(Append(namespace=namespace, thread_id=thread_id, at=AT, messages=messages))


def unsettled(store: SqliteStore) -> int:
    with store._readers.reading() as database:
        return len(database.execute(q.tail_numbers, (*path_range(EVERYTHING), -1)))


def texts(store: Store, thread_id: str, namespace: tuple[str, ...] = NS) -> list[str]:
    return [message.text for message in store.read(Read(namespace=namespace, thread_id=thread_id)).messages]


# -- the contract ---------------------------------------------------------------------------------------------------------


class TestSqliteStore(StoreContract):
    """With apsw and tails settled by every search, and with sqlite3 and all that can be in tails: both places to look."""

    @pytest.fixture(params=["apsw", "sqlite3"])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
        if request.param == "apsw":
            monkeypatch.setattr(tail, "LONGEST", 0)
            monkeypatch.setattr(lexicon, "_EACH", 0)
        else:
            monkeypatch.setattr(lexicon, "_enough", lambda _: 0)
            monkeypatch.setattr(lexicon, "_READ", range(10_000))
            monkeypatch.setattr(threads, "_listed_at_once", lambda *_: False)
            monkeypatch.setattr(threads, "may_be_new", lambda _: True)
        self.driver: Driver = request.param
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


# -- group commit ---------------------------------------------------------------------------------------------------------


class Recording:
    """A database that counts its commits, each of which takes as long as on a slow disk."""

    def __init__(self, database: Database, delay: float = 0.005) -> None:
        self._database = database
        self._delay = delay
        self.commits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if sql == "COMMIT":
            self.commits += 1
            time.sleep(self._delay)
        return self._database.execute(sql, parameters)


def recording(store: SqliteStore, **options: Any) -> Recording:
    database = store._writer._database
    assert database is not None
    store._writer._database = wrapped = Recording(database, **options)
    return wrapped


def test_concurrent_appends_share_commits(store: SqliteStore) -> None:
    database = recording(store)

    def use(thread: int) -> None:
        for number in range(5):
            add(store, f"t{thread}", "one", prefix=f"m{number}")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(use, range(16)))
    assert store.stats(EVERYTHING).messages == 80
    assert database.commits <= 30


def test_a_single_caller_commits_each_append_at_once(store: SqliteStore) -> None:
    database = recording(store, delay=0)
    for number in range(5):
        add(store, "t", "one", prefix=f"m{number}")
    assert database.commits == 5


def test_what_is_relaxed_does_not_wait_for_the_disk_and_what_comes_next_does(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "m.db", durability="full")) as store:
        levels: list[int] = []

        def note_level(database: Database) -> None:
            levels.append(database.execute("PRAGMA synchronous")[0][0])

        for relaxed in (False, True, True, False):
            store._writer.run(note_level, relaxed=relaxed)
        assert levels == [2, 1, 1, 2]


def test_a_group_waits_for_the_disk_if_one_of_it_must(tmp_path: Path) -> None:
    writer, gate, leader = writer_with_queue(tmp_path / "m.db", "full")
    levels: list[int] = []

    def note_level(database: Database) -> None:
        levels.append(database.execute("PRAGMA synchronous")[0][0])

    threads = [threading.Thread(target=writer.run, args=(note_level,), kwargs={"relaxed": bool(index)}) for index in (0, 1)]
    for count, thread in enumerate(threads, 1):
        thread.start()
        while len(writer._queue) < count:
            time.sleep(0.001)
    gate.set()
    for thread in (leader, *threads):
        thread.join()
    assert levels == [2, 2]
    writer.close()


def writer_with_queue(path: Path, durability: Durability = "normal") -> tuple[Writer, threading.Event, threading.Thread]:
    """A writer whose leader is held up, so that what is run next makes one group."""
    with closing(opened(path)):
        pass
    writer = Writer(Options(str(path), "apsw", durability, timedelta(seconds=5)))
    gate, leading = threading.Event(), threading.Event()

    def hold(_: Database) -> None:
        leading.set()
        assert gate.wait(10)

    leader = threading.Thread(target=writer.run, args=(hold,))
    leader.start()
    assert leading.wait(10)
    return writer, gate, leader


def run_as_group(path: Path, operations: list[Callable[[Database], Any]]) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """What each returned or raised, and the keys of meta that are there afterwards."""
    writer, gate, leader = writer_with_queue(path)
    outcomes: list[Any] = [None] * len(operations)

    def call(index: int) -> None:
        try:
            outcomes[index] = writer.run(operations[index])
        except Exception as error:
            outcomes[index] = error

    threads = []
    for index in range(len(operations)):
        threads.append(threading.Thread(target=call, args=(index,)))
        threads[-1].start()
        while len(writer._queue) <= index:
            time.sleep(0.001)
    gate.set()
    for thread in (leader, *threads):
        thread.join()
    keys = writer.alone(lambda database: database.execute("SELECT key FROM meta WHERE key LIKE 'x%' ORDER BY key"))
    writer.close()
    return outcomes, keys


def writes(key: str, *, then: Exception | None = None) -> Callable[[Database], str]:
    def operation(database: Database) -> str:
        database.execute("INSERT INTO meta (key, value) VALUES (?, 1)", (key,))
        if then is not None:
            raise then
        return key

    return operation


def refuses(_: Database) -> None:
    raise NotFound("nothing of the kind")


def test_one_refusal_leaves_the_rest_of_its_group_alone(tmp_path: Path) -> None:
    outcomes, keys = run_as_group(tmp_path / "m.db", [writes("x1"), refuses, writes("x2")])
    assert outcomes[0] == "x1"
    assert isinstance(outcomes[1], NotFound)
    assert keys == [("x1",), ("x2",)]


def test_one_failure_after_a_write_takes_only_its_own_writes_away(tmp_path: Path) -> None:
    error = RuntimeError("half way")
    outcomes, keys = run_as_group(tmp_path / "m.db", [writes("x1"), writes("x2", then=error), writes("x3")])
    assert outcomes == ["x1", error, "x3"]
    assert keys == [("x1",), ("x3",)]


def test_an_operation_alone_does_not_join_a_group(tmp_path: Path) -> None:
    writer, gate, leader = writer_with_queue(tmp_path / "m.db")
    seen: list[bool] = []
    solo = threading.Thread(target=lambda: seen.append(writer.alone(lambda database: database.in_transaction())))
    solo.start()
    while not writer._queue:
        time.sleep(0.001)
    other = threading.Thread(target=lambda: writer.run(writes("x1")))
    other.start()
    gate.set()
    for thread in (leader, solo, other):
        thread.join()
    assert seen == [False]
    writer.close()


# -- search ---------------------------------------------------------------------------------------------------------------

SCRIPTS = [
    "東京タワー",
    "ภาษาไทย",
    "한국어를 말해요",
    "snake_case and kebab-case",
    "naïve café",
    "qx-4071",
    "Привет мир",
    "हिन्दी में",
]


@pytest.mark.parametrize("text", SCRIPTS)
def test_every_term_is_one_token_before_and_after_the_thread_is_settled(store: SqliteStore, text: str) -> None:
    terms = tuple(dict.fromkeys(index_terms(text).split(" ")))
    add(store, "t", text)
    before = store.search(Search(scope=Scope(NS), terms=terms))
    assert unsettled(store) == 1
    store.scan(Scan(what="pending", scope=EVERYTHING))
    assert unsettled(store) == 0
    after = store.search(Search(scope=Scope(NS), terms=terms))
    assert before.candidates == after.candidates
    assert before.frequency == after.frequency == dict.fromkeys(terms, 1)


@pytest.mark.parametrize("term", ['a"b', "a*", "^a", "NEAR(a", "a:b", "-a", "(", "'", "AND", "日本", "👩‍👧", "a_b", "a-b"])
def test_V058_any_term_is_a_word_and_never_an_operator(store: SqliteStore, term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "LONGEST", 0)
    monkeypatch.setattr(tail, "terms_of", lambda _: f"{term} other")
    message = Message(role="user", content="x", id="m1", created_at=AT)
    store.append(Append(namespace=NS, thread_id="t", at=AT, messages=(message,)))
    found = store.search(Search(scope=Scope(NS), terms=(term,)))
    assert [(candidate.id, candidate.counts) for candidate in found.candidates] == [("m1", {term: 1})]
    assert found.frequency == {term: 1}


def test_a_search_settles_long_tails_and_leaves_short_ones(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "_BATCH", 10)
    query = Search(scope=Scope(NS), terms=("bee",), limit=1000)
    add(store, "t", *[f"bees number {number}" for number in range(tail.LONGEST)])
    before = store.search(query)
    assert unsettled(store) == tail.LONGEST
    assert before.frequency == {"bee": tail.LONGEST}
    add(store, "t", "bees once more", prefix="last")
    after = store.search(query)
    assert unsettled(store) == 0
    assert after.frequency == {"bee": tail.LONGEST + 1}
    assert {each.id for each in after.candidates} == {each.id for each in before.candidates} | {"last-t-0"}


def test_a_tail_that_cannot_be_settled_is_searched_as_it_is(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise StoreBusy("locked")

    add(store, "t", *[f"bees number {number}" for number in range(tail.LONGEST + 1)])
    monkeypatch.setattr(store._writer, "run", busy)
    found = store.search(Search(scope=Scope(NS), terms=("bee",), limit=1000))
    assert (len(found.candidates), found.frequency) == (tail.LONGEST + 1, {"bee": tail.LONGEST + 1})
    monkeypatch.undo()


def test_a_tail_that_cannot_be_settled_is_no_empty_page_of_what_waits(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise StoreBusy("locked")

    add(store, "t", "bees")
    monkeypatch.setattr(store._writer, "run", busy)
    with pytest.raises(StoreBusy):
        store.scan(Scan(what="pending", scope=EVERYTHING))
    monkeypatch.undo()
    assert len(store.scan(Scan(what="pending", scope=EVERYTHING)).items) == 1


def test_what_is_known_of_a_thread_is_the_same_before_and_after_it_is_settled(store: SqliteStore) -> None:
    add(store, "t", "bees", "honey")
    add(store, "u", "wax")
    before = store.scan(Scan(what="threads", scope=EVERYTHING)).items
    assert unsettled(store) == 3
    store.scan(Scan(what="pending", scope=EVERYTHING))
    assert unsettled(store) == 0
    assert store.scan(Scan(what="threads", scope=EVERYTHING)).items == before


def test_V079_a_scope_that_held_everything_stays_strict_when_others_come(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "LONGEST", 0)
    monkeypatch.setattr(lexicon, "_EACH", 0)
    query = Search(scope=Scope(("acme",), subtree=True), terms=("bee",))
    add(store, "t", "bees of acme")
    assert store.search(query).frequency == {"bee": 1}
    add(store, "t", "bees of others", namespace=("others", "ada"))
    found = store.search(query)
    assert [candidate.text for candidate in found.candidates] == ["bees of acme"]
    assert (found.frequency, found.units) == ({"bee": 1}, 1)


def embedded(store: SqliteStore, embedder: HashEmbedder) -> None:
    page = store.scan(Scan(what="pending", scope=EVERYTHING, limit=10_000))
    vectors = tuple((item.unit, embedder.stored(item.text)) for item in page.items)  # type: ignore[union-attr]
    store.put(Put(namespace=NS, vectors=vectors))


def dense(store: SqliteStore, embedder: HashEmbedder, text: str, **options: Any) -> Found:
    return store.search(Search(scope=Scope(NS), vector=embedder.stored(text), **options))


def test_V041_another_store_sees_new_and_forgotten_vectors_at_its_next_search(store: SqliteStore) -> None:
    embedder = HashEmbedder()
    store.bind_embedder(embedder.fingerprint)
    add(store, "t", "bees", "honey")
    embedded(store, embedder)
    with closing(opened(store.path)) as other:
        assert len(dense(other, embedder, "bees").candidates) == 2
        add(store, "t", "wax", prefix="new")
        embedded(store, embedder)
        assert len(dense(other, embedder, "bees").candidates) == 3
        store.forget(Forget(scope=Scope(NS), at=AT, message_id="m-t-0"))
        assert {candidate.text for candidate in dense(other, embedder, "bees").candidates} == {"honey", "wax"}


def test_records_of_another_namespace_leave_the_revision(store: SqliteStore) -> None:
    note = Note(id="r1", text="bees", trust="user", recorded_at=AT)
    store.put(Put(namespace=NS, records=(note,)))
    before = store.revision(NS)
    store.put(Put(namespace=("acme", "bob"), records=(note,)))
    store.forget(Forget(scope=Scope(("acme", "bob")), at=AT))
    assert store.revision(NS) == before


def test_only_the_rarest_terms_are_looked_for(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "_LOOKED_AT", 10)
    monkeypatch.setattr(tail, "LONGEST", 0)
    add(store, "t", *["bees bees"] * 20, *["honey"] * 12, "bees and honey and a badger", "badger")
    found = store.search(Search(scope=Scope(NS), terms=("bee", "honey", "badger"), limit=2))
    assert {candidate.id for candidate in found.candidates} == {"m-t-32", "m-t-33"}
    assert {candidate.id: candidate.counts for candidate in found.candidates}["m-t-32"] == {"bee": 1, "honey": 1, "badger": 1}
    assert found.frequency == {"bee": 21, "honey": 13, "badger": 2}


def test_a_unit_number_is_never_given_twice(store: SqliteStore) -> None:
    embedder = HashEmbedder()
    store.bind_embedder(embedder.fingerprint)
    add(store, "t", "bees", "secret")
    late = store.scan(Scan(what="pending", scope=EVERYTHING)).items[-1]
    store.forget(Forget(scope=Scope(NS), at=AT, message_id="m-t-1"))
    add(store, "t", "another", prefix="new")
    store.put(Put(namespace=NS, vectors=((late.unit, embedder.stored("secret")),)))  # type: ignore[union-attr]
    assert store.stats(EVERYTHING).pending == 2


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


def test_closing_waits_for_the_writes_under_way(tmp_path: Path) -> None:
    store = opened(tmp_path / "memory.db")
    database = recording(store, delay=0.05)
    writing = threading.Thread(target=add, args=(store, "t", "hello"))
    writing.start()
    while not database.commits:
        time.sleep(0.001)
    store.close()
    writing.join()
    with pytest.raises(StoreClosed):
        add(store, "t", "late", prefix="x")
    with closing(opened(tmp_path / "memory.db")) as store:
        assert texts(store, "t") == ["hello"]


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
