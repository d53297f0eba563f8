"""From a query to ranked hits: the order in which the pieces of retrieval are used.

Names of people who speak here say whose words are wanted, not what they are about, and they drown everything else in a small
embedding. So the names of those who speak here are taken out of the query; what is left is searched by words and by meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from bethink.models import Embedder
from bethink.retrieval.dates import time_cues
from bethink.retrieval.rank import Ranker, RecallResult, rank, speakers_in, without_names
from bethink.retrieval.terms import query_terms
from bethink.storage.base import Filter, Found, InView, Scope, Search

__all__ = ["Searchable", "recall"]

Searchable: TypeAlias = Literal["message", "note", "insight", "summary"]
"""What search finds. Entries of a state are read, not searched."""

_KINDS: tuple[Searchable, ...] = ("message", "note", "insight", "summary")

_CANDIDATES = 48
"""How many of each leg are ranked, or `k` if that is more. What is not among the first 48 by words or by meaning is no
answer."""

_AROUND = 16
"""Of how many of the best of each leg the neighbours are ranked as well. (LoCoMo, recall at 10: of 8 costs half a point, of all
48 gains nothing.)"""


def recall(
    query: str,
    *,
    scope: Scope,
    search: Callable[[Search], Found],
    speakers: Callable[[Scope], tuple[str, ...]],
    embedder: Embedder | None,
    ranker: Ranker,
    k: int,
    now: datetime,
    kinds: tuple[Searchable, ...] | None = None,
    in_view: InView | None = None,
    where: Filter | None = None,
    span: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> RecallResult:
    """The at most `k` best answers that `where` is true of and that are not `in_view`, or none with the reason. `search` and
    `speakers` are the store's; each is called once. Each step is done within the `span` of its name.
    """
    names = speakers_in(query, speakers(scope))
    terms = query_terms(query, names=names)
    cues = time_cues(query, now=now)
    vector = None
    if embedder is not None and query.strip():
        with span("recall.embed"):
            vector = embedder.embed([without_names(query, names)])[0].tobytes()
    limit = max(_CANDIDATES, k)
    with span("recall.search"):
        request = Search(
            scope=scope,
            terms=terms,
            vector=vector,
            kinds=kinds or _KINDS,
            limit=limit,
            around=_AROUND,
            in_view=in_view,
            where=where,
        )
        found = search(request)
    with span("recall.rank"):
        ranked = rank(found, query, terms, names=names, cues=cues, beside=in_view is not None, k=k, now=now, ranker=ranker)
    if where is not None and found.units and query.strip() and not found.candidates:
        return msgspec.structs.replace(ranked, empty_reason="nothing that passes the filter matches the query")
    return ranked
