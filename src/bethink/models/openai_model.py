"""A language model behind OpenAI's chat API: OpenAI itself, Azure OpenAI, Ollama, vLLM, llama.cpp, LM Studio, and others.

    prompt ─▶ system and user message ─▶ POST {base_url}/chat/completions ─▶ the words, what they took, if they were cut off

Servers differ in two fields, the limit of an answer and its form. One that refuses a field is asked again in another way, and
what it took is remembered. Needs nothing beyond bethink (see `http`). Every prompt is sent to that server, and only because
somebody made one of these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bethink.errors import InvalidInput, ModelFailed
from bethink.models.azure import AZURE_HOSTS, azure_server
from bethink.models.chat_reply import NoReply, reply_of
from bethink.models.http import Unsupported
from bethink.models.language import Prompt, Reply
from bethink.models.openai_server import HOST, openai_server
from bethink.models.structured import MENTIONED, Forms, Structured, response_format
from bethink.values import check_id

__all__ = ["OpenAIModel"]

_OURS = frozenset({"model", "messages", "max_tokens", "max_completion_tokens", "stream", "n"})
_OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_LIMIT_MENTIONED = re.compile(rb"max_completion_tokens")
"""In a refusal of either name: the newer is said to be unknown, or the one to use."""


class OpenAIModel:
    """A `LanguageModel` behind an OpenAI-compatible HTTP API. Safe to use from many threads.

    Args:
        model: as the server calls it; kept beside what it writes.
        api_key: by default that of the environment, OPENAI_API_KEY; with a `base_url` given here none is sent unless it is
            given here too, so that a key never goes to a server it is not for.
        base_url: up to and without `/chat/completions`; by default that of the environment, OPENAI_BASE_URL, or OpenAI's own.
            For Azure OpenAI see `azure`.
        headers: further ones for each request.
        options: further fields for each request, such as `{"temperature": 0}` or `{"reasoning_effort": "low"}`.
        thinking_tokens: allowed besides the reply, for models that think before they answer and count it.
        structured: how an answer is held to the schema of a prompt that has one: "schema", "object" (some JSON), "none" (by the
            instructions alone), or "auto": the first of these that the server takes. A `response_format` among the options
            takes the place of all.
        timeout: seconds of one attempt.
        retries: how often a request is sent again that met no connection, no answer in time, 429 or a fault of the server.
            Waits between are as long as the server asks for, up to 60 s, or 0.5 s and then twice as long each time.

    Raises:
        InvalidInput: no model, no address, no key where one is needed, or what cannot be sent.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        thinking_tokens: int = 0,
        structured: Structured = "auto",
        timeout: float = 60.0,
        retries: int = 2,
    ) -> None:
        self._model = check_id(model, "model")
        if taken := sorted(_OURS.intersection(options or {})):
            raise InvalidInput("options", f"{taken[0]!r}, which each prompt decides", "leave it out")
        if isinstance(thinking_tokens, bool) or thinking_tokens < 0:
            raise InvalidInput("thinking_tokens", f"{thinking_tokens}", "give 0 or more")
        self._options = dict(options or {})
        self._thinking = thinking_tokens
        self._forms = Forms("none" if "response_format" in self._options else structured)
        self._client = openai_server(
            model,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            retries=retries,
            failure=ModelFailed,
            headers=headers,
        )
        self._path = "chat/completions"
        # OpenAI's newer models refuse the old name, and many other servers do not know the new one.
        host = self._client.host.partition(":")[0]
        self._limit = "max_completion_tokens" if host == HOST or host.endswith(AZURE_HOSTS) else "max_tokens"

    @classmethod
    def azure(
        cls,
        deployment: str,
        *,
        endpoint: str | None = None,
        api_key: str | None = None,
        api_version: str | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> OpenAIModel:
        """A model that you have deployed at Azure OpenAI.

        Args:
            deployment: its name there; kept beside what it writes.
            endpoint: such as `https://NAME.openai.azure.com`; by default that of the environment, AZURE_OPENAI_ENDPOINT.
            api_key: sent as `api-key`; by default that of the environment, AZURE_OPENAI_API_KEY, where the endpoint is its too.
                None is needed where `headers` carry an `Authorization` of your own.
            api_version: such as "2024-10-21", by default OPENAI_API_VERSION. Without one, Azure's API without versions
                (`/openai/v1`) is asked.
            headers: further ones for each request.
            more: as for `OpenAIModel`, except `base_url`.

        Raises:
            InvalidInput: no deployment, endpoint or key, or what cannot be sent.
        """
        server = azure_server(deployment, endpoint=endpoint, api_key=api_key, api_version=api_version, headers=headers)
        model = cls(deployment, base_url=server.base_url, headers=server.headers, **more)
        model._path += server.query
        model._limit = "max_completion_tokens"
        return model

    def __repr__(self) -> str:
        return f"OpenAIModel({self._model!r}, at {self._client.host!r})"

    @property
    def name(self) -> str:
        return self._model

    def complete(self, prompt: Prompt) -> Reply:
        """The model's answer. One that was refused is an answer without words.

        Raises:
            ModelFailed: the server refused it, or did not answer as it should however often it was asked.
        """
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages.append({"role": "user", "content": prompt.user})
        answer = self._asked(prompt, {"model": self._model, "messages": messages, **self._options})
        try:
            return reply_of(answer)
        except NoReply as none:
            raise ModelFailed(self._model, none.problem, "check that the base URL is that of a chat API") from None

    def _asked(self, prompt: Prompt, request: Mapping[str, Any]) -> Any:
        """The answer to the request with a limit and a form that the server takes; those are remembered."""
        limit, other = self._limit, _OTHER_LIMIT[self._limit]
        form, *weaker = self._forms.to_try(prompt)
        while True:
            most = {limit: prompt.max_tokens + self._thinking}
            doubtful = {**({"limit": _LIMIT_MENTIONED} if other else {}), **({"form": MENTIONED} if weaker else {})}
            try:
                answer = self._client.post(self._path, {**request, **most, **response_format(prompt, form)}, doubtful=doubtful)
            except Unsupported as refused:
                if refused.what == "limit":
                    limit, other = other, ""
                else:
                    form, *weaker = weaker
                continue
            self._limit = limit
            self._forms.answered(prompt, form)
            return answer
