"""bethink: memory for AI agents.

Keeps every message, folds what is old, remembers what matters, hands back the context that fits a budget, says why each line
is there, and can prove that it forgot. See `Memory` for where to start, ARCHITECTURE.md for how it works.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bethink.async_memory import AsyncMemory, AsyncThread
    from bethink.checkpoints import Checkpoint, CheckpointInfo
    from bethink.compaction.policies import (
        Chain,
        Hierarchy,
        Hybrid,
        Messages,
        Policy,
        SlidingWindow,
        Summarize,
        Tiers,
        Tokens,
        TokenWindow,
        Turns,
        policy_from,
    )
    from bethink.context import Context, ContextLine, Explanation
    from bethink.errors import (
        BethinkError,
        BudgetError,
        Conflict,
        CorruptStore,
        EmbedderMismatch,
        Forgotten,
        ImportFailed,
        InvalidInput,
        InvalidMessage,
        InvalidNamespace,
        MissingExtra,
        NotFound,
        SchemaError,
        StoreBusy,
        StoreClosed,
        StoreError,
        ThreadBusy,
    )
    from bethink.handoffs import Handoff
    from bethink.insights.state.values import Artifact, Entry, State
    from bethink.memory import Memory, Profile, ProfileEntry
    from bethink.messages import Message, Part, ToolCall
    from bethink.records import Decision, Insight, Line, Note, Source, StateEntry, Summary
    from bethink.retrieval.rank import Hit, Ranker, RecallResult
    from bethink.settings import Retention, Settings
    from bethink.storage.base import ForgetReceipt, Lease, Problem, Stats, Verification
    from bethink.thread import Thread
    from bethink.threads import ThreadInfo
    from bethink.turns import AsyncTurn, Turn

__version__ = "0.1.0"

__all__ = [
    "Artifact",
    "AsyncMemory",
    "AsyncThread",
    "AsyncTurn",
    "BethinkError",
    "BudgetError",
    "Chain",
    "Checkpoint",
    "CheckpointInfo",
    "Conflict",
    "Context",
    "ContextLine",
    "CorruptStore",
    "Decision",
    "EmbedderMismatch",
    "Entry",
    "Explanation",
    "ForgetReceipt",
    "Forgotten",
    "Handoff",
    "Hierarchy",
    "Hit",
    "Hybrid",
    "ImportFailed",
    "Insight",
    "InvalidInput",
    "InvalidMessage",
    "InvalidNamespace",
    "Lease",
    "Line",
    "Memory",
    "Message",
    "Messages",
    "MissingExtra",
    "NotFound",
    "Note",
    "Part",
    "Policy",
    "Problem",
    "Profile",
    "ProfileEntry",
    "Ranker",
    "RecallResult",
    "Retention",
    "SchemaError",
    "Settings",
    "SlidingWindow",
    "Source",
    "State",
    "StateEntry",
    "Stats",
    "StoreBusy",
    "StoreClosed",
    "StoreError",
    "Summarize",
    "Summary",
    "Thread",
    "ThreadBusy",
    "ThreadInfo",
    "Tiers",
    "TokenWindow",
    "Tokens",
    "ToolCall",
    "Turn",
    "Turns",
    "Verification",
    "policy_from",
]

# Where each public name lives; it is imported when it is first touched, so `import bethink` stays cheap.
_HOMES = {
    "async_memory": ("AsyncMemory", "AsyncThread"),
    "compaction.policies": (
        "Chain",
        "Hierarchy",
        "Hybrid",
        "Messages",
        "Policy",
        "SlidingWindow",
        "Summarize",
        "Tiers",
        "TokenWindow",
        "Tokens",
        "Turns",
        "policy_from",
    ),
    "context": ("Context", "ContextLine", "Explanation"),
    "checkpoints": ("Checkpoint", "CheckpointInfo"),
    "errors": (
        "BethinkError",
        "BudgetError",
        "Conflict",
        "CorruptStore",
        "EmbedderMismatch",
        "Forgotten",
        "ImportFailed",
        "InvalidInput",
        "InvalidMessage",
        "InvalidNamespace",
        "MissingExtra",
        "NotFound",
        "SchemaError",
        "StoreBusy",
        "StoreClosed",
        "StoreError",
        "ThreadBusy",
    ),
    "handoffs": ("Handoff",),
    "insights.state.values": ("Artifact", "Entry", "State"),
    "memory": ("Memory", "Profile", "ProfileEntry"),
    "messages": ("Message", "Part", "ToolCall"),
    "records": ("Decision", "Insight", "Line", "Note", "Source", "StateEntry", "Summary"),
    "retrieval.rank": ("Hit", "Ranker", "RecallResult"),
    "settings": ("Retention", "Settings"),
    "storage.base": ("ForgetReceipt", "Lease", "Problem", "Stats", "Verification"),
    "thread": ("Thread",),
    "threads": ("ThreadInfo",),
    "turns": ("AsyncTurn", "Turn"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'bethink' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"bethink.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
