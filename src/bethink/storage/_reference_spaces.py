"""The vector spaces of a state: the current one, and the one that is being filled. See `storage.base.spaces`."""

from __future__ import annotations

from typing import Literal

import msgspec

from bethink.models import Fingerprint, mismatch
from bethink.storage._reference_state import State, Unit
from bethink.storage.base import Space

__all__ = ["bind", "fill", "is_filling", "spaces", "switch", "vector_of"]

replace = msgspec.structs.replace


def spaces(state: State) -> tuple[Space, ...]:
    """See `Store.spaces`."""
    found: list[Space] = []
    if state.embedder is not None:
        found.append(_space(state, state.embedder, "current"))
    if state.filling is not None:
        found.append(_space(state, state.filling, "filling"))
    return tuple(found)


def _space(state: State, fingerprint: Fingerprint, name: Literal["current", "filling"]) -> Space:
    vectors = sum(vector_of(unit, filling=name == "filling") is not None for unit in state.units.values())
    return Space(fingerprint, name, vectors, len(state.units) - vectors)


def bind(state: State, fingerprint: Fingerprint) -> None:
    """See `Store.bind_embedder`."""
    if state.embedder not in (None, fingerprint):
        raise mismatch(state.embedder, fingerprint)
    state.embedder = fingerprint


def fill(state: State, fingerprint: Fingerprint) -> None:
    """See `Store.fill_space`."""
    if state.embedder is None:
        state.embedder = fingerprint
    elif state.filling != fingerprint:
        _empty(state)
        state.filling = None if fingerprint == state.embedder else fingerprint


def switch(state: State, fingerprint: Fingerprint, waiting: int) -> bool:
    """See `Store.switch_space`."""
    if not is_filling(state, fingerprint):
        return state.embedder == fingerprint
    if sum(unit.filled is None for unit in state.units.values()) > waiting:
        return False
    for number, unit in state.units.items():
        state.units[number] = replace(unit, vector=unit.filled, filled=None)
    state.embedder, state.filling = state.filling, None
    return True


def _empty(state: State) -> None:
    for number, unit in state.units.items():
        state.units[number] = replace(unit, filled=None)


def is_filling(state: State, space: Fingerprint | None) -> bool:
    """Whether a space is the one that is being filled; the current one otherwise. EmbedderMismatch if it is neither."""
    if space is None or state.embedder is None or space == state.embedder:
        return False
    if space != state.filling:
        raise mismatch(state.embedder, space)
    return True


def vector_of(unit: Unit, *, filling: bool) -> bytes | None:
    """Of one of the two spaces."""
    return unit.filled if filling else unit.vector
