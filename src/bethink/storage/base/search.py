"""Candidates for a query, with the counts that ranking needs."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from bethink.messages import Trust
from bethink.models import Fingerprint
from bethink.records import RecordKind
from bethink.storage.base.filters import Filter
from bethink.storage.base.past import Past
from bethink.storage.base.scope import Scope
from bethink.values import Namespace

__all__ = ["Candidate", "Found", "InView", "Search"]


class InView(msgspec.Struct, frozen=True, kw_only=True):
    """What whoever searches has before him already, all of one namespace. What is not there is no error.

    Attributes:
        thread_id: the thread of the messages.
        spans: of the messages, as inclusive ranges of seqs, so that a window of any length is one pair. What has the id of one
            of them in another thread of the namespace is in view as well: it is its copy (a fork's).
        records: ids of records.
    """

    namespace: Namespace
    thread_id: str
    spans: tuple[tuple[int, int], ...] = ()
    records: tuple[str, ...] = ()


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates for a query; ranking them is `retrieval.rank`, the same for every backend.

    Contract:
        - lexical leg: of the units in scope that hold any of `terms`, the `limit` best by the backend's own BM25. Where the
          frequencies of all come to more than 300 and to more than four times `limit`, a backend may count each term once in a
          unit, and pass over units that hold only the commonest of `terms`, if the others come to as many; where `kinds`
          are others than by default, something is in view, or there is a filter `where`, only if it finds `limit` others.
        - dense leg: of the units in scope that have a vector of `space`, the `limit` nearest to `vector` by cosine. Left out
          when `vector` is None. A backend may miss some in a namespace of more than 4,096 vectors, on average less than one in
          a hundred of the ten nearest; the cosines it gives are exact. A `vector` that `Put` would not store is refused.
        - filters (`scope`, `kinds`, `current`, `in_view`, `where`) hold inside each leg, before any limit.
        - what `where` is not true of is no candidate (see `filters`), and nothing else changes by it, the statistics included.
        - what is `in_view` is no candidate, and nothing else changes by it: the statistics are those of all units in scope.
        - neighbours: of the `around` best of each leg, the messages at most two before and two after (seqs, same thread) are
          candidates as well, beyond any limit and whatever they hold. Those that `where` is not true of or that are `in_view`
          are no candidates; they are `beside` them, since a message says what it says whoever asks.
        - the union of all is returned, each candidate with everything ranking needs; order is unspecified.
        - retired records are left out unless `current` is False.
        - `past`: among what there was at a time; holds inside each leg and in the statistics, which are counted for it: every
          unit of the scope is looked at.
        - items are found only where `kinds` names them. Who searches for them says in `where` that they are alive (see
          `filters.alive`): the statistics count what has expired and has not been removed yet.
        - `space` is that of `vector`, the current one or the one being filled (EmbedderMismatch otherwise); None stands for the
          current one.
        - with `tokens`, candidates and those beside them bring along the vectors of their tokens, if they have any of that
          space.
    """

    scope: Scope
    terms: tuple[str, ...] = ()
    vector: bytes | None = None
    kinds: tuple[Literal["message", "note", "insight", "summary", "episode", "item"], ...] = (
        *("message", "note", "insight", "summary", "episode"),
    )
    limit: int = 200
    around: int = 0
    current: bool = True
    in_view: InView | None = None
    where: Filter | None = None
    space: Fingerprint | None = None
    tokens: Fingerprint | None = None
    past: Past | None = None


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A unit that may answer the query.

    Attributes:
        positions: where each query term stands among its terms, from 0 (absent: nowhere).
        length: how many terms it has in all.
        cosine: similarity to the query's vector, -1 to 1; None if it has no vector of that space (yet) or none was asked for.
        tokens: vectors of its tokens (see `TokenVectors`); None if it has none of the space asked for, or none was.
    """

    kind: Literal["message"] | RecordKind
    id: str
    namespace: Namespace
    thread_id: str | None
    seq: int
    text: str
    speaker: str
    trust: Trust
    at: datetime
    positions: dict[str, tuple[int, ...]]
    length: int
    cosine: float | None = None
    tokens: bytes | None = None

    @property
    def counts(self) -> dict[str, int]:
        """How often each query term occurs in it (absent: not at all)."""
        return {term: len(places) for term, places in self.positions.items()}


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of `search`: candidates, and statistics of the units in scope.

    Attributes:
        units: how many there are.
        mean_length: their mean number of terms.
        frequency: for each query term, in how many of them it occurs (absent: none).
        pending: how many still wait for their vector, of the space that was searched.
        beside: neighbours of candidates that are none themselves: what they hold counts for those, and they are no answer.
        paths: how the dense leg went about it, in the backend's own words, sorted; empty if it did not run. Of SQLite: "exact"
            where all vectors of a namespace were compared, "codes" where their codes chose which are.
    """

    candidates: tuple[Candidate, ...]
    units: int
    mean_length: float
    frequency: dict[str, int]
    pending: int
    paths: tuple[str, ...] = ()
    beside: tuple[Candidate, ...] = ()
