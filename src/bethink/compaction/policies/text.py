"""Policies as text, and back: `sliding-window(10 turns)`, `tiers(working=5) | summarize(keep=10 messages)`."""

from __future__ import annotations

import re
from typing import Any

from bethink.compaction.policies.base import Chain, Messages, Policy, Tokens, Turns
from bethink.compaction.policies.folding import Hierarchy, Hybrid, Summarize
from bethink.compaction.policies.tiers import Tiers
from bethink.compaction.policies.window import SlidingWindow, TokenWindow
from bethink.errors import InvalidInput
from bethink.values import check_text

__all__ = ["policy_from"]

_KINDS: dict[str, type[Policy]] = {
    "hierarchy": Hierarchy,
    "hybrid": Hybrid,
    "sliding-window": SlidingWindow,
    "summarize": Summarize,
    "tiers": Tiers,
    "token-window": TokenWindow,
}
_UNITS: dict[str, type[Messages | Turns | Tokens]] = {
    "messages": Messages,
    "message": Messages,
    "turns": Turns,
    "turn": Turns,
    "tokens": Tokens,
    "token": Tokens,
}
_POLICY = re.compile(r"\s*(?P<name>[a-z-]+)\s*(?:\((?P<knobs>[^()]*)\))?\s*")
_KNOB = re.compile(
    r"\s*(?:(?P<field>[a-z_]+)\s*=)?\s*"
    r"(?:(?P<flag>[Tt]rue|[Ff]alse)|(?P<number>-?[\d_]+(?P<share>\.\d+)?)\s*(?P<unit>[a-z]+)?)\s*"
)


def policy_from(text: str) -> Policy:
    """The policy that `str(policy)` wrote, or a person: names and knobs as in Python, joined by `|`.

    Raises:
        InvalidInput: no such policy or knob, or something that is neither.
        BudgetError: a size that keeps nothing.
    """
    check_text(text, "policy")
    policies = [_one(part) for part in text.split("|")]
    return policies[0] if len(policies) == 1 else Chain(tuple(policies))


def _one(text: str) -> Policy:
    found = _POLICY.fullmatch(text)
    kind = _KINDS.get(found["name"]) if found else None
    if found is None or kind is None:
        raise InvalidInput("policy", "no policy of that name", f"use one of {', '.join(_KINDS)}, with its knobs in brackets")
    knobs: dict[str, Any] = {}
    fields = kind.__struct_fields__
    for index, part in enumerate(found["knobs"].split(",") if (found["knobs"] or "").strip() else ()):
        knob = _KNOB.fullmatch(part)
        if knob is None or (knob["unit"] and knob["unit"] not in _UNITS):
            raise InvalidInput(
                f"policy {found['name']}", "a knob that is none", "write it as name=12 messages, turns or tokens"
            )
        field = knob["field"] or (fields[index] if index < len(fields) else "")
        if field not in fields or field in knobs:
            raise InvalidInput(f"policy {found['name']}", "a knob too many", f"its knobs are {', '.join(fields) or 'none'}")
        knobs[field] = _value(knob, plain=kind is SlidingWindow and knob["unit"] in ("message", "messages"))
    return kind(**knobs)


def _value(knob: re.Match[str], *, plain: bool) -> bool | int | float | Messages | Turns | Tokens:
    if knob["flag"]:
        return knob["flag"] in ("True", "true")
    if knob["share"]:
        if knob["unit"]:
            raise InvalidInput("policy", "half a message", f"give a whole number of {knob['unit']}")
        return float(knob["number"])
    number = int(knob["number"])
    # A window of messages is given by its number alone.
    return number if plain or not knob["unit"] else _UNITS[knob["unit"]](number)
