"""`SearchRules`: the part of `StoreMachine` that searches: by words, by vectors, beside what is in view, in the past.

Limits are larger than what there is, since each backend ranks by a BM25 of its own.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.retrieval.terms import index_terms
from bethink.storage.base import Candidate, Filter, Found, InView, Past, Scope, Search
from bethink.testing._stateful import TOKENS, MachineBase, embedders, namespaces, record_ids, scan, scopes, texts, thread_ids
from bethink.testing.doubles import START, HashEmbedder
from bethink.testing.strategies import filters

__all__ = ["SearchRules"]


_KINDS = ("message", "note", "insight", "summary", "episode")


class SearchRules(MachineBase):
    """Searches of everything there is, which must find the same candidates."""

    @rule(
        scope=scopes,
        query=texts,
        near=st.none() | texts,
        kinds=st.just(set(_KINDS)) | st.sets(st.sampled_from(_KINDS)),
        current=st.booleans(),
        around=st.sampled_from((0, 1000)),
        where=st.none() | filters(),
        embedder=st.none() | embedders,
    )
    def search(
        self,
        scope: Scope,
        query: str,
        near: str | None,
        kinds: set[Any],
        current: bool,
        around: int,
        where: Filter | None,
        embedder: HashEmbedder | None,
    ) -> None:
        """Of the space of an embedder, which may not be in use, or of the one being filled, else of the current one."""
        asked = self.in_use(newest=True) if embedder is None else embedder
        request = Search(
            scope=scope,
            terms=tuple(dict.fromkeys(index_terms(query).split())),
            vector=None if near is None else asked.stored(near),
            kinds=tuple(sorted(kinds)),
            limit=1000,
            around=around,
            current=current,
            where=where,
            tokens=TOKENS,
            space=asked.fingerprint,
        )
        self.both(lambda store: store.search(request), _comparable)

    @rule(
        data=st.data(),
        scope=scopes,
        query=texts,
        near=st.none() | texts,
        spans=st.lists(st.tuples(st.integers(0, 8), st.integers(1, 12)), max_size=3),
        records=st.lists(record_ids, max_size=2),
        limit=st.integers(1, 4),
    )
    def search_beside(
        self,
        data: st.DataObject,
        scope: Scope,
        query: str,
        near: str | None,
        spans: list[tuple[int, int]],
        records: list[str],
        limit: int,
    ) -> None:
        """What is in view is not found, a limit is of what is left, and that is as it was."""
        seen = InView(
            namespace=data.draw(namespaces), thread_id=data.draw(thread_ids), spans=tuple(spans), records=tuple(records)
        )
        terms = tuple(dict.fromkeys(index_terms(query).split()))
        vector = None if near is None else self.in_use(newest=False).stored(near)
        request = Search(scope=scope, terms=terms, vector=vector, limit=1000, around=1000)
        beside = msgspec.structs.replace(request, in_view=seen)
        self.both(lambda store: store.search(beside), _comparable)
        left = self.store.search(beside)
        whole = {(each.namespace, each.thread_id, each.id): each for each in self.store.search(request).candidates}
        assert all(each == whole[each.namespace, each.thread_id, each.id] for each in left.candidates)
        by_words = sum(bool(each.counts) for each in left.candidates)
        for_words = msgspec.structs.replace(beside, vector=None, limit=limit, around=0)
        assert len(self.store.search(for_words).candidates) == min(limit, by_words)

    @rule(data=st.data(), scope=scopes, query=texts, near=st.none() | texts, ago=st.none() | st.integers(0, 40))
    def search_past(self, data: st.DataObject, scope: Scope, query: str, near: str | None, ago: int | None) -> None:
        """Among what there was some time ago, with the records that somebody says there were."""
        records = [(each.namespace, each.record.id) for each in scan(self.reference, "records", scope)]
        known = data.draw(st.lists(st.sampled_from(records), max_size=4, unique=True)) if records else []
        past = Past(
            at=None if ago is None else START + timedelta(minutes=max(0, self.count - ago)),
            known=tuple(known),
            found=tuple(known[: data.draw(st.integers(0, len(known)))]),
        )
        request = Search(
            scope=scope,
            terms=tuple(dict.fromkeys(index_terms(query).split())),
            vector=None if near is None else self.in_use(newest=False).stored(near),
            limit=1000,
            around=1000,
            past=past,
            where=data.draw(st.none() | filters()),
        )
        self.both(lambda store: store.search(request), _comparable)


def _comparable(found: Found) -> object:
    """What two backends must agree on: all but the order, and the last digits of a cosine."""
    candidates, beside = (sorted(map(_told, each)) for each in (found.candidates, found.beside))
    return candidates, beside, found.units, round(found.mean_length, 6), found.frequency, found.pending


def _told(candidate: Candidate) -> tuple[Any, ...]:
    return (
        candidate.namespace,
        candidate.kind,
        candidate.thread_id or "",
        candidate.id,
        candidate.text,
        candidate.speaker,
        candidate.trust,
        sorted(candidate.counts.items()),
        candidate.length,
        None if candidate.cosine is None else round(candidate.cosine, 3) + 0.0,
    )
