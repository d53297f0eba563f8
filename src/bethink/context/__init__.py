"""Step 7: what the model gets to see.

    pinned messages         system prompts and messages of tier "permanent", as they are
    the memory message      one user message with a <memory> block: pinned, project, profile, recalled, previous session,
                            earlier sessions, summary
    recent messages         the newest of the thread, verbatim, whole groups only

    items      what may stand in the memory block, and how a line is written
    compose    chooses, within the budget
    render     turns the choice into a `Context` and a `Receipt`; rebuilds the same bytes from a receipt
    explain    what is in it and what is not, with figures
    state_block   the state of a thread's work alone, for a specialist

The memory block goes in as user-role data, delimited, escaped and labelled with who said it: recalled text is information and
never an instruction, whoever wrote it.
"""

from __future__ import annotations

from bethink.context.block import pinned_tokens
from bethink.context.compose import Composition, Sources, compose
from bethink.context.explain import Explanation, Kept, explain
from bethink.context.items import (
    Item,
    SectionName,
    Shown,
    as_disputed,
    handle,
    item_of_message,
    item_of_node,
    item_of_record,
    items_of_hit,
    items_of_summary,
)
from bethink.context.lines import FoldedLines, Lines
from bethink.context.render import Context, ContextLine, Named, rebuild, receipt_for, render
from bethink.context.state_block import state_block

__all__ = [
    "Composition",
    "Context",
    "ContextLine",
    "Explanation",
    "FoldedLines",
    "Item",
    "Kept",
    "Lines",
    "Named",
    "SectionName",
    "Shown",
    "Sources",
    "as_disputed",
    "compose",
    "explain",
    "handle",
    "item_of_message",
    "item_of_node",
    "item_of_record",
    "items_of_hit",
    "items_of_summary",
    "pinned_tokens",
    "rebuild",
    "receipt_for",
    "render",
    "state_block",
]
