"""What is in a context and what is not, with the reasons. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from bethink.context.compose import Composition, size_of, with_cuts
from bethink.context.items import BLOCK, SectionName
from bethink.messages import Message, ranges
from bethink.models import TokenCounter
from bethink.records import Decision

__all__ = ["Explanation", "Kept", "explain"]

_MOST_RANGES = 6


class Kept(msgspec.Struct, frozen=True):
    """A part of a context: how many messages or lines of a section, and their tokens.

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
        kept: what is shown, section by section.
        decisions: what was done with the messages that are not shown, who decided it, and why.
    """

    policy: str
    budget: int
    tokens: int
    kept: tuple[Kept, ...]
    decisions: tuple[Decision, ...]

    def __str__(self) -> str:
        share = f" ({self.tokens / self.budget:.0%})" if self.budget else ""
        lines = [f"{self.policy or 'no policy named'}: {self.tokens:,} of {self.budget:,} tokens{share}"]
        for part in self.kept:
            what = f"messages {_listed(part.messages)}" if part.messages else f"{part.count} lines"
            lines.append(f"  shown     {part.section}: {what} ({part.tokens:,} tokens)")
        for decision in self.decisions:
            tokens = f" ({decision.tokens:,} tokens)" if decision.tokens else ""
            lines.append(
                f"  {decision.done:<9} messages {_listed(decision.messages)}{tokens}: {decision.reason} [{decision.policy}]"
            )
        return "\n".join(lines)


def explain(made_of: Composition, *, budget: int, counter: TokenCounter) -> Explanation:
    """The explanation of a context."""
    kept = [_verbatim("pinned", made_of.pinned, counter)]
    for name in BLOCK:
        tokens = [each.tokens for each in made_of.block if each.item.section == name]
        kept.append(Kept(name, len(tokens), sum(tokens)))
    kept.append(_verbatim("recent messages", with_cuts(made_of.recent, made_of.cuts), counter))
    return Explanation(
        policy=made_of.policy,
        budget=budget,
        tokens=made_of.tokens,
        kept=tuple(part for part in kept if part.count),
        decisions=made_of.decisions,
    )


def _verbatim(section: SectionName, messages: Sequence[Message], counter: TokenCounter) -> Kept:
    seqs = ranges(sorted(message.seq for message in messages))
    return Kept(section, len(messages), size_of(messages, counter), seqs)


def _listed(spans: Iterable[tuple[int, int]]) -> str:
    found = [f"{first}" if first == last else f"{first}-{last}" for first, last in spans]
    return ", ".join(found[:_MOST_RANGES]) + (f" and {len(found) - _MOST_RANGES} more" if len(found) > _MOST_RANGES else "")
