"""bethink: memory for AI agents.

Keeps every message, folds what is old, remembers what matters, hands back the context that fits a budget, says why each line
is there, and can prove that it forgot. See `Memory` for where to start, ARCHITECTURE.md for how it works.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bethink.async_memory import AsyncMemory
    from bethink.async_thread import AsyncThread
    from bethink.attestations import Attestation, attest, check_attestation
    from bethink.checkpoints import Checkpoint, CheckpointInfo
    from bethink.claims import ArtifactRef, Claim, Contrary
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
        EmbeddingFailed,
        Forgotten,
        ImportFailed,
        InvalidInput,
        InvalidMessage,
        InvalidNamespace,
        LimitExceeded,
        MissingExtra,
        ModelFailed,
        NotFound,
        PermissionDenied,
        ProviderFailed,
        SchemaError,
        StoreBusy,
        StoreClosed,
        StoreError,
        ThreadBusy,
    )
    from bethink.handoffs import Handoff
    from bethink.insights.differences import Changed, Diff, HistoryEntry, HistoryEvent
    from bethink.insights.domains.given import template_from
    from bethink.insights.domains.template import Holds, ProfileTemplate, TemplateSection
    from bethink.insights.state.values import Artifact, Entry, State
    from bethink.items import FoundItem, Item, ItemPut
    from bethink.items.async_handle import AsyncItems
    from bethink.items.handle import Items
    from bethink.limits import Budget, Limits, LimitWarning
    from bethink.marks import Scored, Tiered
    from bethink.memory import Memory
    from bethink.messages import Message, Part, ToolCall
    from bethink.models.language import AsyncLanguageModel, LanguageModel, Prompt, Reply, Usage
    from bethink.models.litellm_model import LiteLLMModel
    from bethink.models.openai import OpenAIEmbedder
    from bethink.models.openai_model import OpenAIModel
    from bethink.models.priced import priced
    from bethink.models.probed import embedder_from
    from bethink.otel import OpenTelemetry
    from bethink.profile import Profile, ProfileEntry, ProfilePreview, ProfileSection
    from bethink.records import Decision, Episode, Insight, Line, Node, Note, Proposal, Source, StateEntry, Summary
    from bethink.redaction import Redaction
    from bethink.retrieval.hits import Hit, LeftOut, Member, RecallResult
    from bethink.retrieval.ranker import Ranker
    from bethink.retrieval.rerank import Reranker
    from bethink.retrieval.why import Why, WhyNot
    from bethink.settings import Backoff, Oversize, Retention, Settings
    from bethink.sharing.artifacts import OpenArtifact
    from bethink.sharing.async_board import AsyncBoard
    from bethink.sharing.board import Board
    from bethink.sharing.facts import Dispute, Fact
    from bethink.steps.plan import PlannedCall, RefinePlan
    from bethink.steps.redact import RedactReport
    from bethink.steps.refine import RefineReport
    from bethink.steps.reflect import Reflection
    from bethink.steps.summaries import SummaryNode
    from bethink.storage.base import (
        And,
        Asked,
        Attempt,
        Change,
        Compare,
        Contains,
        Exists,
        Filter,
        ForgetReceipt,
        In,
        Lease,
        Not,
        Or,
        Problem,
        Stats,
        Verification,
    )
    from bethink.telemetry import Listener
    from bethink.thread import Thread
    from bethink.threads import ThreadInfo
    from bethink.turns import AsyncTurn, Turn
    from bethink.usage import Latency, ModelCall, SectionTokens, TurnUsage, UsageReport

__version__ = "0.1.0"

__all__ = [
    "And",
    "Artifact",
    "ArtifactRef",
    "Asked",
    "AsyncBoard",
    "AsyncItems",
    "AsyncLanguageModel",
    "AsyncMemory",
    "AsyncThread",
    "AsyncTurn",
    "Attempt",
    "Attestation",
    "Backoff",
    "BethinkError",
    "Board",
    "Budget",
    "BudgetError",
    "Chain",
    "Change",
    "Changed",
    "Checkpoint",
    "CheckpointInfo",
    "Claim",
    "Compare",
    "Conflict",
    "Contains",
    "Context",
    "ContextLine",
    "Contrary",
    "CorruptStore",
    "Decision",
    "Diff",
    "Dispute",
    "EmbedderMismatch",
    "EmbeddingFailed",
    "Entry",
    "Episode",
    "Exists",
    "Explanation",
    "Fact",
    "Filter",
    "ForgetReceipt",
    "Forgotten",
    "FoundItem",
    "Handoff",
    "Hierarchy",
    "HistoryEntry",
    "HistoryEvent",
    "Hit",
    "Holds",
    "Hybrid",
    "ImportFailed",
    "In",
    "Insight",
    "InvalidInput",
    "InvalidMessage",
    "InvalidNamespace",
    "Item",
    "ItemPut",
    "Items",
    "LanguageModel",
    "Latency",
    "Lease",
    "LeftOut",
    "LimitExceeded",
    "LimitWarning",
    "Limits",
    "Line",
    "Listener",
    "LiteLLMModel",
    "Member",
    "Memory",
    "Message",
    "Messages",
    "MissingExtra",
    "ModelCall",
    "ModelFailed",
    "Node",
    "Not",
    "NotFound",
    "Note",
    "OpenAIEmbedder",
    "OpenAIModel",
    "OpenArtifact",
    "OpenTelemetry",
    "Or",
    "Oversize",
    "Part",
    "PermissionDenied",
    "PlannedCall",
    "Policy",
    "Problem",
    "Profile",
    "ProfileEntry",
    "ProfilePreview",
    "ProfileSection",
    "ProfileTemplate",
    "Prompt",
    "Proposal",
    "ProviderFailed",
    "Ranker",
    "RecallResult",
    "RedactReport",
    "Redaction",
    "RefinePlan",
    "RefineReport",
    "Reflection",
    "Reply",
    "Reranker",
    "Retention",
    "SchemaError",
    "Scored",
    "SectionTokens",
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
    "SummaryNode",
    "TemplateSection",
    "Thread",
    "ThreadBusy",
    "ThreadInfo",
    "Tiered",
    "Tiers",
    "TokenWindow",
    "Tokens",
    "ToolCall",
    "Turn",
    "TurnUsage",
    "Turns",
    "Usage",
    "UsageReport",
    "Verification",
    "Why",
    "WhyNot",
    "attest",
    "check_attestation",
    "embedder_from",
    "policy_from",
    "priced",
    "template_from",
]

# Where each public name lives; it is imported when it is first touched, so `import bethink` stays cheap.
_HOMES = {
    "attestations": ("Attestation", "attest", "check_attestation"),
    "async_memory": ("AsyncMemory",),
    "async_thread": ("AsyncThread",),
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
    "claims": ("ArtifactRef", "Claim", "Contrary"),
    "errors": (
        "BethinkError",
        "BudgetError",
        "Conflict",
        "CorruptStore",
        "EmbedderMismatch",
        "EmbeddingFailed",
        "Forgotten",
        "ImportFailed",
        "InvalidInput",
        "InvalidMessage",
        "InvalidNamespace",
        "LimitExceeded",
        "MissingExtra",
        "ModelFailed",
        "NotFound",
        "PermissionDenied",
        "ProviderFailed",
        "SchemaError",
        "StoreBusy",
        "StoreClosed",
        "StoreError",
        "ThreadBusy",
    ),
    "handoffs": ("Handoff",),
    "insights.domains.given": ("template_from",),
    "insights.domains.template": ("Holds", "ProfileTemplate", "TemplateSection"),
    "insights.differences": ("Changed", "Diff", "HistoryEntry", "HistoryEvent"),
    "insights.state.values": ("Artifact", "Entry", "State"),
    "items": ("FoundItem", "Item", "ItemPut"),
    "items.async_handle": ("AsyncItems",),
    "items.handle": ("Items",),
    "limits": ("Budget", "LimitWarning", "Limits"),
    "marks": ("Scored", "Tiered"),
    "memory": ("Memory",),
    "profile": ("Profile", "ProfileEntry", "ProfilePreview", "ProfileSection"),
    "messages": ("Message", "Part", "ToolCall"),
    "models.language": ("AsyncLanguageModel", "LanguageModel", "Prompt", "Reply", "Usage"),
    "models.litellm_model": ("LiteLLMModel",),
    "models.openai": ("OpenAIEmbedder",),
    "models.openai_model": ("OpenAIModel",),
    "models.priced": ("priced",),
    "models.probed": ("embedder_from",),
    "otel": ("OpenTelemetry",),
    "records": ("Decision", "Episode", "Insight", "Line", "Node", "Note", "Proposal", "Source", "StateEntry", "Summary"),
    "redaction": ("Redaction",),
    "retrieval.hits": ("Hit", "LeftOut", "Member", "RecallResult"),
    "retrieval.ranker": ("Ranker",),
    "retrieval.rerank": ("Reranker",),
    "retrieval.why": ("Why", "WhyNot"),
    "sharing.artifacts": ("OpenArtifact",),
    "sharing.async_board": ("AsyncBoard",),
    "sharing.board": ("Board",),
    "sharing.facts": ("Dispute", "Fact"),
    "settings": ("Backoff", "Oversize", "Retention", "Settings"),
    "telemetry": ("Listener",),
    "steps.redact": ("RedactReport",),
    "steps.plan": ("PlannedCall", "RefinePlan"),
    "steps.refine": ("RefineReport",),
    "steps.reflect": ("Reflection",),
    "steps.summaries": ("SummaryNode",),
    "storage.base": (
        "And",
        "Asked",
        "Attempt",
        "Change",
        "Compare",
        "Contains",
        "Exists",
        "Filter",
        "ForgetReceipt",
        "In",
        "Lease",
        "Not",
        "Or",
        "Problem",
        "Stats",
        "Verification",
    ),
    "thread": ("Thread",),
    "threads": ("ThreadInfo",),
    "turns": ("AsyncTurn", "Turn"),
    "usage": ("Latency", "ModelCall", "SectionTokens", "TurnUsage", "UsageReport"),
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
