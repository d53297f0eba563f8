"""What a request is about: a namespace, or it and all below it."""

from __future__ import annotations

import msgspec

from bethink.values import Namespace

__all__ = ["Scope"]


class Scope(msgspec.Struct, frozen=True):
    """One namespace, or with `subtree` it and all below it."""

    namespace: Namespace
    subtree: bool = False
