"""A server that speaks OpenAI's API: its address, and the key that goes there and nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from bethink.errors import InvalidInput
from bethink.models.http import Failure, JsonClient, checked_url

__all__ = ["HOST", "openai_server"]

_OPENAI = "https://api.openai.com/v1"
HOST = "api.openai.com"
"""OpenAI's own."""

_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")


def openai_server(
    model: str,
    *,
    api_key: str | None,
    base_url: str | None,
    timeout: float,
    retries: int,
    failure: Failure,
    headers: Mapping[str, str] | None = None,
) -> JsonClient:
    """A client of the server at `base_url`, or else at OPENAI_BASE_URL, or else OpenAI's own.

    Args:
        model: named in errors.
        api_key: by default that of the environment, OPENAI_API_KEY; where a `base_url` is given none is sent unless it is given
            too, so that a key never goes to a server it is not for.
        headers: further ones, such as `{"api-key": ...}`.

    Raises:
        InvalidInput: no address, no key where one is needed, or a key or header that cannot be sent.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
    given = {name: _checked(name, value) for name, value in (headers or {}).items()}
    key = _key(api_key, url, given=base_url is not None)
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    return JsonClient(model, url, {**bearer, **given}, timeout=timeout, retries=retries, failure=failure)


def _key(api_key: str | None, url: str, *, given: bool) -> str:
    key = api_key if given or api_key is not None else os.environ.get("OPENAI_API_KEY")
    key = (key or "").strip()
    if re.search(r"[^\x21-\x7e]", key):
        raise InvalidInput("api_key", "holds a space, a control character or one that is not ASCII", "give the key alone")
    if not key and checked_url(url).hostname == HOST:
        raise InvalidInput("api_key", "none", "give it as api_key=..., or set OPENAI_API_KEY")
    return key


def _checked(name: str, value: str) -> str:
    if not _HEADER.fullmatch(name):
        raise InvalidInput("headers", "a name that is none of a header", 'give names such as "api-key"')
    if not value or re.search(r"[^\x20-\x7e]", value):
        raise InvalidInput(f"headers.{name}", "a value that no header can hold", "give one line of ASCII")
    return value
