"""Every knob with its default, in one frozen value. Nothing else in the package hard-codes one of these numbers."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from bethink.errors import BudgetError, InvalidInput

__all__ = [
    "Backoff",
    "Boundary",
    "EpisodeKeep",
    "Keep",
    "LineOrder",
    "MemoryPlace",
    "ModelStepName",
    "Oversize",
    "Retention",
    "Settings",
    "check_choice",
]

Keep: TypeAlias = Literal["both", "start", "end"]
Boundary: TypeAlias = Literal["paragraph", "sentence", "word"]
LineOrder: TypeAlias = Literal["edges", "ranked", "chronological"]
EpisodeKeep: TypeAlias = Literal["useful", "newest"]
MemoryPlace: TypeAlias = Literal["start", "question"]
ModelStepName: TypeAlias = Literal["summarise", "extract", "reconcile", "importance", "reflect"]
_Answer: TypeAlias = Literal["cut", "error"]


def check_choice(given: object, field: str, choices: Any) -> None:
    """Raise InvalidInput for a value that is none of a `Literal`'s."""
    if given not in get_args(choices):
        raise InvalidInput(field, "not one of its choices", f"use one of {', '.join(get_args(choices))}")


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of the retention score (see `insights.retention`).

    `base_decay` is an e-folding time, not a half-life: untouched for that long, an insight keeps 1/e of its weight. What is
    pinned, constraints whose slot begins with one of `exempt`, and whatever stands in one of the slots `kept`, is kept whatever
    it scores.
    """

    base_decay: timedelta = timedelta(days=30)
    recency_boost: float = 0.3
    recency_window: timedelta = timedelta(days=7)
    high: float = 1.5
    medium: float = 1.0
    low: float = 0.8
    exempt: tuple[str, ...] = ("allergy", "intolerance", "medical", "medication", "legal")
    kept: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.base_decay <= timedelta():
            raise InvalidInput("retention.base_decay", f"{self.base_decay}", "use more than 0")
        if self.recency_window < timedelta():
            raise InvalidInput("retention.recency_window", f"{self.recency_window}", "use 0 or more")
        for name in ("recency_boost", "high", "medium", "low"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise InvalidInput(f"retention.{name}", f"{value}", "use a number of 0 or more")


class Oversize(msgspec.Struct, frozen=True, kw_only=True):
    """What is done with a message that is larger than the room for it in a context. What is stored stays whole.

    Pinned messages are never cut; older messages that do not fit are left out.

    Attributes:
        question: the newest user message: "error" has it verbatim, or a `BudgetError` where it alone does not fit; "cut"
            shortens it where it, or what follows it in its turn, would not fit.
        turn: what follows the newest user message (answers, calls, results): "cut" shortens it, and leaves out what does not
            even fit so; "error" is a `BudgetError` where it does not fit whole.
        keep: which end of a text that is cut. Of both, the start has two thirds.
        boundary: the coarsest place to cut at; finer ones are taken where it would cost half of what fits.
    """

    question: _Answer = "error"
    turn: _Answer = "cut"
    keep: Keep = "both"
    boundary: Boundary = "paragraph"

    def __post_init__(self) -> None:
        check_choice(self.question, "oversize.question", _Answer)
        check_choice(self.turn, "oversize.turn", _Answer)
        check_choice(self.keep, "oversize.keep", Keep)
        check_choice(self.boundary, "oversize.boundary", Boundary)


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait after a model has failed (see `compaction.attempts`).

    Attributes:
        first: after the first failure.
        factor: by which each wait is longer than the one before.
        most: no wait is longer.
        jitter: up to this share of a wait is taken off it.
        attempts: after so many failures the span is given up.
    """

    first: timedelta = timedelta(seconds=30)
    factor: float = 2.0
    most: timedelta = timedelta(hours=1)
    jitter: float = 0.25
    attempts: int = 6

    def __post_init__(self) -> None:
        if not timedelta() < self.first <= self.most:
            raise InvalidInput("backoff.first", f"{self.first} of at most {self.most}", "use more than 0, up to `most`")
        if not 1 <= self.factor <= 100:
            raise InvalidInput("backoff.factor", f"{self.factor}", "use 1 to 100")
        if not 0 <= self.jitter < 1:
            raise InvalidInput("backoff.jitter", f"{self.jitter}", "use a share from 0 to below 1")
        if self.attempts < 1:
            raise InvalidInput("backoff.attempts", f"{self.attempts}", "use 1 or more")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a memory behaves.

    Attributes:
        window: tokens of a context when no budget is given.
        compaction_trigger: share of the budget at which the oldest messages are folded.
        compaction_keep: share of the budget that stays verbatim after folding.
        segment_messages: at most this many messages go into one level-1 summary node.
        node_tokens: at most this many tokens of lines in one node.
        node_fan_in: that many nodes of a level are summarised by one of the next.
        memory_share: share of the budget for what is not recent messages (profile, recalled lines, summary); where the talk is
            short, also what it leaves below the compaction trigger.
        memory_at: where the memory message stands: "start", after the pinned messages; or "question", right before the newest
            user message, so that what comes before it stays the same from turn to turn (for a provider's cache) and what is
            remembered is near the end.
        line_order: how profile and recalled lines stand in their sections: "edges" puts the highest scores nearest to the start
            or the end of the whole context, since models overlook what is in the middle; "ranked" by score; "chronological"
            by time. Lines of summaries are always in the order in which things were said.
        oversize: what is done with a message larger than the room for it.
        profile_size: how many insights the profile holds; the lowest scores beyond it are archived.
        summary_tokens: at most this many tokens of lines in a session summary.
        reflect_after: a session without a new message for so long is ended by the next call that looks at its namespace, as
            `Thread.end` does it; None leaves it to `end()` and `reflect_due()`.
        reflect_every: a session is reflected on whenever so many messages have come since; the next context of the thread does
            it. None: never by itself.
        episode_limit: how many episodes a namespace keeps current; the others are archived.
        episode_keep: which: those that are the most "useful" (by the retention score), or the "newest".
        recall_limit: how many hits `recall` returns when `k` is not given.
        maxsim: compare a question with what was said token by token as well (see `retrieval.maxsim`): better answers, for some
            2 KB a message. Needs an embedder that gives vectors of tokens (`models.TokenEmbedder`), such as MiniLM. What was
            embedded without is given them by `flush()`, and ranked without them until then.
        item_history: how many former versions of an item are kept; 0 for none.
        embed_at_recall: at most this many waiting units are embedded before a recall searches.
        retention: parameters of the retention score.
        citation_overlap: from which overlap with a record that the context showed a reply without marks counts as a use of it
            (see `insights.citations`); None counts marks alone.
        citation_nearness: from which cosine a sentence of such a reply counts as a use of a record that it has some words of;
            found where a session is reflected on, with MiniLM alone. None counts words alone.
        prototypes: draw insights also from sentences that no rule reads, by their meaning, when a session is reflected on (see
            `insights.unstated`). Its thresholds are those of MiniLM. None: with that embedder, and not with another; True: an
            embedder that it cannot be done with is refused; False: never.
        model_timeout: how long one call of a language model may take; None for as long as it likes.
        model_window: tokens of the language model, of prompt and reply together. A span that does not fit is summarised in
            several passes. It has nothing to do with `window`, which is the agent's.
        model_backoff: when a model is asked again after it has failed.
        refine: when a language model is asked for better summaries than the extractive ones: by itself after a thread has
            folded ("background"), or only by `refine()` ("manual"). Nothing ever waits for it.
        model_steps: what a language model does, where there is one: "summarise" what has folded, "extract" insights beside
            those of the rules, "reconcile" insights that are near each other, judge their "importance", "reflect" on sessions
            that have ended. Whatever it does not do or fails at is as without a model.
        refine_limit: in the background, at most so many summaries are asked for at a time: a long past costs no more after one
            fold than a short one, and is caught up with by and by.
        importance: who says how much a message matters (see `Tiers`): rules, or the language model ("model"), which is asked
            for many messages at once, whenever it is asked for summaries. What it has not scored yet goes by the rules.
        review: what would come to be known by itself (insights, session summaries, episodes) waits until somebody approves it
            (see `Memory.pending`). Nothing is archived meanwhile.
        summary_language: what language a model's summaries are to be in, as a code such as "en"; "" for that of the
            conversation.
        summary_instructions: what a model's summaries are to mind besides.
    """

    window: int = 8_000
    compaction_trigger: float = 0.75
    compaction_keep: float = 0.5
    segment_messages: int = 24
    node_tokens: int = 240
    node_fan_in: int = 6
    memory_share: float = 0.35
    memory_at: MemoryPlace = "start"
    line_order: LineOrder = "edges"
    oversize: Oversize = Oversize()
    profile_size: int = 20
    summary_tokens: int = 200
    reflect_after: timedelta | None = None
    reflect_every: int | None = None
    episode_limit: int = 200
    episode_keep: EpisodeKeep = "useful"
    recall_limit: int = 8
    maxsim: bool = False
    item_history: int = 10
    embed_at_recall: int = 256
    retention: Retention = Retention()
    citation_overlap: float | None = 0.5
    citation_nearness: float | None = 0.65
    prototypes: bool | None = None
    model_timeout: timedelta | None = timedelta(seconds=60)
    model_window: int = 8_000
    model_backoff: Backoff = Backoff()
    refine: Literal["background", "manual"] = "background"
    model_steps: tuple[ModelStepName, ...] = ("summarise",)
    refine_limit: int = 8
    importance: Literal["rules", "model"] = "rules"
    review: bool = False
    summary_language: str = ""
    summary_instructions: str = ""

    def __post_init__(self) -> None:
        if self.window < 1:
            raise BudgetError(self.window, 1, (("one of the tokens", 1),), of="settings.window")
        for name in (
            "segment_messages",
            "node_tokens",
            "profile_size",
            "summary_tokens",
            "recall_limit",
            "refine_limit",
            "episode_limit",
        ):
            if getattr(self, name) < 1:
                raise InvalidInput(f"settings.{name}", f"{getattr(self, name)}", "use 1 or more")
        if self.item_history < 0:
            raise InvalidInput("settings.item_history", f"{self.item_history}", "use 0 or more")
        if self.node_fan_in < 2:
            raise InvalidInput("settings.node_fan_in", f"{self.node_fan_in}", "use 2 or more")
        self._check_shares()
        if self.refine not in ("background", "manual"):
            raise InvalidInput("settings.refine", f"{self.refine!r}", 'use "background" or "manual"')
        for step in self.model_steps:
            check_choice(step, "settings.model_steps", ModelStepName)
        if self.importance not in ("rules", "model"):
            raise InvalidInput("settings.importance", f"{self.importance!r}", 'use "rules" or "model"')
        if self.model_timeout is not None and self.model_timeout <= timedelta():
            raise InvalidInput("settings.model_timeout", f"{self.model_timeout}", "use more than 0, or None for no limit")
        if self.reflect_after is not None and self.reflect_after <= timedelta():
            raise InvalidInput("settings.reflect_after", f"{self.reflect_after}", "use more than 0, or None for never")
        if self.reflect_every is not None and self.reflect_every < 1:
            raise InvalidInput("settings.reflect_every", f"{self.reflect_every}", "use 1 or more, or None for never")
        check_choice(self.episode_keep, "settings.episode_keep", EpisodeKeep)
        check_choice(self.memory_at, "settings.memory_at", MemoryPlace)
        check_choice(self.line_order, "settings.line_order", LineOrder)

    def _check_shares(self) -> None:
        if not 0 < self.compaction_keep < self.compaction_trigger <= 1:
            raise InvalidInput(
                "settings.compaction_keep",
                f"{self.compaction_keep} with a trigger of {self.compaction_trigger}",
                "keep must be above 0 and below the trigger, the trigger at most 1",
            )
        if not 0 <= self.memory_share < 1:
            raise InvalidInput("settings.memory_share", f"{self.memory_share}", "use a share from 0 to below 1")
        if self.citation_overlap is not None and not 0 < self.citation_overlap <= 1:
            fix = "use more than 0, up to 1, or None for marks alone"
            raise InvalidInput("settings.citation_overlap", f"{self.citation_overlap}", fix)
        if self.citation_nearness is not None and not 0 < self.citation_nearness <= 1:
            fix = "use more than 0, up to 1, or None for words alone"
            raise InvalidInput("settings.citation_nearness", f"{self.citation_nearness}", fix)
