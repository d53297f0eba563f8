"""The contract of `rewrite`: what has other words afterwards, what stays, what goes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bethink.messages import Raw, ToolCall
from bethink.records import Insight, Source, StateEntry, Summary
from bethink.redaction import Redaction
from bethink.storage.base import Rewrite, Rewritten, Save, Scope, Store
from bethink.testing._contract import (
    AT,
    NS,
    ContractBase,
    append,
    embed,
    fold,
    fork,
    get,
    hits,
    ids,
    info,
    insight,
    line,
    node,
    note,
    put,
    read,
    receipt,
    record,
    say,
    scan,
    shown,
    source,
    summary,
)
from bethink.values import Namespace

_ALL = Redaction()
_ADDRESS = "ana.quispe@example.org"
_HELD = f"write to {_ADDRESS} today"
_LEFT = "write to [redacted:email] today"


def rewrite(
    store: Store, namespace: Namespace = NS, *, subtree: bool = False, by: Redaction = _ALL, **options: Any
) -> Rewritten:
    """All of it, page after page: what the pages together changed."""
    request = Rewrite(scope=Scope(namespace, subtree), by=by, **options)
    total = Rewritten()
    while True:
        done = store.rewrite(request)
        names = ("messages", "records", "nodes", "threads", "checkpoints", "receipts", "dropped")
        total = msgspec.structs.replace(total, **{name: getattr(total, name) + getattr(done, name) for name in names})
        kinds = {kind: total.kinds.get(kind, 0) + done.kinds.get(kind, 0) for kind in {**total.kinds, **done.kinds}}
        total = msgspec.structs.replace(total, kinds=kinds, erased=done.erased)
        if done.next is None:
            return total
        request = msgspec.structs.replace(request, after=done.next)


class RewriteContract(ContractBase):
    def test_a_message_has_other_words_in_its_place(self, store: Store) -> None:
        append(store, say("m1"), say("m2", _HELD), say("m3"))
        done = rewrite(store)
        assert (done.messages, done.kinds, done.erased) == (1, {"email": 1}, True)
        assert [(each.id, each.seq, each.text) for each in read(store).messages] == [
            ("m1", 1, "hello"),
            ("m2", 2, _LEFT),
            ("m3", 3, "hello"),
        ]
        assert (info(store).tip, info(store).count) == (3, 3)

    def test_search_finds_the_new_words_and_not_the_old(self, store: Store) -> None:
        append(store, say("m1", _HELD))
        assert hits(store, "quispe") == {"m1"}
        rewrite(store)
        assert (hits(store, "quispe"), hits(store, "redacted"), hits(store, "today")) == (set(), {"m1"}, {"m1"})

    def test_what_had_a_vector_waits_for_another(self, store: Store) -> None:
        append(store, say("m1", _HELD), say("m2"))
        embed(store)
        rewrite(store)
        assert [unit.text for unit in scan(store, "pending")] == [_LEFT]

    def test_arguments_metadata_and_what_it_came_as_are_redacted(self, store: Store) -> None:
        call = ToolCall("c1", "send", f'{{"to":"{_ADDRESS}","n":1}}')
        raw = Raw("openai", f'{{"role":"assistant","x":"{_ADDRESS}"}}'.encode())
        append(store, say("m1", "", role="assistant", tool_calls=(call,), metadata={"of": [_ADDRESS]}, raw=raw))
        rewrite(store)
        (message,) = read(store).messages
        assert message.tool_calls[0].arguments == '{"to":"[redacted:email]","n":1}'
        assert message.metadata == {"of": ["[redacted:email]"]}
        assert message.raw == Raw("openai", b'{"role":"assistant","x":"[redacted:email]"}')
        assert store.verify((_ADDRESS,)).clean

    def test_forks_are_rewritten_too(self, store: Store) -> None:
        append(store, say("m1", _HELD), say("m2"))
        fork(store, 1)
        assert rewrite(store).messages == 2
        assert read(store, "fork").messages[0].text == _LEFT

    def test_records_change_their_words_and_keep_their_ids(self, store: Store) -> None:
        append(store, say("m1", _HELD))
        put(
            store,
            insight("r1", _HELD, source("m1", _HELD), slot=f"mail:{_ADDRESS}"),
            note("n1", _HELD, metadata={"x": _ADDRESS}),
        )
        put(store, summary("s1", line(_HELD, "m1"), line("else", "m1")))
        done = rewrite(store)
        assert done.records == 3
        known, kept, session = record(store, "r1"), record(store, "n1"), record(store, "s1")
        assert isinstance(known, Insight)
        assert isinstance(session, Summary)
        assert (known.text, known.slot, known.value, known.sources[0].text) == (_LEFT, "mail:[redacted:email]", _LEFT, _LEFT)
        assert (kept.text, kept.metadata) == (_LEFT, {"x": "[redacted:email]"})
        assert ([each.text for each in session.lines], session.text) == ([_LEFT, "else"], f"{_LEFT}\nelse")
        assert hits(store, "quispe") == set()
        assert hits(store, "redacted") == {"m1", "r1", "n1", "s1"}

    def test_a_source_in_a_changed_message_no_longer_says_where(self, store: Store) -> None:
        append(store, say("m1", f"{_ADDRESS}. I live in Ghent"), say("m2", "I live in Ghent"))
        put(store, insight("r1", "Ghent", Source("m1", "t", "Ghent", 20, 30), Source("m2", "t", "Ghent", 0, 15)))
        rewrite(store)
        assert [(each.start, each.end) for each in record(store, "r1").sources] == [(0, 0), (0, 15)]

    def test_entries_of_a_state_change_their_words(self, store: Store) -> None:
        append(store, say("m1", _HELD))
        entry = StateEntry(
            id="e1",
            text=_HELD,
            trust="user",
            recorded_at=AT,
            thread_id="t",
            part="decision",
            because=_HELD,
            sources=(source("m1"),),
        )
        put(store, entry)
        rewrite(store)
        left = record(store, "e1")
        assert isinstance(left, StateEntry)
        assert (left.text, left.because) == (_LEFT, _LEFT)

    def test_lines_of_nodes_change_their_words(self, store: Store) -> None:
        append(store, say("m1", _HELD), say("m2"))
        fold(store, node("n1", 1, 2, line(_HELD, "m1"), line("hello", "m2")), through=2)
        assert rewrite(store).nodes == 1
        assert [each.text for each in get(store, nodes=("n1",)).nodes[0].lines] == [_LEFT, "hello"]

    def test_a_threads_metadata_is_redacted(self, store: Store) -> None:
        append(store, say("m1"), metadata={"owner": _ADDRESS, "handoff": {"thread": "t0"}})
        assert rewrite(store).threads == 1
        assert info(store).metadata == {"owner": "[redacted:email]", "handoff": {"thread": "t0"}}

    def test_a_state_that_is_json_is_written_anew_with_its_digest(self, store: Store) -> None:
        append(store, say("m1"))
        state = msgspec.json.encode({"draft": _HELD, "step": 3})
        store.save(Save(namespace=NS, thread_id="t", id="c1", at=AT, state=state, format="json", view={"draft": _HELD}))
        fork(store, 1)
        assert rewrite(store).checkpoints >= 1
        for thread in ("t", "fork"):
            (left,) = get(store, checkpoints=("c1",), thread_id=thread).checkpoints
            assert (left.value, left.view) == ({"draft": _LEFT, "step": 3}, {"draft": _LEFT})

    def test_a_state_in_another_format_goes_if_it_holds_something(self, store: Store) -> None:
        append(store, say("m1"))
        for name, state in (("c1", b"\x80clean"), ("c2", b"\x80\xff " + _ADDRESS.encode()), ("c3", b"\x80clean")):
            store.save(Save(namespace=NS, thread_id="t", id=name, at=AT, state=state, format="pickle"))
        assert rewrite(store).dropped == 1
        found = get(store, checkpoints=("c1", "c2", "c3")).checkpoints
        assert [(each.id, each.parent_id) for each in found] == [("c1", None), ("c3", "c1")]

    def test_receipts_that_show_something_of_it_go_and_others_stay(self, store: Store) -> None:
        append(store, say("m1", _HELD))
        append(store, say("m2"), thread="other")
        put(store, note("n1", _HELD), note("n2", "clean"))
        shows = {"a": shown("message", "m1"), "b": shown("record", "n1"), "c": shown("record", "n2")}
        for name, each in shows.items():
            put(store, receipt=receipt(name, each, thread="other"))
        put(store, receipt=receipt("d", thread="t"))
        assert rewrite(store).receipts == 3
        assert ids(scan(store, "receipts")) == ["c"]

    def test_doing_it_again_changes_nothing(self, store: Store) -> None:
        append(store, say("m1", _HELD), metadata={"x": _ADDRESS})
        put(store, note("n1", _HELD))
        assert rewrite(store).changed == 3
        assert rewrite(store).changed == 0

    def test_it_can_be_done_a_piece_at_a_time(self, store: Store) -> None:
        append(store, *[say(f"m{number}", _HELD) for number in range(5)])
        put(store, *[note(f"n{number}", _HELD) for number in range(5)])
        done = rewrite(store, limit=2)
        assert (done.messages, done.records, done.kinds) == (5, 5, {"email": 10})

    def test_a_dry_run_counts_and_writes_nothing(self, store: Store) -> None:
        append(store, say("m1", _HELD), metadata={"x": _ADDRESS})
        put(store, note("n1", _HELD))
        done = rewrite(store, dry=True)
        assert (done.messages, done.records, done.threads, done.kinds) == (1, 1, 1, {"email": 3})
        assert read(store).messages[0].text == _HELD
        assert record(store, "n1").text == _HELD

    def test_other_namespaces_are_left_alone(self, store: Store) -> None:
        below = (*NS, "below")
        for namespace in (NS, below, ("acme", "adam")):
            append(store, say("m1", _HELD), namespace=namespace)
            put(store, note("n1", _HELD), namespace=namespace)
        rewrite(store)
        assert read(store, namespace=below).messages[0].text == _HELD
        rewrite(store, subtree=True)
        assert read(store, namespace=below).messages[0].text == _LEFT
        assert record(store, "n1", ("acme", "adam")).text == _HELD

    def test_the_bytes_are_in_no_page_afterwards(self, store: Store) -> None:
        append(store, *[say(f"m{number}", f"{_HELD} {number}") for number in range(40)])
        put(store, note("n1", _HELD), insight("r1", _HELD, source("m1", _HELD)))
        fold(store, node("d1", 1, 40, line(_HELD, "m1")), through=40)
        assert rewrite(store, limit=7).erased
        assert store.verify((_ADDRESS,)).clean

    @pytest.mark.parametrize("kinds", [(), ("card", "iban")])
    def test_only_the_kinds_asked_for_are_replaced(self, store: Store, kinds: Any) -> None:
        append(store, say("m1", _HELD))
        assert rewrite(store, by=Redaction(kinds=kinds)).changed == 0
