"""Vectors of the tokens of units: kept beside their vectors, read for the candidates of a search that asks for them.

A unit has one set, of whichever space it was given last. A search names the space it can compare, and what is of another is not
there for it; so a change of models needs nothing here but that new ones are written.

Nothing of them is held in memory: they are some 2 KB a unit, and a search reads those of a few hundred (3 to 4 µs each).
"""

from __future__ import annotations

from collections.abc import Iterable

from bethink.models import Fingerprint
from bethink.storage.base import Scope, TokenVectors
from bethink.storage.sqlite.driver import Database
from bethink.storage.sqlite.queries import q
from bethink.storage.sqlite.values import encode, listed, path_range
from bethink.storage.vectors import check_tokens
from bethink.values import Namespace

__all__ = ["add", "space_key", "tokens_of"]


def add(database: Database, namespace: Namespace, tokens: TokenVectors) -> None:
    """Keep those of units of a namespace or below. One that is not there any more is passed over."""
    check_tokens(tokens)
    key = space_key(tokens.space)
    database.execute(q.add_token_space, (key, tokens.space.dimension))
    space = database.execute(q.token_space, (key,))[0][0]
    low, high = path_range(Scope(namespace, subtree=True))
    database.executemany(q.add_tokens, [(unit, low, high, space, data) for unit, data in tokens.of])


def tokens_of(database: Database, units: Iterable[int], space: Fingerprint | None) -> dict[int, bytes]:
    """Of those of some units that have any of the space; none at all of None."""
    known = [] if space is None else database.execute(q.token_space, (space_key(space),))
    return dict(database.execute(q.tokens_of, (listed(sorted(units)), known[0][0]))) if known else {}


def space_key(space: Fingerprint) -> str:
    """By which it is known in the file."""
    return encode(space).decode()
