"""From a query to ranked hits: the order in which the pieces of retrieval are used.

Names of people who speak here say whose words are wanted, not what they are about, and they drown everything else in a small
embedding. So the names of those who speak here are taken out of the query; what is left is searched by words and by meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from bethink.models import Embedder, TokenEmbedder, embed_queries
from bethink.retrieval.dates import TimeCue, time_cues
from bethink.retrieval.hits import RecallResult
from bethink.retrieval.names import speakers_in, without_names
from bethink.retrieval.rank import rank
from bethink.retrieval.ranker import Ranker
from bethink.retrieval.terms import query_part, query_terms
from bethink.storage.base import Compare, Filter, Found, InView, Or, Past, Scope, Search

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bethink.retrieval.scores import Weighed

__all__ = ["Looked", "Searchable", "answer", "look", "weighed_for"]

replace = msgspec.structs.replace

Searchable: TypeAlias = Literal["message", "note", "insight", "summary", "episode"]
"""What search finds. Entries of a state are read, not searched."""

_KINDS: tuple[Searchable, ...] = ("message", "note", "insight", "summary", "episode")

_CANDIDATES, _FEWEST = 48, 32
"""How many of each leg are ranked, or `k` if that is more. What is not among the first 48 by words or by meaning is no answer.
By words alone four are for each hit that is asked for, 32 at least. (LoCoMo, recall at 10 of 40: .774, of 48 .775; BEAM: the
same.)"""

_AROUND, _AROUND_BOTH = 16, _CANDIDATES
"""Of how many of the best of each leg the neighbours are ranked as well, by words alone and where both legs run. (Recall at 10
by words alone: of 8 costs half a point on LoCoMo, of all gains nothing. With MiniLM all gain .003 there and .005 on BEAM.)"""


_AT_THE_TIME = 16
"""How many of each leg are ranked besides, of what was said at a time that the query names."""
_TOLD_WITHIN = timedelta(days=7)
"""So long people speak of what has happened."""


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What came of searching for a query: all that ranking needs, and what `why` tells of it.

    Attributes:
        query: what was read of it (`terms.query_part`).
        names: of people who speak here, and whom it names.
        request: the first search; `then`, what was said at a time that the query names, was asked for once more.
        tokens: vectors of its tokens, where those are compared.
    """

    query: str
    names: frozenset[str]
    terms: tuple[str, ...]
    cues: tuple[TimeCue, ...]
    request: Search
    then: Filter | None
    found: Found
    tokens: NDArray[np.int8] | None = None

    @property
    def beside(self) -> bool:
        """Whether there is something in view, which was not looked for."""
        return self.request.in_view is not None


def look(
    query: str,
    *,
    scope: Scope,
    search: Callable[[Search], Found],
    speakers: Callable[[Scope], tuple[str, ...]],
    embedder: Embedder | None,
    of_tokens: TokenEmbedder | None = None,
    k: int,
    now: datetime,
    kinds: tuple[Searchable | Literal["item"], ...] | None = None,
    in_view: InView | None = None,
    where: Filter | None = None,
    past: Past | None = None,
    span: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Looked:
    """Search for what may answer a query, that `where` is true of and that is not `in_view`; with `past`, among what there was.

    `search` and `speakers` are the store's. `search` is called once, and once more where the query names a time: what was said
    then may be far from the best of all by its words. Each step is done within the `span` of its name. Any text is a query; of
    a very long one its ends are read (`terms.query_part`). `of_tokens` is `embedder`, where tokens are to be compared as well.
    """
    query = query_part(query)
    names = speakers_in(query, speakers(scope))
    terms = query_terms(query, names=names)
    cues = time_cues(query, now=now)
    vector = tokens = None
    if embedder is not None and query.strip():
        with span("recall.embed"):
            nameless = [without_names(query, names)]
            if of_tokens is not None:
                tokens = of_tokens.embed_tokens(nameless).tokens[0]
            vector = embed_queries(embedder, nameless)[0].tobytes()
    with span("recall.search"):
        request = Search(
            scope=scope,
            terms=terms,
            vector=vector,
            kinds=kinds or _KINDS,
            limit=max(k, _CANDIDATES if vector is not None else min(_CANDIDATES, max(_FEWEST, 4 * k))),
            around=_AROUND if vector is None else _AROUND_BOTH,
            in_view=in_view,
            where=where,
            past=past,
            tokens=None if of_tokens is None else of_tokens.token_fingerprint,
        )
        found = search(request)
        if (then := _said_then(cues)) is not None:
            at_the_time = then if where is None else where & then
            found = _joined(found, search(replace(request, limit=_AT_THE_TIME, around=0, where=at_the_time)))
    return Looked(query=query, names=names, terms=terms, cues=cues, request=request, then=then, found=found, tokens=tokens)


def weighed_for(looked: Looked, ranker: Ranker) -> Weighed:
    """What ranking makes of the query."""
    from bethink.retrieval.scores import weighed

    return weighed(
        looked.found, looked.query, looked.terms, names=looked.names, cues=looked.cues, beside=looked.beside, ranker=ranker
    )


def answer(looked: Looked, *, ranker: Ranker, k: int, now: datetime, asked: Weighed | None = None) -> RecallResult:
    """The at most `k` best of what was found, or none with the reason. `asked` is what `weighed_for` made of the query, if that
    is known.
    """
    found, query = looked.found, looked.query
    ranked = rank(
        found,
        query,
        looked.terms,
        names=looked.names,
        cues=looked.cues,
        beside=looked.beside,
        k=k,
        now=now,
        ranker=ranker,
        tokens=looked.tokens,
        asked=asked,
    )
    if looked.request.where is not None and found.units and query.strip() and not found.candidates:
        return replace(ranked, empty_reason="nothing that passes the filter matches the query")
    return ranked


def _said_then(cues: tuple[TimeCue, ...]) -> Filter | None:
    """Said at one of the times, or soon after; None where no cue tells a time that has two ends."""
    spans = [
        Compare(("at",), "gte", cue.start) & Compare(("at",), "lt", _later(cue.end))
        for cue in cues
        if cue.start is not None and cue.end is not None and cue.relation in ("within", "around")
    ]
    return Or(tuple(spans)) if spans else None


def _later(moment: datetime) -> datetime:
    latest = datetime.max.replace(tzinfo=moment.tzinfo)
    return moment + _TOLD_WITHIN if moment < latest - _TOLD_WITHIN else latest


def _joined(found: Found, more: Found) -> Found:
    """The candidates of both searches, each once; the statistics are the same."""
    known = {(each.namespace, each.kind, each.thread_id, each.id) for each in found.candidates}
    new = [each for each in more.candidates if (each.namespace, each.kind, each.thread_id, each.id) not in known]
    return replace(found, candidates=(*found.candidates, *new))
