"""What is true at a time of the world, which asks no clock of ours: a record says from when to when it is true.

What has been superseded was true until then; what has been corrected never was.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from bethink.records import AnyRecord, Insight

__all__ = ["opened", "true_at"]

_CORRECTED = "corrected"
"""How the reason of what never was true begins."""


def true_at(record: AnyRecord, at: datetime) -> bool:
    """Whether it holds in the world at a time, as far as is known: it is current, or was until another answer took its place,
    and the time is not before it began, nor at or after its end.

    What was archived, withdrawn or corrected is not taken to hold at any time.
    """
    superseded = record.superseded_by is not None and record.valid_to is not None
    if not record.current and (not superseded or record.reason.startswith(_CORRECTED)):
        return False
    begun = record.valid_from is None or record.valid_from <= at
    return begun and (record.valid_to is None or at < record.valid_to)


def opened(insight: Insight) -> Insight:
    """The insight as if it were current, for what is chosen among those that were."""
    return msgspec.structs.replace(insight, retired_at=None, superseded_by=None, reason="")
