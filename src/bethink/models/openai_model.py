"""A language model behind OpenAI's chat API: OpenAI itself, Azure OpenAI, Ollama, vLLM, llama.cpp, LM Studio, and others.

    prompt ─▶ system and user message ─▶ POST {base_url}/chat/completions ─▶ the words, what they took, if they were cut off

Needs nothing beyond bethink (see `http`). Every prompt is sent to that server, and only because somebody made one of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bethink.errors import InvalidInput, ModelFailed
from bethink.models.language import Prompt, Reply
from bethink.models.openai_server import HOST, openai_server
from bethink.values import check_id

__all__ = ["OpenAIModel"]

_OURS = frozenset({"model", "messages", "max_tokens", "max_completion_tokens", "stream", "n"})


class OpenAIModel:
    """A `LanguageModel` behind an OpenAI-compatible HTTP API.

    Args:
        model: as the server calls it; kept beside what it writes.
        api_key: by default that of the environment, OPENAI_API_KEY; with a `base_url` given here none is sent unless it is
            given here too, so that a key never goes to a server it is not for.
        base_url: up to and without `/chat/completions`; by default that of the environment, OPENAI_BASE_URL, or OpenAI's own.
            Azure OpenAI has it at `https://NAME.openai.azure.com/openai/v1`.
        headers: further ones for each request.
        options: further fields for each request, such as `{"temperature": 0}` or `{"reasoning_effort": "low"}`.
        thinking_tokens: allowed besides the reply, for models that think before they answer and count it.
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
        self._client = openai_server(
            model,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            retries=retries,
            failure=ModelFailed,
            headers=headers,
        )

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
        most = prompt.max_tokens + self._thinking
        return self._reply(
            self._client.post(
                "chat/completions", {"model": self._model, "messages": messages, self._limit: most, **self._options}
            )
        )

    @property
    def _limit(self) -> str:
        # OpenAI's newer models refuse the old name, and many other servers do not know the new one.
        host = self._client.host.partition(":")[0]
        return "max_completion_tokens" if host == HOST or host.endswith(".openai.azure.com") else "max_tokens"

    def _reply(self, answer: Any) -> Reply:
        choices = answer.get("choices") if isinstance(answer, dict) else None
        first = choices[0] if isinstance(choices, list) and choices else None
        message = first.get("message") if isinstance(first, dict) else None
        if not isinstance(first, dict) or not isinstance(message, dict):
            raise ModelFailed(self._model, "an answer without a message", "check that the base URL is that of a chat API")
        usage = answer.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        return Reply(
            _words(message.get("content")),
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
            truncated=first.get("finish_reason") == "length",
        )


def _words(content: object) -> str:
    """Of a string, or of a list of parts; "" for none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join([text for text in texts if isinstance(text, str)])


def _count(tokens: object) -> int | None:
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0 else None
