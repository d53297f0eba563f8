"""What is in a context and what is not, with the reasons. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from bethink.context.compose import Composition
from bethink.context.items import BLOCK, SectionName
from bethink.messages import Message, ranges
from bethink.models.measure import Measure
from bethink.records import Decision

__all__ = ["Explanation", "Kept", "Load", "explain", "load_of", "sections_of"]

_MOST_RANGES = 6

Load: TypeAlias = Literal["ideal", "good", "high", "critical"]
_LOADS: tuple[tuple[float, Load], ...] = ((0.5, "ideal"), (0.75, "good"), (0.9, "high"))


def load_of(tokens: int, budget: int) -> Load:
    """How full a context is: up to half of its budget "ideal", up to 75 % "good"; "high" above that, where it should be
    compacted; "critical" above 90 %, where models lose much of what they are given.
    """
    for share, load in _LOADS:
        if tokens <= share * budget:
            return load
    return "critical"


class Kept(msgspec.Struct, frozen=True):
    """A part of a context: how many messages or lines (1 of what is neither), and their tokens.

    `messages` are the seqs of messages shown verbatim, as inclusive ranges; () for lines of the memory block.
    """

    section: SectionName
    count: int
    tokens: int
    messages: tuple[tuple[int, int], ...] = ()


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a context holds what it holds. As text, one line for each part.

    Attributes:
        policy: the name of the policy; "" for a context older than policies.
        load: how full it is (see `load_of`).
        kept: what is shown, section by section; together `tokens`.
        decisions: what was done with the messages that are not shown, who decided it, and why.
    """

    policy: str
    budget: int
    tokens: int
    load: Load
    kept: tuple[Kept, ...]
    decisions: tuple[Decision, ...]

    def __str__(self) -> str:
        share = f" ({self.tokens / self.budget:.0%}, {self.load})" if self.budget else ""
        lines = [f"{self.policy or 'no policy named'}: {self.tokens:,} of {self.budget:,} tokens{share}"]
        lines += [f"  shown     {part.section}{_what(part)} ({part.tokens:,} tokens)" for part in self.kept]
        for decision in self.decisions:
            tokens = f" ({decision.tokens:,} tokens)" if decision.tokens else ""
            lines.append(
                f"  {decision.done:<9} messages {_listed(decision.messages)}{tokens}: {decision.reason} [{decision.policy}]"
            )
        return "\n".join(lines)


def explain(made_of: Composition, *, budget: int, measure: Measure) -> Explanation:
    """The explanation of a context."""
    return Explanation(
        policy=made_of.policy,
        budget=budget,
        tokens=made_of.tokens,
        load=load_of(made_of.tokens, budget),
        kept=_kept(made_of, measure),
        decisions=made_of.decisions,
    )


def sections_of(made_of: Composition, measure: Measure) -> dict[SectionName, int]:
    """Tokens of a context by section, together all of its tokens."""
    found: dict[SectionName, int] = {}
    for name, count, tokens in _parts(made_of, measure):
        if count:
            found[name] = found.get(name, 0) + tokens
    return found


def _kept(made_of: Composition, measure: Measure) -> tuple[Kept, ...]:
    verbatim, *others = _parts(made_of, measure)
    kept = [Kept(*verbatim, _seqs(made_of.pinned))]
    kept += [Kept(*part, _seqs(made_of.recent) if part[0] == "recent messages" else ()) for part in others]
    return tuple([part for part in kept if part.count])


def _parts(made_of: Composition, measure: Measure) -> list[tuple[SectionName, int, int]]:
    """What a context is made of, in order: each part's section, how many it is, and its tokens. Pinned messages come first."""
    pinned = measure.messages(made_of.pinned)
    lines: dict[SectionName, list[int]] = {name: [] for name in BLOCK}
    for each in made_of.block:
        lines[each.item.section].append(each.tokens)
    around = dict(made_of.around)
    return [
        ("pinned", len(made_of.pinned), pinned),
        *[(name, len(tokens), sum(tokens)) for name, tokens in lines.items()],
        ("frame", 1 if made_of.block else 0, made_of.memory - sum([each.tokens for each in made_of.block])),
        # What is left is theirs: each was counted, as it is shown, when it was chosen.
        ("recent messages", len(made_of.recent), made_of.tokens - pinned - made_of.memory - sum(around.values())),
        *[(name, 1, around[name]) for name in _AROUND if name in around],
    ]


_AROUND: tuple[SectionName, ...] = ("tools", "reply")


def _seqs(messages: Sequence[Message]) -> tuple[tuple[int, int], ...]:
    return ranges(sorted([message.seq for message in messages]))


def _what(part: Kept) -> str:
    if part.messages:
        return f": messages {_listed(part.messages)}"
    return f": {part.count} lines" if part.section in BLOCK else ""


def _listed(spans: Iterable[tuple[int, int]]) -> str:
    found = [f"{first}" if first == last else f"{first}-{last}" for first, last in spans]
    return ", ".join(found[:_MOST_RANGES]) + (f" and {len(found) - _MOST_RANGES} more" if len(found) > _MOST_RANGES else "")
