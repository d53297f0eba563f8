"""What holds for any life of a thread with any model: talk, contexts, summaries, forks, forgetting, in any order."""

from __future__ import annotations

import contextlib
import itertools
import os
from datetime import timedelta

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bethink import BudgetError, InvalidMessage, Memory, Message, Messages, Settings, Summarize, Thread
from bethink.compaction.due import standings
from bethink.models.language import Prompt, Reply
from bethink.models.tokens import BuiltinCounter
from bethink.storage.base import Get, Read, Scope
from bethink.testing.doubles import FrozenClock, Scripted, ScriptedModel, summing_up
from bethink.testing.strategies import histories, texts

EXAMPLES = max(8, int(os.environ.get("RANDOM_HISTORIES", "10000")) // 200)
SMALL = Settings(segment_messages=4, node_fan_in=2, node_tokens=40, refine="manual", model_window=2_000)
COUNT = BuiltinCounter().count

STEPS = st.lists(
    st.tuples(st.sampled_from(("say", "say", "context", "refine", "refine", "forget", "fork", "wait")), st.integers(0, 1_000)),
    min_size=3,
    max_size=25,
)
REPLIES = st.one_of(
    st.just("good"),
    st.sampled_from(("good", "short", "error")),
    texts(),
    st.lists(texts(max_size=30), max_size=4).map(lambda lines: "\n".join(f"[1-3] {line}" for line in lines)),
)


class Life:
    """A thread, what was shown of it, and a model that answers as it is told."""

    def __init__(self, history: list[Message], replies: list[str]) -> None:
        self.clock = FrozenClock()
        self._replies = replies
        self._asked = 0
        self._left = iter(history)
        self.memory = Memory(
            language_model=ScriptedModel(self._answer, name="any"),
            embedder=None,
            clock=self.clock,
            settings=SMALL,
            # By messages, so that it folds whatever they say.
            policy=Summarize(trigger=Messages(6), keep=Messages(2)),
        )
        self.threads = [self.memory.thread("t")]
        self.shown: dict[str, tuple[Message, ...]] = {}
        self.forgotten = False
        for number in (7, 7, 7):
            self.step("say", number)
            self.step("context", number)

    def _answer(self, prompt: Prompt) -> Scripted:
        self._asked += 1
        reply = self._replies[self._asked % len(self._replies)]
        if reply == "good":
            return summing_up(prompt)
        if reply == "short":
            return Reply(summing_up(prompt)[:60], truncated=True)
        return ConnectionError() if reply == "error" else reply

    def step(self, what: str, number: int) -> None:
        thread = self.threads[number % len(self.threads)]
        if what == "say":
            for message in itertools.islice(self._left, 1 + number % 8):
                # The call of a result may have been forgotten.
                with contextlib.suppress(InvalidMessage):
                    self.threads[0].append([message])
        elif what == "context":
            with contextlib.suppress(BudgetError):
                context = thread.context(budget=3_000 + number)
                self.shown[context.receipt_id] = context.messages
        elif what == "refine":
            self.refine(thread, 1 + number % 5)
        elif what == "forget":
            messages = thread.messages()
            if messages:
                self.forgotten = True
                self.memory.forget(message=messages[number % len(messages)].id)
        elif what == "fork" and len(self.threads) < 3:
            messages = [message for message in thread.messages() if not message.tool_calls and message.role != "tool"]
            if messages and thread.messages()[-1] in messages:
                self.threads.append(thread.fork())
        elif what == "wait":
            self.clock.advance(timedelta(minutes=number))

    def refine(self, thread: Thread, limit: int | None = None) -> None:
        """Asking a model changes no message and no cover, and one that fails nothing at all."""
        before = thread.messages(), covers(thread), {node.id: node.node for node in thread.summaries()}
        report = thread.refine(limit=limit)
        assert (thread.messages(), covers(thread)) == before[:2]
        if not report.written:
            assert {node.id: node.node for node in thread.summaries()} == before[2]

    def look(self) -> None:
        """What holds at any time."""
        assert self.memory.check() == []
        for thread in self.threads:
            ids = {message.id: message.seq for message in thread.messages()}
            for node in thread.summaries():
                covered = {seq for first, last in node.covers for seq in range(first, last + 1)}
                assert sum(COUNT(line.text) + 1 for line in node.lines) <= SMALL.node_tokens or node.author == "extractive"
                assert all(ids[source] in covered for line in node.lines for source in line.sources)
                assert [message.seq for message in thread.expand(node.id)] == sorted(covered)
        for receipt_id, messages in list(self.shown.items()):
            if self.memory._engine.store.get(Get(scope=Scope(("default",)), receipts=(receipt_id,))).receipts:
                assert self.memory.replay(receipt_id).messages == messages
            else:
                # Something it shows was forgotten.
                assert self.forgotten
                del self.shown[receipt_id]


def covers(thread: Thread) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
    return [(node.level, node.covers) for node in thread.summaries()]


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(histories(min_size=24, max_size=48), st.lists(REPLIES, min_size=1, max_size=8), STEPS)
def test_V009_V011_V012_V038_any_life_of_a_thread_with_any_model_stays_whole(
    history: list[Message], replies: list[str], steps: list[tuple[str, int]]
) -> None:
    life = Life(history, replies)
    for what, number in steps:
        life.step(what, number)
        life.look()
    life.memory.close()


@settings(max_examples=EXAMPLES // 4, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(histories(min_size=24, max_size=48), st.lists(REPLIES, min_size=1, max_size=8))
def test_for_any_model_there_comes_a_time_when_nothing_is_due(history: list[Message], replies: list[str]) -> None:
    life = Life(history, replies)
    for _ in range(3):
        life.step("say", 7)
        life.step("context", 0)
    for _ in range(60):
        report = life.threads[0].refine()
        if not (report.attempts or report.waiting or report.due):
            break
        life.clock.advance(timedelta(hours=2))
    else:
        raise AssertionError("there is always something to ask")
    tree = life.memory._engine.store.read(Read(namespace=("default",), thread_id="t", limit=0, tree=True))
    found = standings(tree.nodes, tree.attempts, model="any", now=life.clock.now(), settings=SMALL)
    assert {each.status for each in found} <= {"settled", "given up"}
    life.look()
    life.memory.close()


@settings(max_examples=EXAMPLES // 4, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(histories(min_size=24, max_size=48), st.lists(REPLIES, min_size=1, max_size=8), STEPS)
def test_the_same_life_comes_to_the_same_bytes(
    history: list[Message], replies: list[str], steps: list[tuple[str, int]]
) -> None:
    lives = [Life(history, replies), Life(history, replies)]
    for what, number in steps:
        if what != "fork":
            for life in lives:
                life.step(what, number)
    one, other = ([msgspec.json.encode(node.node) for node in life.threads[0].summaries()] for life in lives)
    assert one == other
    assert list(lives[0].shown.values()) == list(lives[1].shown.values())
