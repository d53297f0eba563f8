"""Secrets and personal data out of what is kept: found by `finders`, replaced by a placeholder in any value (`Redaction`).

    redaction = Redaction()
    redaction.text("Write to ana@example.org.")      # "Write to [redacted:email]."

Pure over values. Where it is applied is in `storage.redacting` (as things are written) and `storage.base.Rewrite` (to what is
stored already).
"""

from __future__ import annotations

from bethink.redaction.kinds import KINDS, Kind
from bethink.redaction.redaction import Redaction, counts

__all__ = ["KINDS", "Kind", "Redaction", "counts"]
