"""Asking a model: `models.language`, its drivers, and the languages that `compaction.languages` can tell."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable
from typing import cast

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.pretty import pretty_repr

from bethink.compaction.languages import LANGUAGE_NAMES, in_another_language, language_of, script_of
from bethink.errors import InvalidInput
from bethink.models.driving import arun, run
from bethink.models.given import as_async_model, as_model
from bethink.models.language import Answer, Call, LanguageModel, ModelError, ModelStep, Prompt, Reply, Usage
from bethink.testing.doubles import AsyncScriptedModel, Hang, Scripted, ScriptedModel
from bethink.testing.strategies import texts

PROMPT = Prompt(purpose="test", system="Be brief.", user="How many moons?", max_tokens=10)
for_any = settings(max_examples=60, deadline=None)


def ask(times: int = 1) -> ModelStep[list[Answer]]:
    """Asks so often and returns what it was sent."""
    answers = []
    for _ in range(times):
        answers.append((yield PROMPT))  # noqa: PERF401
    return answers


def both(script: list[Scripted], times: int = 1, timeout: float | None = None) -> list[Answer]:
    """What a step is sent, which is the same with either driver."""
    found = run(ask(times), ScriptedModel(list(script)), timeout=timeout)
    assert asyncio.run(_awaited(script, times, timeout)) == found
    return found


async def _awaited(script: list[Scripted], times: int, timeout: float | None) -> list[Answer]:  # noqa: ASYNC109
    return await arun(ask(times), AsyncScriptedModel(list(script)), timeout=timeout)


class Faulty:
    """A client that returns something else than a reply."""

    name = "faulty"

    def __init__(self, returned: object) -> None:
        self._returned = returned

    def complete(self, prompt: Prompt) -> Reply:
        return cast("Reply", self._returned)


# -- drivers ---------------------------------------------------------------------------------------------------------------


def test_a_step_gets_each_reply_in_turn_and_its_result_comes_back() -> None:
    assert both(["two", Reply("of Mars", tokens_in=3)], times=2) == [Reply("two"), Reply("of Mars", tokens_in=3)]


def test_a_step_that_asks_nothing_needs_no_model() -> None:
    model = ScriptedModel([])
    assert run(ask(0), model) == []
    assert model.calls == 0


def test_the_model_is_given_the_prompt_as_it_is() -> None:
    model = ScriptedModel(["two"])
    run(ask(), model)
    assert model.prompts == [PROMPT]


@pytest.mark.parametrize("error", [ValueError("sk-secret"), StopIteration(3), LookupError()])
def test_V009_an_exception_of_the_client_is_sent_to_the_step(error: Exception) -> None:
    found = run(ask(2), ScriptedModel([error, "two"]))
    assert found == [ModelError("error", type(error).__name__), Reply("two")]


def test_V009_both_drivers_send_the_same_for_an_exception() -> None:
    assert both([OSError("no route"), "two"], times=2) == [ModelError("error", "OSError"), Reply("two")]


@pytest.mark.parametrize("returned", [None, "two", TimeoutError("slow"), {"text": "two"}, [Reply("two")]])
def test_V009_what_is_no_reply_is_an_error(returned: object) -> None:
    (found,) = run(ask(), Faulty(returned))
    assert found == ModelError("error", f"returned a {type(returned).__name__}, not a Reply")


def test_an_error_tells_its_type_and_status_and_not_its_message() -> None:
    class RateLimitError(Exception):
        status_code = 429

    (found,) = run(ask(), ScriptedModel([RateLimitError("key sk-123, prompt How many moons?")]))
    assert found == ModelError("error", "RateLimitError 429")


@pytest.mark.parametrize("name", ["APITimeoutError", "ReadTimeout"])
def test_a_time_out_of_the_client_is_one_whatever_its_base(name: str) -> None:
    error = cast("type[Exception]", type(name, (OSError,), {}))
    assert run(ask(), ScriptedModel([error()])) == [ModelError("timeout", name)]


def test_a_call_that_takes_too_long_is_a_time_out_and_the_step_goes_on() -> None:
    found = both([Hang(30.0), "two"], times=2, timeout=0.05)
    assert found == [ModelError("timeout", "no answer within 0.05 s"), Reply("two")]


def test_a_call_within_its_time_is_answered() -> None:
    assert both([Hang(0.001, then="two")], timeout=20.0) == [Reply("two")]


def test_a_late_answer_is_dropped() -> None:
    model = ScriptedModel([Hang(30.0, then="late"), "two"])
    late, found = run(ask(2), model, timeout=0.05)
    model.release()
    assert (late, found) == (ModelError("timeout", "no answer within 0.05 s"), Reply("two"))


def test_without_a_time_limit_the_client_runs_on_the_callers_thread() -> None:
    threads = []

    def on_thread(prompt: Prompt) -> Scripted:
        threads.append(threading.current_thread())
        return "two"

    run(ask(), ScriptedModel(on_thread))
    assert threads == [threading.current_thread()]


def test_with_a_time_limit_the_client_sees_the_callers_context() -> None:
    span: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="none")
    span.set("outer")
    assert run(ask(), ScriptedModel(lambda _: span.get()), timeout=20.0) == [Reply("outer")]


@pytest.mark.parametrize("timeout", [None, 20.0])
def test_an_interrupt_passes_through_and_closes_the_step(timeout: float | None) -> None:
    closed = []

    def step() -> ModelStep[None]:
        try:
            yield PROMPT
        finally:
            closed.append(True)

    with pytest.raises(KeyboardInterrupt):
        run(step(), ScriptedModel([KeyboardInterrupt()]), timeout=timeout)
    assert closed == [True]


def test_cancelling_the_caller_closes_the_step_and_is_no_answer() -> None:
    seen: list[object] = []

    def step() -> ModelStep[None]:
        try:
            seen.append((yield PROMPT))
        finally:
            seen.append("closed")

    async def main() -> bool:
        with anyio.move_on_after(0.05) as scope:
            await arun(step(), AsyncScriptedModel([Hang(30.0)]), timeout=20.0)
        return scope.cancelled_caught

    assert anyio.run(main)
    assert seen == ["closed"]


def test_an_error_of_the_step_itself_is_raised() -> None:
    def step() -> ModelStep[None]:
        yield PROMPT
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(step(), ScriptedModel(["two"]))


def test_past_the_most_calls_a_step_is_told_so_and_the_model_is_not_asked() -> None:
    model = ScriptedModel(lambda _: "two")
    assert run(ask(3), model, calls=2)[2] == ModelError("error", "more than 2 calls")
    assert model.calls == 2


def test_a_step_that_goes_on_asking_is_ended() -> None:
    model = AsyncScriptedModel(lambda _: OSError())
    with pytest.raises(RuntimeError, match="goes on asking after its 5 calls"):
        asyncio.run(arun(ask(1_000), model, calls=5))
    assert model.calls == 5


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan")])
def test_a_timeout_is_above_0(timeout: float) -> None:
    with pytest.raises(InvalidInput, match="timeout"):
        run(ask(), ScriptedModel(["two"]), timeout=timeout)


def test_an_endless_timeout_is_none() -> None:
    assert run(ask(), ScriptedModel(["two"]), timeout=float("inf")) == [Reply("two")]


def test_a_step_needs_a_call_at_least() -> None:
    with pytest.raises(InvalidInput, match="calls"):
        run(ask(), ScriptedModel(["two"]), calls=0)


# -- models ----------------------------------------------------------------------------------------------------------------


def shout(text: str) -> str:
    return text.upper()


async def whisper(text: str) -> str:
    return text.lower()


def test_any_function_of_a_text_is_a_model() -> None:
    model = as_model(shout)
    assert model.name == "shout"
    assert run(ask(), model) == [Reply("BE BRIEF.\n\nHOW MANY MOONS?")]


def test_any_coroutine_function_of_a_text_is_an_asynchronous_model() -> None:
    model = as_async_model(whisper, name="small-1")
    assert model.name == "small-1"
    assert asyncio.run(arun(ask(), model)) == [Reply("be brief.\n\nhow many moons?")]


def test_a_client_is_taken_as_it_is() -> None:
    model, async_model = ScriptedModel([]), AsyncScriptedModel([])
    assert as_model(model) is model
    assert as_async_model(async_model) is async_model


def test_a_function_without_a_name_of_its_own_gets_one() -> None:
    assert as_model(lambda text: text).name == "function"
    assert as_model(functools.partial(shout)).name == "function"


@pytest.mark.parametrize("given", [None, 3, "gpt"])
def test_what_is_no_model_is_refused(given: object) -> None:
    with pytest.raises(InvalidInput, match="model"):
        as_model(cast("LanguageModel", given))


def test_a_client_of_the_other_kind_is_refused() -> None:
    with pytest.raises(InvalidInput, match="asynchronous"):
        as_model(cast("LanguageModel", AsyncScriptedModel([])))
    with pytest.raises(InvalidInput, match="asynchronous"):
        as_model(cast("Callable[[str], str]", whisper))
    with pytest.raises(InvalidInput, match="not asynchronous"):
        as_async_model(cast("AsyncScriptedModel", ScriptedModel([])))


@pytest.mark.parametrize("name", ["extractive", "a\nb", " "])
def test_a_model_has_a_name_that_can_be_kept_as_an_author(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"model\.name"):
        as_model(ScriptedModel([], name=name))


@for_any
@given(texts(), texts())
def test_no_repr_shows_what_was_said(system: str, user: str) -> None:
    marker = "zx9-secret"
    prompt = Prompt(purpose="test", system=system + marker, user=user + marker, max_tokens=5)
    model = as_model(functools.partial(lambda key, text: text, marker))
    assert not any(marker in repr(value) for value in (prompt, Reply(user + marker), model, as_async_model(whisper)))
    assert not any(marker in pretty_repr(value) for value in (prompt, Reply(user + marker)))


def test_a_reply_counts_in_whole_numbers() -> None:
    for fields in ({"tokens_in": -1}, {"tokens_out": 1.5}, {"cost": float("nan")}, {"cost": -0.1}, {"text": None}):
        with pytest.raises(InvalidInput, match="reply"):
            Reply(**{"text": "two", **fields})  # type: ignore[arg-type]


def test_usage_adds_up_what_is_told() -> None:
    usage = Usage()
    for answer in (Reply("a", 10, 2, 0.5), Reply("b"), ModelError("timeout"), Reply("c", 1, 1, 0.25)):
        usage = usage.plus(answer)
    assert usage == Usage(calls=4, tokens_in=11, tokens_out=3, cost=0.75)


def test_a_cost_that_nobody_tells_is_unknown() -> None:
    assert Usage().plus(Reply("a", 10, 2)).cost is None


def test_a_script_that_is_used_up_raises() -> None:
    model = ScriptedModel(["two"])
    model.complete(PROMPT)
    with pytest.raises(LookupError, match="used up"):
        model.complete(PROMPT)
    assert model.calls == 2


# -- languages -------------------------------------------------------------------------------------------------------------

SAMPLES = {
    "en": "The user decided to use PostgreSQL because it is the one that they know.",
    "de": "Der Nutzer hat sich für PostgreSQL entschieden, weil er es kennt und nicht wechseln will.",
    "fr": "L'utilisateur a choisi PostgreSQL pour la base de données, et il ne veut pas changer.",
    "es": "El usuario decidió usar PostgreSQL porque es la que conoce y no quiere cambiar.",
    "it": "L'utente ha deciso di usare PostgreSQL perché è quello che conosce e non vuole cambiare.",
    "pt": "O usuário decidiu usar o PostgreSQL porque é o que ele conhece e não quer mudar.",
    "nl": "De gebruiker heeft besloten om PostgreSQL te gebruiken omdat hij het kent.",
    "ru": "Пользователь решил использовать PostgreSQL, потому что он его знает и не хочет менять.",
    "uk": "Користувач вирішив, що він буде використовувати PostgreSQL, бо вона для нього є знайома і він не хоче змін.",
    "ja": "利用者は来週の火曜日に大阪へ行くことに決めました。",
    "zh": "用户决定下周二去北京开会，并且要求我们记住这个安排。",
    "ko": "사용자는 다음 주 화요일에 부산으로 가기로 결정했습니다.",
    "el": "Ο χρήστης αποφάσισε να πάει στην Αθήνα την Τρίτη.",
    "he": "המשתמש החליט לנסוע לחיפה ביום שלישי הבא.",
    "th": "ผู้ใช้ตัดสินใจไปเชียงใหม่ในวันอังคารหน้า",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_the_language_of_a_sentence_is_told(language: str) -> None:
    assert language_of(SAMPLES[language]) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "OK",
        "x = foo(bar); return y",
        "PostgreSQL 17, Kubernetes 1.31, Redis 7",
        "👍 12:30",
        "مرحبا بالعالم",
        "No se que para Maria Fernandez Rodriguez",
    ],
)
def test_what_is_in_no_language_or_in_one_of_several_is_not_told(text: str) -> None:
    assert language_of(text) == ""


@pytest.mark.parametrize("language", SAMPLES)
def test_a_text_is_never_foreign_to_itself(language: str) -> None:
    assert not in_another_language(SAMPLES[language], [SAMPLES[language]])


@pytest.mark.parametrize("language", [language for language in SAMPLES if language != "en"])
def test_english_is_foreign_to_a_talk_in_another_language(language: str) -> None:
    assert in_another_language(SAMPLES["en"], [SAMPLES[language]])
    assert in_another_language(SAMPLES[language], [SAMPLES["en"]])


def test_a_script_is_foreign_also_where_its_language_cannot_be_told() -> None:
    arabic = "قرر المستخدم السفر إلى بيروت يوم الثلاثاء القادم"
    assert language_of(arabic) == ""
    assert in_another_language(arabic, [SAMPLES["en"]])
    assert not in_another_language(arabic, [SAMPLES["en"], arabic])


def test_V099_one_foreign_word_does_not_change_the_language() -> None:
    assert language_of("Ich habe gestern 親子丼 gekocht, und es war nicht so gut wie das von meiner Mutter.") == "de"


def test_any_language_that_was_spoken_will_do() -> None:
    assert not in_another_language(SAMPLES["en"], [SAMPLES["de"], SAMPLES["en"], SAMPLES["de"]])


def test_code_and_names_are_foreign_to_nobody() -> None:
    assert not in_another_language("src/app.py: retry_limit = 5", [SAMPLES["de"]])


def test_where_a_language_is_asked_for_that_is_the_one() -> None:
    assert in_another_language(SAMPLES["en"], [SAMPLES["en"]], asked="de")
    assert in_another_language(SAMPLES["en"], [SAMPLES["en"]], asked="ja")
    assert not in_another_language(SAMPLES["de"], [SAMPLES["en"]], asked="de")
    assert not in_another_language(SAMPLES["ru"], [SAMPLES["en"]], asked="ru")


def test_the_script_is_that_of_most_letters() -> None:
    assert script_of(SAMPLES["ru"]) == "CYRILLIC"
    assert script_of("東京 и Lisbon") == ""


@for_any
@given(st.text(), st.lists(texts(), max_size=3))
def test_telling_a_language_takes_any_text(text: str, said: list[str]) -> None:
    assert language_of(text) in {"", *LANGUAGE_NAMES}
    assert isinstance(in_another_language(text, said), bool)


def test_each_call_is_told_with_what_it_took_and_never_what_was_said() -> None:
    told: list[Call] = []
    run(ask(2), ScriptedModel([Reply("two", 10, 2), OSError("secret")], name="m"), observe=told.append)
    assert [(call.purpose, call.model, call.usage, call.failed) for call in told] == [
        ("test", "m", Usage(calls=1, tokens_in=10, tokens_out=2), ""),
        ("test", "m", Usage(calls=1), "error"),
    ]


def test_both_drivers_tell_of_the_same_calls() -> None:
    sync: list[Call] = []
    awaited: list[Call] = []
    run(ask(), ScriptedModel([Hang(30.0)]), timeout=0.05, observe=sync.append)
    asyncio.run(arun(ask(), AsyncScriptedModel([Hang(30.0)]), timeout=0.05, observe=awaited.append))
    assert [(call.failed, call.seconds >= 0.05) for call in (*sync, *awaited)] == [("timeout", True)] * 2
