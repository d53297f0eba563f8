"""What every backend asks of a scan before it begins."""

from __future__ import annotations

from bethink.errors import InvalidInput
from bethink.storage.base import Scan

__all__ = ["check_by_id"]


def check_by_id(request: Scan) -> None:
    """Raise InvalidInput unless a scan in the order of ids is of what has an index for it (see `Scan.by_id`)."""
    one_kind = request.kinds is not None and len(request.kinds) == 1
    rest = request.pinned or request.thread_id is not None or request.scope.subtree
    if request.what != "records" or not one_kind or not request.current or rest:
        raise InvalidInput("by_id", "not of one kind, current, in one namespace", "leave it out, or ask for no more than that")
