"""A language model of any provider that LiteLLM knows (extra "litellm").

    prompt ─▶ system and user message ─▶ litellm.completion ─▶ the words, what they took and cost

For a server that speaks OpenAI's chat API, `OpenAIModel` does the same without a package; this is for the others (Anthropic,
Bedrock, Gemini, Vertex ...), and for costs: LiteLLM knows the prices of many models. It is loaded at the first prompt, which
takes seconds.

Two of its habits are turned off. It fetches its list of prices from the network when it is loaded; the one that it came with is
used, unless LITELLM_LOCAL_MODEL_COST_MAP says otherwise. And it prints hints when a call fails.
"""

from __future__ import annotations

import importlib.util
import math
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from bethink.errors import InvalidInput, MissingExtra, ModelFailed
from bethink.models.chat_reply import NoReply, reply_of
from bethink.models.http import AGAIN, asked_to_wait, wait_before
from bethink.models.language import Prompt, Reply
from bethink.models.structured import MENTIONED, Forms, Structured, response_format
from bethink.values import check_id

__all__ = ["LiteLLMModel"]

_OURS = frozenset(
    {"max_completion_tokens", "max_retries", "max_tokens", "messages", "model", "n", "num_retries", "stream", "timeout"}
)
_PRICES = "LITELLM_LOCAL_MODEL_COST_MAP"
_REASON = 1 << 14
_loading = threading.Lock()


class LiteLLMModel:
    """A `LanguageModel` by way of LiteLLM. Safe to use from many threads.

    Args:
        model: as LiteLLM calls it, PROVIDER/MODEL; kept beside what it writes.
        api_key: by default that of the provider's own variable in the environment, which LiteLLM reads.
        base_url: another address than the provider's.
        options: what else `litellm.completion` takes, such as `{"temperature": 0}` or `{"drop_params": True}`.
        thinking_tokens, structured: as for `OpenAIModel`.
        timeout: seconds that the server may be silent; a whole call may take longer (`Settings.model_timeout` bounds that).
        retries: as for `OpenAIModel`; LiteLLM's own are turned off.

    Raises:
        MissingExtra: LiteLLM is not installed.
        InvalidInput: no model, or what cannot be sent.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        options: Mapping[str, Any] | None = None,
        thinking_tokens: int = 0,
        structured: Structured = "auto",
        timeout: float = 60.0,
        retries: int = 2,
    ) -> None:
        if importlib.util.find_spec("litellm") is None:
            raise MissingExtra("a language model by way of LiteLLM", "litellm")
        self._model = check_id(model, "model")
        if taken := sorted(_OURS.intersection(options or {})):
            raise InvalidInput("options", f"{taken[0]!r}, which is decided elsewhere", "leave it out")
        for name, number in (("thinking_tokens", thinking_tokens), ("retries", retries)):
            if isinstance(number, bool) or number < 0:
                raise InvalidInput(name, f"{number}", "give 0 or more")
        if not timeout > 0:
            raise InvalidInput("timeout", f"{timeout}", "give seconds, above 0")
        at = {"api_key": api_key, "api_base": base_url}
        self._options = {**{name: value for name, value in at.items() if value is not None}, **(options or {})}
        self._forms = Forms("none" if "response_format" in self._options else structured)
        self._thinking = thinking_tokens
        self._timeout = timeout
        self._retries = retries

    def __repr__(self) -> str:
        return f"LiteLLMModel({self._model!r})"

    @property
    def name(self) -> str:
        return self._model

    def complete(self, prompt: Prompt) -> Reply:
        """The model's answer, with its cost where LiteLLM knows the price.

        Raises:
            ModelFailed: the provider refused it, or did not answer as it should however often it was asked.
        """
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages.append({"role": "user", "content": prompt.user})
        most = prompt.max_tokens + self._thinking
        answer = self._asked(prompt, {"messages": messages, "max_tokens": most, **self._options})
        try:
            reply = reply_of(answer.model_dump())
        except NoReply as none:
            raise ModelFailed(self._model, none.problem, "check the model's name and the base URL") from None
        return _with_cost(reply, answer)

    def _asked(self, prompt: Prompt, request: Mapping[str, Any]) -> Any:
        """The answer to the request in a form that the provider takes, which is remembered."""
        form, *weaker = self._forms.to_try(prompt)
        while True:
            try:
                answer = self._persistently({**request, **response_format(prompt, form)})
            except _Refused as refused:
                if not (weaker and refused.of_form):
                    raise refused.failure from None
                form, *weaker = weaker
                continue
            self._forms.answered(prompt, form)
            return answer

    def _persistently(self, request: Mapping[str, Any]) -> Any:
        attempt = 0
        while True:
            try:
                return _litellm().completion(model=self._model, timeout=self._timeout, num_retries=0, max_retries=0, **request)
            except Exception as error:
                # Each provider has errors of its own, and LiteLLM raises a plain Exception here and there.
                refused = self._refused(error, attempt)
                wait = wait_before(attempt, refused.wait) if refused.passes and attempt < self._retries else None
                if wait is None:
                    raise refused from None
            time.sleep(wait)
            attempt += 1

    def _refused(self, error: Exception, attempt: int) -> _Refused:
        """What an error of LiteLLM's means. Its message may quote the prompt or the key, so it is looked at and left behind."""
        status = getattr(error, "status_code", None)
        status = status if isinstance(status, int) else None
        what = type(error).__name__ + (f" {status}" if status is not None else "")
        tried = f", tried {attempt + 1} times" if attempt else ""
        failure = ModelFailed(self._model, what + tried, _FIXES.get(status or 0, _FIX), status=status)
        headers = getattr(error, "litellm_response_headers", None) or getattr(getattr(error, "response", None), "headers", None)
        return _Refused(
            failure,
            passes=status in AGAIN,
            wait=asked_to_wait(headers) if headers is not None else None,
            of_form=status in _OF_FORM and MENTIONED.search(str(error)[:_REASON].encode(errors="replace")) is not None,
        )


class _Refused(Exception):
    """A call that failed: whether that passes by itself, after how many seconds, and whether the form was the reason."""

    def __init__(self, failure: ModelFailed, *, passes: bool, wait: float | None, of_form: bool) -> None:
        super().__init__()
        self.failure, self.passes, self.wait, self.of_form = failure, passes, wait, of_form


_OF_FORM = frozenset({400, 404, 415, 422, 501})
_FIX = "check the model's name, the key and the options"
_FIXES = {401: "check the API key", 403: "check what the API key may do", **dict.fromkeys(AGAIN, "try again later")}


def _litellm() -> Any:
    with _loading:
        given = os.environ.get(_PRICES)
        os.environ.setdefault(_PRICES, "True")
        try:
            import litellm
        finally:
            if given is None:
                del os.environ[_PRICES]
        litellm.suppress_debug_info = True
        return litellm


def _with_cost(reply: Reply, answer: Any) -> Reply:
    told: Any = getattr(answer, "_hidden_params", None) or {}
    cost: Any = told.get("response_cost")
    known = isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < math.inf
    return Reply(reply.text, reply.tokens_in, reply.tokens_out, float(cost), reply.truncated) if known else reply
