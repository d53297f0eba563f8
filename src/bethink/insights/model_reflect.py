"""A session's summary by a language model, in the place of the one that is there without.

    messages of the session ─▶ as any span is summarised (see `compaction.model_summary`) ─▶ checked lines ─▶ Summary

The lines are held to what holds for every summary: each rests on messages that it cites, none has a number that they lack,
lost facts are put back, one that keeps clearly fewer than the extractive summary is refused. Besides what happened, the model
is asked for decisions with their reasons, and for what is still to be done. It saw the whole session, and nobody can say which
words came from which message: so the summary names all of them as its sources, and goes whole with the first that is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime

import msgspec

from bethink.compaction.model_summary import Outcome, Written, summarise_with_model
from bethink.compaction.prompts import PROMPT_VERSION
from bethink.ids import derived_id
from bethink.messages import Message, lowest_trust
from bethink.models.language import ModelStep
from bethink.records import Source, Summary
from bethink.settings import Settings

__all__ = ["REFLECT_PROMPT", "model_summary", "reflect_with_model"]

REFLECT_PROMPT = f"reflect 1, summary {PROMPT_VERSION}"
"""Which words a model is asked with; a number is raised with every change of them."""

_ASKED_FOR = (
    "This is a whole session. Say first what was decided, and why. "
    "Say last what is still to be done or answered, each in a line of its own."
)


def reflect_with_model(
    messages: Sequence[Message], *, count: Callable[[str], int], author: str, settings: Settings
) -> ModelStep[Outcome]:
    """A step that sums up a session; arguments, result and errors as of `summarise_with_model`."""
    asked = f"{_ASKED_FOR} {settings.summary_instructions}".strip()
    step = summarise_with_model(
        messages,
        limit=settings.summary_tokens,
        count=count,
        author=author,
        window=settings.model_window,
        language=settings.summary_language,
        instructions=asked,
    )
    return _for_reflection(step)


def _for_reflection(step: ModelStep[Outcome]) -> ModelStep[Outcome]:
    with closing(step):
        try:
            prompt = next(step)
            while True:
                prompt = step.send((yield msgspec.structs.replace(prompt, purpose="reflect")))
        except StopIteration as done:
            outcome: Outcome = done.value
            return outcome


def model_summary(written: Written, messages: Sequence[Message], former: Summary, *, now: datetime) -> Summary | None:
    """The summary that takes the place of `former`; None where the model was not asked, or nothing is worth a line."""
    if written.author == "extractive" or not written.lines:
        return None
    texts: dict[str, str] = {}
    for line in written.lines:
        for message_id in line.sources:
            texts.setdefault(message_id, line.text)
    shown = [message for message in messages if message.role in ("user", "assistant", "tool")]
    return msgspec.structs.replace(
        former,
        id=derived_id(messages[-1].created_at or now, "summary", former.thread_id, str(former.through), written.author),
        text="\n".join(line.text for line in written.lines),
        trust=lowest_trust(message.trust for message in shown),
        recorded_at=now,
        sources=tuple([Source(message.id, former.thread_id, texts.get(message.id, "")) for message in shown]),
        lines=written.lines,
        author=written.author,
        metadata={"prompt": REFLECT_PROMPT},
        access_count=0,
        last_accessed=None,
    )
