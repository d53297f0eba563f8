"""OpenTelemetry: spans of verbs and steps, and metrics, through your own providers. Extra "otel".

    from bethink import Memory, OpenTelemetry
    memory = Memory("agent.db", listener=OpenTelemetry())

Names are those of the GenAI semantic conventions where they have one (`search_memory`, `gen_ai.conversation.id`,
`gen_ai.client.token.usage`), and begin with "bethink." where they have none. There are ids and numbers in them, never a word of
what was said, asked or remembered, and no message of an exception. Without an SDK and an exporter of yours nothing is recorded.

    spans     search_memory, create_memory, upsert_memory, delete_memory     recall, store, end, forget
              bethink.context, bethink.append, bethink.replay, ...           other verbs; within a context its steps
              chat MODEL                                                     a call of the language model
    metrics   gen_ai.client.operation.duration   s         verbs, model calls
              gen_ai.client.token.usage          {token}   model calls, in and out
              bethink.context.tokens             {token}   of a context, by section
              bethink.context.saved              {token}   full history less the context, where that is above 0
              bethink.step.duration              s         steps of a context
              bethink.compactions                {compaction}
              bethink.model.cost                 USD
              bethink.limit.warnings             {warning}
              bethink.context.without            {failure} an embedder that failed, say

Only spans name namespaces and threads; metrics do not, since each name would be a series of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from bethink.errors import MissingExtra
from bethink.limits import LimitWarning
from bethink.telemetry import Listener
from bethink.usage import ModelCall, TurnUsage

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

__all__ = ["OpenTelemetry"]

_OPERATIONS = {"recall": "search_memory", "store": "create_memory", "end": "upsert_memory", "forget": "delete_memory"}
_COUNTS = {"hits": "gen_ai.memory.record.count", "records": "gen_ai.memory.record.count"}
# What the conventions advise for token counts and for durations.
_TOKENS = [4**power for power in range(14)]
_SECONDS = [0.01 * 2**power for power in range(14)]
_STEP_SECONDS = [0.0001 * 2**power for power in range(18)]


class OpenTelemetry(Listener):
    """Tells OpenTelemetry.

    Args:
        tracer_provider, meter_provider: yours; the global ones if left out.
        ids: whether spans name the namespace and the thread. They are names you gave; leave them out if they name people.
        model_provider: what to call the provider of the language model (`"openai"`), which is known to you alone.

    Raises:
        MissingExtra: opentelemetry-api is not installed.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        ids: bool = True,
        model_provider: str = "",
    ) -> None:
        try:
            from opentelemetry import context, metrics, trace
        except ImportError as error:
            raise MissingExtra("OpenTelemetry", "otel") from error
        self._context = context
        self._trace = trace
        self._ids = ids
        self._model = {"gen_ai.provider.name": model_provider} if model_provider else {}
        own = version("bethink")
        self._tracer = trace.get_tracer("bethink", own, tracer_provider)
        meter = metrics.get_meter("bethink", own, meter_provider)
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "How long an operation took.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._model_tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens a language model read and wrote.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._tokens = meter.create_histogram(
            "bethink.context.tokens",
            "{token}",
            "Tokens of a section of a context.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._steps = meter.create_histogram(
            "bethink.step.duration",
            "s",
            "How long a step of a context took.",
            explicit_bucket_boundaries_advisory=_STEP_SECONDS,
        )
        self._saved = meter.create_counter("bethink.context.saved", "{token}", "Tokens of the full history less the context.")
        self._compactions = meter.create_counter("bethink.compactions", "{compaction}", "How often something was folded.")
        self._cost = meter.create_counter("bethink.model.cost", "USD", "What calls of a language model cost.")
        self._warnings = meter.create_counter("bethink.limit.warnings", "{warning}", "How often a limit was near.")
        self._without = meter.create_counter(
            "bethink.context.without", "{failure}", "How often a context had to do without something."
        )

    def begin(self, name: str, facts: Mapping[str, Any]) -> Any:
        operation = _OPERATIONS.get(name) if "namespace" in facts else None
        span = self._tracer.start_span(operation or f"bethink.{name}", attributes=self._attributes(operation, facts))
        return span, self._context.attach(self._trace.set_span_in_context(span))

    def end(self, begun: Any, name: str, seconds: float, facts: Mapping[str, Any], error: type[BaseException] | None) -> None:
        span, token = begun
        self._context.detach(token)
        for fact, value in facts.items():
            if fact not in ("namespace", "thread_id"):
                span.set_attribute(_COUNTS.get(fact, f"bethink.{fact}"), value)
        failed = {} if error is None else {"error.type": error.__name__}
        if error is not None:
            span.set_attributes(failed)
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()
        if "namespace" in facts:
            operation = _OPERATIONS.get(name, f"bethink.{name}")
            told = {"gen_ai.operation.name": operation, "gen_ai.provider.name": "bethink", **failed}
            self._duration.record(seconds, told)

    def turn(self, usage: TurnUsage) -> None:
        span = self._trace.get_current_span()
        span.set_attributes(
            {
                "bethink.context.id": usage.context_id,
                "bethink.context.tokens": usage.tokens,
                "bethink.context.memory_tokens": usage.memory,
                "bethink.context.history_tokens": usage.history,
                "bethink.compactions": usage.compactions,
            }
        )
        for section, tokens in usage.sections.items():
            self._tokens.record(tokens, {"bethink.section": section})
        for step, seconds in usage.seconds.items():
            self._steps.record(seconds, {"bethink.step": step})
        self._saved.add(max(usage.saved, 0))
        self._compactions.add(usage.compactions)

    def model_call(self, call: ModelCall) -> None:
        made, used = call.call, call.call.usage
        ended = time.time_ns()
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": made.model, **self._model}
        failed = {"error.type": made.failed} if made.failed else {}
        span = self._tracer.start_span(
            f"chat {made.model}",
            kind=self._trace.SpanKind.CLIENT,
            start_time=ended - round(made.seconds * 1e9),
            attributes={
                **told,
                **failed,
                "bethink.purpose": made.purpose,
                "gen_ai.usage.input_tokens": used.tokens_in,
                "gen_ai.usage.output_tokens": used.tokens_out,
                **({"gen_ai.conversation.id": call.thread_id} if self._ids else {}),
            },
        )
        if made.failed:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(ended)
        self._duration.record(made.seconds, {**told, **failed})
        for kind, tokens in (("input", used.tokens_in), ("output", used.tokens_out)):
            if tokens:
                self._model_tokens.record(tokens, {**told, "gen_ai.token.type": kind})
        if used.cost is not None:
            self._cost.add(used.cost, told)

    def warning(self, thread_id: str, warning: LimitWarning) -> None:  # noqa: ARG002 - a series for each thread is too many
        self._warnings.add(1, {"bethink.limit": warning.limit})

    def without(self, thread_id: str, problem: str) -> None:  # noqa: ARG002 - neither is for a series
        self._without.add(1)

    def _attributes(self, operation: str | None, facts: Mapping[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if operation is not None:
            told |= {"gen_ai.operation.name": operation, "gen_ai.provider.name": "bethink"}
        if self._ids and "namespace" in facts:
            told["gen_ai.memory.store.id"] = "/".join(facts["namespace"])
        if self._ids and "thread_id" in facts:
            told["gen_ai.conversation.id"] = facts["thread_id"]
        return told
