"""Which memories an answer used.

A context shows each recalled line with a short handle; a model that uses the line names it as `[mem:HANDLE]`. Several may
share a bracket: `[mem:a1, mem:b2]` or `[mem:a1, b2]`. No model and no guess from similar words decides what was used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["cited"]

_MARKER = re.compile(r"\[mem:([^\[\]]{1,400})\]")


def cited(reply: str, handles: Mapping[str, str]) -> tuple[str, ...]:
    """Ids of the records that `reply` names, each once, in the order of their first mention.

    Args:
        reply: what the model answered.
        handles: record id by the handle its context showed. Handles that are not in it are the model's invention: ignored.
    """
    named = (
        handle.strip().removeprefix("mem:").strip() for marker in _MARKER.finditer(reply) for handle in marker[1].split(",")
    )
    return tuple(dict.fromkeys(handles[handle] for handle in named if handle in handles))
