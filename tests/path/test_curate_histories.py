"""Random histories of talk, ends, forgets, forks and a model that fails as it likes: what was drawn always stands."""

from __future__ import annotations

import html
import re
from collections import Counter
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.path.curating import SETTINGS, good, known, opened, scripted
from tests.path.test_refine_background import at_rest, until

from bethink import AsyncMemory, Insight, InvalidInput, Memory, NotFound
from bethink.models.language import Prompt
from bethink.steps.background import LoopWorker
from bethink.testing.doubles import AsyncScriptedModel, FrozenClock, Scripted

_SAYINGS = (
    "These days I really dig black coffee.",
    "My mornings begin with strong coffee.",
    "I live in Porto.",
    "I am allergic to peanuts.",
    "What I enjoy most are night walks.",
    "Lately I enjoy long walks.",
)
_BAD: tuple[Scripted, ...] = (ConnectionError(), TimeoutError(), "", "no", '{"insights": [{"message": 1')
_ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from("ab"), st.sampled_from(_SAYINGS)),
        st.tuples(st.just("answer"), st.sampled_from("ab"), st.just("You love skiing, I think.")),
        st.tuples(st.sampled_from(("end", "refine", "fork", "wait")), st.sampled_from("ab"), st.just("")),
        st.tuples(st.just("forget"), st.sampled_from("ab"), st.sampled_from(_SAYINGS)),
    ),
    min_size=4,
    max_size=14,
)


@settings(deadline=None)
@given(_ACTIONS, st.lists(st.sampled_from((*_BAD, None, None, None)), min_size=1, max_size=8))
def test_what_was_drawn_stands_in_a_message_and_each_is_asked_about_once(
    actions: list[tuple[str, str, str]], answers: list[Scripted | None]
) -> None:
    asked: Counter[str] = Counter()
    turn = iter(range(10_000))

    def script(prompt: Prompt) -> Scripted:
        answer = answers[next(turn) % len(answers)]
        if answer is None and prompt.purpose == "extract":
            lines = re.findall(r"^\[\d+\] user[^:\n]*: .*#(\w+)$", prompt.user, re.MULTILINE)
            asked.update(html.unescape(line) for line in lines)
        return good(prompt) if answer is None else answer

    clock = FrozenClock()
    with opened(scripted(script), clock) as memory:
        for number, (action, thread_id, text) in enumerate(actions):
            _act(memory, clock, action, thread_id, text, number)
            _stands(memory)
        assert memory.check() == []
        # What had not been asked about when it was forked is another message in each of the two.
        copies = 1 + sum(action == "fork" for action, _, _ in actions)
        assert all(count <= copies for count in asked.values()), asked


def _act(memory: Memory, clock: FrozenClock, action: str, thread_id: str, text: str, number: int) -> None:
    thread = memory.thread(thread_id)
    if action == "say":
        thread.append([{"role": "user", "content": f"{text} #{number}", "id": f"m{number}"}])
    elif action == "answer":
        thread.add("assistant", text)
    elif action == "refine":
        memory.refine()
    elif action == "wait":
        clock.advance(timedelta(hours=3))
    else:
        try:
            if action == "end":
                thread.end()
            elif action == "fork":
                thread.fork(thread_id=f"f{number}")
            else:
                found = next((each for each in thread.messages() if each.text.startswith(text)), None)
                if found is not None:
                    memory.forget(message=found.id)
        except (NotFound, InvalidInput):
            return


def _stands(memory: Memory) -> None:
    """Each insight of a model is a sentence of each of its messages, which users said; a profile has none of an assistant."""
    for record in known(memory):
        if isinstance(record, Insight) and "drawn_by" in record.metadata:
            for source in record.sources:
                (message,) = [each for each in memory.thread(source.thread_id).messages() if each.id == source.message_id]
                assert message.role == "user"
                assert source.text in message.text
            assert any(record.text == source.text for source in record.sources)
        assert "skiing" not in record.text or not isinstance(record, Insight)


def test_in_the_background_a_session_that_ends_is_refined_by_itself() -> None:
    model = scripted(good)
    with opened(model, settings=msgspec.structs.replace(SETTINGS, refine="background")) as memory:
        memory.thread("t").add("user", "These days I really dig black coffee.")
        assert model.calls == 0
        memory.thread("t").end()
        until(lambda: any("drawn_by" in each.metadata for each in memory.profile()))
        until(lambda: at_rest(memory))
        assert memory.check() == []


@pytest.mark.anyio
async def test_so_it_is_on_an_event_loop() -> None:
    import anyio

    model = AsyncScriptedModel(good, name="small")
    options = msgspec.structs.replace(SETTINGS, refine="background")
    async with AsyncMemory(embedder=None, clock=FrozenClock(), settings=options, language_model=model) as memory:
        await memory.thread("t").add("user", "These days I really dig black coffee.")
        await memory.thread("t").end()
        assert isinstance(memory._sync._engine.watcher, LoopWorker)
        with anyio.fail_after(20):
            while not any("drawn_by" in each.metadata for each in await memory.profile()):  # noqa: ASYNC110
                await anyio.sleep(0.01)
