"""From a query to ranked hits: the order in which the pieces of retrieval are used.

Names of people who speak here say whose words are wanted, not what they are about, and they drown everything else in a small
embedding. So the query is first looked up by its words; the names of the speakers found are taken out of it; and what is left
is searched by words and by meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from bethink.models import Embedder
from bethink.records import RecordKind
from bethink.retrieval.rank import Ranker, RecallResult, rank, speakers_in, without_names
from bethink.retrieval.terms import query_terms
from bethink.storage.base import Found, Scope, Search

__all__ = ["Searchable", "recall"]

Searchable: TypeAlias = Literal["message"] | RecordKind

_KINDS: tuple[Searchable, ...] = ("message", "note", "insight", "summary")


def recall(
    query: str,
    *,
    scope: Scope,
    search: Callable[[Search], Found],
    embedder: Embedder | None,
    ranker: Ranker,
    k: int,
    now: datetime,
    kinds: tuple[Searchable, ...] | None = None,
) -> RecallResult:
    """The at most `k` best answers, or none with the reason. `search` is the store's.

    Cost: one lexical search to learn who speaks here; a second one, with the vector, when there is an embedder or a name.
    """
    asked = Search(scope=scope, terms=query_terms(query), kinds=kinds or _KINDS)
    found = search(asked)
    names = speakers_in(query, {candidate.speaker for candidate in found.candidates})
    terms = query_terms(query, names=names)
    vector = None
    if embedder is not None and query.strip():
        vector = embedder.embed([without_names(query, names)])[0].tobytes()
    if vector is not None or terms != asked.terms:
        found = search(msgspec.structs.replace(asked, terms=terms, vector=vector))
    return rank(found, query, terms, k=k, now=now, ranker=ranker)
