"""Azure OpenAI: where a deployment is, and what is sent with each request.

    no version    {endpoint}/openai/v1/chat/completions
    a version     {endpoint}/openai/deployments/{deployment}/chat/completions?api-version={version}

The names of the environment are those of OpenAI's own client for Azure.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import quote

import msgspec

from bethink.errors import InvalidInput
from bethink.values import check_id

__all__ = ["AZURE_HOSTS", "AzureServer", "azure_server"]

AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com", ".openai.azure.us")
"""How the names of its hosts end."""

_VERSION = re.compile(r"[A-Za-z0-9.-]{1,40}")
_TAILS = ("/openai/v1", "/openai")
"""What portals show after the endpoint, and people copy along."""


class AzureServer(msgspec.Struct, frozen=True):
    """Where to send, and with what.

    Attributes:
        base_url: up to and without `/chat/completions`.
        query: that follows the path; "" for none.
        headers: with the key.
    """

    base_url: str
    query: str
    headers: dict[str, str]

    def __repr__(self) -> str:
        return f"AzureServer({self.base_url!r}, {self.query!r})"


def azure_server(
    deployment: str, *, endpoint: str | None, api_key: str | None, api_version: str | None, headers: Mapping[str, str] | None
) -> AzureServer:
    """The server of a deployment; see `OpenAIModel.azure`.

    Raises:
        InvalidInput: no deployment, endpoint or key, or a version that is none.
    """
    check_id(deployment, "deployment")
    # The key of the environment is for the endpoint of the environment, and goes to no other.
    key = api_key if api_key is not None or endpoint is not None else os.environ.get("AZURE_OPENAI_API_KEY")
    root = (endpoint or os.environ.get("AZURE_OPENAI_ENDPOINT") or "").strip().rstrip("/")
    if not root:
        raise InvalidInput("endpoint", "none", "give it as endpoint=..., or set AZURE_OPENAI_ENDPOINT")
    sent = dict(headers or {})
    if not (key or "").strip() and not {"authorization", "api-key"} & {name.lower() for name in sent}:
        raise InvalidInput("api_key", "none", "give it as api_key=..., or set AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT")
    if key:
        sent["api-key"] = key.strip()
    root = next((root.removesuffix(tail) for tail in _TAILS if root.endswith(tail)), root)
    version = (api_version or os.environ.get("OPENAI_API_VERSION") or "").strip()
    if not version:
        return AzureServer(f"{root}/openai/v1", "", sent)
    if not _VERSION.fullmatch(version):
        raise InvalidInput("api_version", "holds what no version does", 'give one such as "2024-10-21"')
    return AzureServer(f"{root}/openai/deployments/{quote(deployment, safe='')}", f"?api-version={version}", sent)
