"""OpenTelemetry: the names of spans and metrics, what they say, and that they say nothing of what was said."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bethink import Limits, Memory, MissingExtra, OpenTelemetry, Reply, Settings
from bethink.errors import NotFound
from bethink.models.language import Prompt
from bethink.testing.doubles import START, FrozenClock, HashEmbedder

SECRET = "zyzzyva"


class Priced:
    name = "priced-1"

    def __init__(self) -> None:
        self.answers = iter(range(100))

    def complete(self, prompt: Prompt) -> Reply:
        if next(self.answers) == 1:
            raise TimeoutError(SECRET)
        return Reply(f"The {SECRET} lives in Ghent.", tokens_in=100, tokens_out=10, cost=0.01)


class Seen:
    """What an SDK exports."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider([self._reader])

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._spans.get_finished_spans()

    def span(self, name: str) -> ReadableSpan:
        return next(span for span in self.spans if span.name == name)

    def metrics(self) -> dict[str, list[Any]]:
        data = self._reader.get_metrics_data()
        assert data is not None
        return {
            metric.name: list(metric.data.data_points)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def everything(self) -> str:
        return repr([(span.name, dict(span.attributes or {}), span.events, span.status) for span in self.spans]) + repr(
            self.metrics()
        )


@pytest.fixture
def seen() -> Iterator[Seen]:
    found = Seen()
    yield found
    found.tracers.shutdown()
    found.meters.shutdown()


def opened(path: Path, seen: Seen, **options: Any) -> Memory:
    return Memory(
        path / "m.db",
        namespace=("acme", "ada"),
        clock=FrozenClock(START),
        embedder=HashEmbedder(),
        settings=Settings(window=200, segment_messages=4, node_tokens=60, refine="manual"),
        listener=OpenTelemetry(tracer_provider=seen.tracers, meter_provider=seen.meters, **options),
        limits=Limits(context_tokens=200, model_calls=3, warn_at=0.1),
        language_model=Priced(),
    )


def talk(memory: Memory) -> None:
    thread = memory.thread("trip")
    for number in range(30):
        thread.add("user", f"On day {number} the {SECRET} walked {number} km along the river and met Nora.")
        thread.add("assistant", f"That is a good walk for day {number}.")
    thread.context(SECRET)
    memory.recall(SECRET)
    memory.store(f"A {SECRET} is a weevil.")
    thread.refine()
    thread.end()
    with pytest.raises(NotFound):
        memory.replay(SECRET)
    memory.forget(thread="trip")


def test_verbs_are_spans_named_by_the_conventions(tmp_path: Path, seen: Seen) -> None:
    with opened(tmp_path, seen) as memory:
        talk(memory)
    for name in ("search_memory", "create_memory", "upsert_memory", "delete_memory"):
        attributes = dict(seen.span(name).attributes or {})
        assert attributes["gen_ai.operation.name"] == name
        assert attributes["gen_ai.provider.name"] == "bethink"
        assert attributes["gen_ai.memory.store.id"] == "acme/ada"
    assert {"bethink.append", "bethink.context", "bethink.replay", "bethink.refine"} <= {span.name for span in seen.spans}
    assert (seen.span("upsert_memory").attributes or {})["gen_ai.conversation.id"] == "trip"
    counts = [(span.attributes or {})["gen_ai.memory.record.count"] for span in seen.spans if span.name == "search_memory"]
    assert len(counts) == 2
    assert min(counts) == Settings().recall_limit  # type: ignore[type-var]


def test_the_steps_of_a_context_lie_within_its_span(tmp_path: Path, seen: Seen) -> None:
    with opened(tmp_path, seen) as memory:
        talk(memory)
    context = seen.span("bethink.context")
    within = {span.name for span in seen.spans if span.parent is not None and span.parent.span_id == context.context.span_id}
    assert within == {"bethink.derive", "bethink.view", "search_memory", "bethink.compose", "bethink.store"}
    view = seen.span("bethink.view")
    fold = seen.span("bethink.view.fold")
    assert fold.parent is not None
    assert fold.parent.span_id == view.context.span_id


def test_a_context_lies_within_the_span_of_its_caller(tmp_path: Path, seen: Seen) -> None:
    with opened(tmp_path, seen) as memory, seen.tracers.get_tracer("app").start_as_current_span("invoke_agent") as mine:
        memory.thread("t").add("user", "hello")
        memory.thread("t").context()
        assert trace.get_current_span() is mine
    context = seen.span("bethink.context")
    assert context.parent is not None
    assert context.parent.span_id == mine.get_span_context().span_id


def test_a_context_says_what_it_took(tmp_path: Path, seen: Seen) -> None:
    with opened(tmp_path, seen) as memory:
        thread = memory.thread("t")
        thread.add("user", "I walked to Ghent, and then on to Bruges and the sea, where it rained all day long.")
        usage = thread.context().usage
        assert usage is not None
        attributes = dict(seen.span("bethink.context").attributes or {})
        assert attributes["bethink.context.id"] == usage.context_id
        assert attributes["bethink.context.tokens"] == usage.tokens
        assert attributes["bethink.context.history_tokens"] == usage.history
        metrics = seen.metrics()
        assert {point.attributes["bethink.section"]: point.sum for point in metrics["bethink.context.tokens"]} == usage.sections
        assert {point.attributes["bethink.step"] for point in metrics["bethink.step.duration"]} == usage.seconds.keys()
        assert sum(point.value for point in metrics["bethink.limit.warnings"]) == 1


def test_calls_of_a_model_are_spans_and_metrics(tmp_path: Path, seen: Seen) -> None:
    with opened(tmp_path, seen, model_provider="openai") as memory:
        talk(memory)
    chats = [span for span in seen.spans if span.name == "chat priced-1"]
    assert len(chats) == 3
    first, failed = (dict(chat.attributes or {}) for chat in chats[:2])
    assert first["gen_ai.operation.name"] == "chat"
    assert first["gen_ai.request.model"] == "priced-1"
    assert first["gen_ai.provider.name"] == "openai"
    assert first["gen_ai.conversation.id"] == "trip"
    assert (first["gen_ai.usage.input_tokens"], first["gen_ai.usage.output_tokens"]) == (100, 10)
    assert failed["error.type"] == "timeout"
    assert chats[1].status.status_code is trace.StatusCode.ERROR
    assert all(chat.kind is trace.SpanKind.CLIENT for chat in chats)
    metrics = seen.metrics()
    assert {point.attributes["gen_ai.token.type"]: point.sum for point in metrics["gen_ai.client.token.usage"]} == {
        "input": 200,
        "output": 20,
    }
    assert [point.value for point in metrics["bethink.model.cost"]] == [pytest.approx(0.02)]
    durations = metrics["gen_ai.client.operation.duration"]
    assert sum(point.count for point in durations if point.attributes["gen_ai.operation.name"] == "chat") == 3
    assert [point.value for point in metrics["bethink.compactions"]] == [1]


def test_an_error_is_named_by_its_type_alone(tmp_path: Path, seen: Seen) -> None:
    with opened(tmp_path, seen) as memory:
        talk(memory)
    replay = seen.span("bethink.replay")
    assert (replay.attributes or {})["error.type"] == "NotFound"
    assert replay.status.status_code is trace.StatusCode.ERROR
    assert (replay.status.description, replay.events) == (None, ())


def test_nothing_that_was_said_is_in_any_of_it(tmp_path: Path, seen: Seen) -> None:
    with opened(tmp_path, seen) as memory:
        talk(memory)
    assert "search_memory" in seen.everything()
    assert SECRET not in seen.everything()


def test_names_of_namespaces_and_threads_can_be_left_out_and_are_in_no_metric(tmp_path: Path, seen: Seen) -> None:
    with opened(tmp_path, seen, ids=False) as memory:
        talk(memory)
    assert "trip" not in seen.everything()
    assert "acme" not in seen.everything()
    named = Seen()
    (tmp_path / "named").mkdir()
    with opened(tmp_path / "named", named) as memory:
        talk(memory)
    assert "acme" in named.everything()
    assert "acme" not in repr(named.metrics())


def test_without_an_sdk_it_records_nothing_and_fails_at_nothing(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=None, listener=OpenTelemetry()) as memory:
        memory.thread("t").add("user", "hello")
        assert memory.thread("t").context(limits=Limits(latency=timedelta(hours=1))).tokens > 0


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "opentelemetry":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"bethink\[otel\]"):
        OpenTelemetry()
