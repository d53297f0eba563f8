"""Views: what each may do and what it may not, what it leaves behind, and whose word it is."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bethink import AsyncMemory, InvalidInput, InvalidNamespace, Memory, NotFound, PermissionDenied, Settings
from bethink.testing.doubles import FrozenClock, HashEmbedder

TEAM = ("acme", "launch")


class Team:
    """A memory of a team, its clock, and the views of those who work in it."""

    def __init__(self, memory: Memory, clock: FrozenClock) -> None:
        self.memory, self.clock = memory, clock
        self.researcher = memory.view(agent="researcher", write=["researcher", "shared"])
        self.writer = memory.view(agent="writer", write=["writer", "shared"])
        self.reviewer = memory.view(agent="reviewer", read=["shared"])

    def later(self) -> None:
        self.clock.advance(timedelta(minutes=1))


@pytest.fixture(params=["reference", "sqlite"])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Team]:
    path = ":memory:" if request.param == "reference" else tmp_path / "a.db"
    clock = FrozenClock()
    with Memory(path, namespace=TEAM, clock=clock, embedder=HashEmbedder(), durability="normal") as memory:
        yield Team(memory, clock)
        assert memory.check() == []


# -- what a view may do ---------------------------------------------------------------------------------------------------


def test_a_view_reads_and_writes_where_it_was_given_the_right(team: Team) -> None:
    note = team.researcher.scope("shared").store("The vendor allows 60 calls a minute.")
    assert team.memory.scope("shared").records("note") == [note]
    assert team.writer.scope("shared").records("note") == [note]
    assert team.reviewer.scope("shared").records("note") == [note]


def test_a_right_holds_for_all_that_is_below(team: Team) -> None:
    below = team.researcher.scope("shared", "sources", "vendor")
    below.store("bees")
    assert [hit.text for hit in below.recall("bees")] == ["bees"]


VERBS: dict[str, Callable[[Memory], object]] = {
    "store": lambda view: view.store("bees"),
    "store_episode": lambda view: view.store_episode("Count the bees", outcome="success"),
    "store_artifact": lambda view: view.store_artifact("k", "bees"),
    "records": lambda view: view.records(),
    "profile": lambda view: view.profile(),
    "recall": lambda view: view.recall("bees"),
    "why": lambda view: view.why("bees"),
    "retrieve": lambda view: view.retrieve("bees"),
    "episodes": lambda view: view.episodes("bees"),
    "threads": lambda view: view.threads(),
    "add": lambda view: view.thread("t").add("user", "bees"),
    "messages": lambda view: view.thread("t").messages(),
    "context": lambda view: view.thread("t").context("bees"),
    "end": lambda view: view.thread("t").end(),
    "state": lambda view: view.thread("t").state(),
    "usage": lambda view: view.thread("t").usage(),
    "turn": lambda view: view.thread("t").turn().__enter__(),
    "fork": lambda view: view.thread("t").fork(1, thread_id="u"),
    "promote": lambda view: view.thread("t").promote(1),
    "checkpoint": lambda view: view.thread("t").checkpoint({}),
    "put": lambda view: view.items.put("k", {}),
    "get": lambda view: view.items.get("k"),
    "search": lambda view: view.items.search("bees"),
    "sweep": lambda view: view.items.sweep(),
    "list_namespaces": lambda view: view.items.list_namespaces(),
    "post": lambda view: view.board.post("bees", about="bees"),
    "read": lambda view: view.board.read(),
    "board as of": lambda view: view.board.read(as_of=FrozenClock().now()),
    "history": lambda view: view.board.history(),
    "forget": lambda view: view.forget(thread="t"),
    "forget all": lambda view: view.forget(namespace=view.namespace),
    "redact": lambda view: view.redact(),
    "export": lambda view: list(view.export()),
    "stats": lambda view: view.stats(),
    "flush": lambda view: view.flush(),
    "diff": lambda view: view.diff(FrozenClock().now()),
    "changes": lambda view: view.changes(),
    "pending": lambda view: view.pending(),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("place", [(), ("writer",), ("researchers",), ("share",)])
def test_every_verb_outside_of_what_was_given_is_refused(team: Team, verb: str, place: tuple[str, ...]) -> None:
    team.memory.scope(*place).thread("t").add("user", "bees")
    before = list(team.memory.export())
    outside = team.researcher.scope(*place) if place else team.memory.view(agent="a", write=["b"]).scope()
    if verb in ("recall", "retrieve") and not place:
        # Of a place above what was given, what was given is looked in.
        return
    with pytest.raises(PermissionDenied):
        VERBS[verb](outside)
    assert list(team.memory.export()) == before


WRITING = {
    *("store", "store_episode", "store_artifact", "add", "end", "turn", "fork", "promote", "checkpoint", "put", "sweep"),
    *("post", "forget", "forget all", "redact"),
}


@pytest.mark.parametrize("verb", sorted(WRITING))
def test_a_view_that_may_only_read_writes_nothing(team: Team, verb: str) -> None:
    team.memory.scope("shared").thread("t").add("user", "bees")
    team.memory.scope("shared").items.put("old", {}, ttl=timedelta(seconds=1))
    team.later()
    before = list(team.memory.export())
    with pytest.raises(PermissionDenied):
        VERBS[verb](team.reviewer.scope("shared"))
    assert list(team.memory.export()) == before


def test_a_view_does_what_waits_where_it_may_write(team: Team) -> None:
    shared = team.researcher.scope("shared")
    shared.store("bees")
    assert (shared.flush(), team.memory.scope("shared").stats().pending) == (1, 0)


@pytest.mark.parametrize("verb", ["check", "verify", "reembed"])
def test_what_is_of_the_whole_database_is_not_for_views(team: Team, verb: str) -> None:
    verbs: dict[str, Callable[[], object]] = {
        "check": team.researcher.check,
        "verify": lambda: team.researcher.verify("bees"),
        "reembed": team.researcher.reembed,
    }
    with pytest.raises(PermissionDenied, match="in the whole database"):
        verbs[verb]()


def test_a_view_without_places_may_do_nothing(team: Team) -> None:
    nobody = team.memory.view(agent="nobody")
    for place in ((), ("shared",)):
        with pytest.raises(PermissionDenied):
            nobody.scope(*place).recall("bees")


def test_V081_another_tenant_is_out_of_reach_whatever_a_view_was_given(team: Team) -> None:
    everything = team.memory.view(read=[()], write=[()])
    with pytest.raises(InvalidInput, match="one below it"):
        everything.forget(namespace=("other",))
    assert everything.scope().namespace == TEAM


def test_closing_a_view_closes_nothing(team: Team) -> None:
    with team.researcher as view:
        view.close()
    assert team.memory.scope("shared").board.read() == []


def test_the_error_says_what_where_and_what_was_given_and_survives_pickling(team: Team) -> None:
    with pytest.raises(PermissionError) as denied:
        team.reviewer.scope("shared").store("the secret words")
    error = denied.value
    assert str(error) == "write in acme/launch/shared: this view may not — it was given none"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.place) == (PermissionDenied, str(error), (*TEAM, "shared"))


# -- narrower, never wider ------------------------------------------------------------------------------------------------


def test_a_view_of_a_view_has_what_that_one_has_or_less(team: Team) -> None:
    helper = team.researcher.view(read=["shared"], write=[("researcher", "drafts")])
    helper.scope("researcher", "drafts").store("bees")
    for write in (helper.scope("shared"), helper.scope("researcher")):
        with pytest.raises(PermissionDenied):
            write.store("bees")


@pytest.mark.parametrize(("read", "write"), [([()], []), ([], [()]), (["writer"], []), ([], ["other"]), ([], [("shared2",)])])
def test_a_view_cannot_be_widened(team: Team, read: list[object], write: list[object]) -> None:
    with pytest.raises(PermissionDenied, match="or less"):
        team.researcher.view(read=read, write=write)  # type: ignore[arg-type]


def test_what_may_only_be_read_is_not_written_by_way_of_another_view(team: Team) -> None:
    with pytest.raises(PermissionDenied):
        team.reviewer.view(write=["shared"])


def test_a_view_speaks_as_its_agent_and_nobody_else(team: Team) -> None:
    assert team.researcher.view(read=["shared"]).agent == "researcher"
    with pytest.raises(PermissionDenied, match="speaks as 'researcher'"):
        team.researcher.view(read=["shared"], agent="writer")
    assert team.memory.view(write=["x"]).view(write=["x"], agent="writer").agent == "writer"


@pytest.mark.parametrize("name", ["user", "System", "assistant", "a[b", "a (user)", "a, b", "a\nb", " a", "a  b", "memory"])
def test_an_agent_cannot_have_a_name_that_passes_for_somebody_else(team: Team, name: str) -> None:
    with pytest.raises(InvalidInput, match="agent"):
        team.memory.view(agent=name, read=["shared"])


@pytest.mark.parametrize("places", ["shared", [1], [("a", "")], [""], None])
def test_places_that_are_none_are_refused(team: Team, places: object) -> None:
    with pytest.raises((InvalidInput, InvalidNamespace)):
        team.memory.view(read=places)  # type: ignore[arg-type]


# -- a reader leaves no trace ---------------------------------------------------------------------------------------------


def look_at_everything(memory: Memory) -> None:
    memory.recall("bees")
    memory.profile()
    memory.records()
    memory.episodes()
    memory.board.read()
    memory.items.get("k")
    memory.items.search("bees")
    memory.threads()
    thread = memory.thread("t")
    thread.messages()
    thread.context("bees", budget=400)
    thread.state()
    thread.summaries()


def test_who_may_only_read_leaves_no_trace_in_what_he_reads(team: Team) -> None:
    shared = team.memory.scope("shared")
    thread = shared.thread("t")
    for number in range(60):
        thread.add("user", f"I moved to Ghent, and count bees for the {number}th time, in the garden behind the old house.")
    shared.items.put("k", {"text": "bees"})
    team.researcher.scope("shared").board.post("There are 40 bees.", about="bees", value=40)
    revision = shared._engine.store.revision(shared.namespace)
    before, info, stats = list(team.memory.export()), thread.info(), team.memory.stats()
    look_at_everything(team.reviewer.scope("shared"))
    assert list(team.memory.export()) == before
    assert thread.info() == info
    assert shared._engine.store.revision(shared.namespace) == revision
    after = team.memory.stats()
    assert (after.records, after.receipts, after.nodes) == (stats.records, stats.receipts, stats.nodes)


def test_a_reader_is_given_the_context_that_a_writer_would_be_but_no_receipt(team: Team) -> None:
    shared = team.memory.scope("shared")
    for number in range(60):
        shared.thread("t").add("user", f"The {number}th count of the bees behind the old house gave {number * 7} of them.")
    # So that both know the same of the messages: a reader draws nothing from them.
    shared.profile()
    shared.flush()
    read = team.reviewer.scope("shared").thread("t").context("bees", budget=500)
    written = shared.thread("t").context("bees", budget=500)
    assert read.to_bytes() == written.to_bytes()
    assert (read.receipt_id, written.receipt_id != "") == ("", True)
    assert shared.thread("t").info().folded_through > 0


def test_a_reader_makes_no_thread(team: Team) -> None:
    for verb in ("context", "end"):
        with pytest.raises((NotFound, PermissionDenied)):
            getattr(team.reviewer.scope("shared").thread("none"), verb)()
    assert team.memory.threads(below=True) == []


def test_a_reader_ends_no_session_that_is_due(tmp_path: Path) -> None:
    clock = FrozenClock()
    settings = Settings(reflect_after=timedelta(minutes=5), reflect_every=1)
    with Memory(tmp_path / "a.db", namespace=TEAM, clock=clock, embedder=None, settings=settings) as memory:
        memory.scope("shared").thread("t").add("user", "I live in Ghent.")
        clock.advance(timedelta(hours=1))
        look_at_everything(memory.view(read=["shared"]).scope("shared"))
        assert memory.scope("shared").thread("t").info().reflected_through == 0
        memory.scope("shared").profile()
        assert memory.scope("shared").thread("t").info().reflected_through == 1


# -- recall over several namespaces ---------------------------------------------------------------------------------------


def test_an_agent_recalls_from_its_own_namespace_and_the_shared_one_in_one_call(team: Team) -> None:
    team.researcher.scope("researcher").store("My notes say that the vendor throttles at night.")
    team.writer.scope("shared").store("The vendor throttles calls above 60 a minute.")
    team.writer.scope("writer").store("The vendor throttles nobody, I think.")
    hits = team.researcher.recall("when does the vendor throttle calls?")
    assert {(hit.namespace[-1], hit.author) for hit in hits} == {("researcher", "researcher"), ("shared", "writer")}


def test_a_recall_over_several_namespaces_is_ranked_as_if_they_were_one(team: Team) -> None:
    texts = ["bees in the garden", "bees and wasps", "the garden gate", "a bee", "wasps"]
    for number, text in enumerate(texts):
        team.memory.scope("ab"[number % 2]).store(text)
        team.memory.scope("whole").store(text)
        team.later()
    team.memory.flush()
    several = team.memory.view(read=["a", "b"]).recall("bees in the garden", 5)
    one = team.memory.scope("whole").recall("bees in the garden", 5)
    assert [(hit.text, hit.score) for hit in several] == [(hit.text, hit.score) for hit in one]
    assert several.needed == one.needed


def test_a_recall_below_looks_below_what_was_given_too(team: Team) -> None:
    team.memory.scope("shared", "deep").store("bees")
    assert list(team.researcher.recall("bees")) == []
    assert [hit.namespace for hit in team.researcher.recall("bees", below=True)] == [(*TEAM, "shared", "deep")]


def test_a_recall_over_several_namespaces_holds_as_of_a_time(team: Team) -> None:
    for place in ("researcher", "shared"):
        team.memory.scope(place).store(f"bees of {place}")
    then = team.clock.now()
    team.later()
    team.memory.scope("shared").store("bees of today")
    found = team.researcher.recall("bees", as_of=then)
    assert sorted(hit.text for hit in found) == ["bees of researcher", "bees of shared"]


def test_a_recall_within_a_budget_counts_the_author(team: Team) -> None:
    team.writer.scope("shared").store("There are forty bees in the garden.")
    [hit] = team.researcher.recall("bees in the garden", budget=100)
    [line] = team.memory.scope("shared").thread("t").context("bees in the garden").section("recalled")
    assert line.text.startswith("- writer: There are forty bees in the garden. [mem:")
    assert hit.tokens == line.tokens


# -- whose word it is -----------------------------------------------------------------------------------------------------


def test_what_a_view_stores_has_its_author_and_is_not_the_users_word(team: Team) -> None:
    shared = team.researcher.scope("shared")
    note, episode = shared.store("bees"), shared.store_episode("Count the bees")
    assert (note.author, note.trust) == ("researcher", "assistant")
    assert episode.author == "researcher"
    assert {record.author for record in team.memory.scope("shared").records()} == {"researcher"}
    assert team.memory.store("bees").author == ""


def test_an_agent_cannot_vouch_for_the_user(team: Team) -> None:
    with pytest.raises(PermissionDenied, match="not the user's word"):
        team.researcher.scope("shared").store("I am the user, and I say so.", trust="user")


def test_what_the_assistant_says_through_a_view_is_said_under_its_name(team: Team) -> None:
    thread = team.researcher.scope("shared").thread("t")
    assert thread.add("user", "How many bees?").name is None
    assert thread.add("assistant", "Forty.").name == "researcher"
    with pytest.raises(PermissionDenied, match="leave the name out"):
        thread.add("assistant", "Fifty.", name="writer")
    assert [message.content for message in team.memory.scope("shared").thread("t").messages()] == ["How many bees?", "Forty."]


def test_what_is_found_is_filtered_by_its_author(team: Team) -> None:
    team.researcher.scope("shared").store("forty bees")
    team.writer.scope("shared").store("fifty bees")
    team.memory.scope("shared").store("sixty bees")
    shared = team.memory.scope("shared")
    assert [hit.text for hit in shared.recall("bees", where={"author": "writer"})] == ["fifty bees"]
    assert [hit.text for hit in shared.recall("bees", where={"author": {"exists": False}})] == ["sixty bees"]


def test_an_item_has_the_author_of_each_version(team: Team) -> None:
    team.researcher.scope("shared").items.put("plan", {"steps": 3})
    team.writer.scope("shared").items.put("plan", {"steps": 4, "author": "researcher"})
    team.memory.scope("shared").items.put("plan", {"steps": 5})
    assert [item.author for item in team.memory.scope("shared").items.history("plan")] == ["", "writer", "researcher"]


def test_an_agent_does_not_replace_the_episode_of_another(team: Team) -> None:
    theirs = team.writer.scope("shared").store_episode("Count the bees")
    with pytest.raises(PermissionDenied, match="the word of 'writer'"):
        team.researcher.scope("shared").store_episode("Count the wasps", replaces=theirs.id)
    again = team.writer.scope("shared").store_episode("Count all bees", replaces=theirs.id)
    assert team.memory.scope("shared").episodes() == [again]


def test_an_import_does_not_make_one_agent_speak_for_another(team: Team, tmp_path: Path) -> None:
    team.writer.scope("writer").board.post("There are 40 bees.", about="bees", value=40)
    exported = tmp_path / "writer.jsonl"
    exported.write_bytes(b"".join(team.memory.scope("writer").export()))
    with pytest.raises(PermissionDenied):
        team.researcher.scope("researcher").import_file(exported, format="jsonl")
    team.memory.scope("copy").import_file(exported, format="jsonl")
    copied = team.memory.scope("copy", "launch", "writer").board.read()
    assert [(fact.author, fact.value) for fact in copied] == [("writer", "40")]


def test_an_agent_forgets_its_own_records_and_nobody_elses(team: Team) -> None:
    mine = team.researcher.scope("shared").store("bees")
    theirs = team.writer.scope("shared").store("wasps")
    view = team.researcher.scope("shared")
    view.forget(record=mine.id)
    with pytest.raises(PermissionDenied, match="the word of another"):
        view.forget(record=theirs.id)
    with pytest.raises(PermissionDenied, match="the word of another"):
        view.forget(namespace=view.namespace)
    assert team.memory.scope("shared").records("note") == [theirs]


# -- with the rest --------------------------------------------------------------------------------------------------------


def test_a_specialist_that_was_given_its_own_namespace_works_without_seeing_its_parents(team: Team) -> None:
    parent = team.memory.thread("work")
    parent.add("user", "Decision: we use Postgres.")
    handoff = parent.handoff("Count the tables", thread_id="tables")
    place = ("handoff", "tables")
    specialist = team.memory.view(agent="counter", write=[place]).scope(*place).thread("tables")
    shown = specialist.context()
    assert "Postgres" in handoff.context.text
    assert "Count the tables" in shown.text
    assert "Postgres" not in shown.text


def test_the_asynchronous_twin_is_refused_too(tmp_path: Path) -> None:
    async def talk() -> None:
        async with AsyncMemory(tmp_path / "a.db", namespace=TEAM, embedder=None) as memory:
            view = memory.view(agent="researcher", write=["shared"])
            await view.scope("shared").thread("t").add("assistant", "bees")
            with pytest.raises(PermissionDenied):
                await view.scope("other").thread("t").add("assistant", "bees")
            ref = await view.scope("shared").store_artifact("report", "bees")
            fact = await view.scope("shared").board.post("See the report.", about="bees", artifacts=[ref])
            assert (await view.artifact(fact.artifacts[0])).content == "bees"
            assert view.agent == "researcher"

    asyncio.run(talk())


def test_a_specialists_result_is_said_under_its_name(team: Team) -> None:
    parent = team.memory.thread("work")
    parent.add("user", "Let somebody count the tables.")
    parent.handoff("Count the tables", thread_id="tables")
    specialist = team.memory.view(agent="counter", write=[()]).scope("handoff", "tables").thread("tables")
    assert specialist.conclude("There are 12.").name == "counter"
