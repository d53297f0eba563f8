"""Static embeddings with model2vec (extra "model2vec"): a table look-up for each word, no network of neurons, very fast.

A text none of whose words the model knows has no vector; it is given the first axis, so that it is near to others of its kind
and to nothing else.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any, ClassVar

from bethink.errors import MissingExtra
from bethink.models.probed import ProbedEmbedder

__all__ = ["Model2VecEmbedder"]

_MAX_CHARACTERS = 65_536
"""Far more than any model reads; keeps the tokeniser from reading megabytes for nothing."""


class Model2VecEmbedder(ProbedEmbedder):
    """An `Embedder` of a model2vec model: a folder on this machine, or a name on the Hugging Face hub, which is downloaded when
    the model is first used unless it is in the hub's cache. Loaded once, when it is first used.

    Args:
        model: path or name; or a `model2vec.StaticModel` that is loaded already, together with a `name`.
        name: what the fingerprint says; by default the folder's name, or the name on the hub.
        max_tokens: what lies beyond is not seen.

    Raises:
        MissingExtra: model2vec is not installed.
    """

    zero: ClassVar[str] = "first"

    def __init__(self, model: Any, *, name: str = "", max_tokens: int = 512, batch_size: int = 256) -> None:
        if importlib.util.find_spec("model2vec") is None:
            raise MissingExtra("the model2vec embedder", "model2vec")
        place = isinstance(model, (str, os.PathLike))
        super().__init__(name or (_named(os.fspath(model)) if place else ""), max_tokens=max_tokens, batch_size=batch_size)
        self._place = os.fspath(model) if place else ""
        self._model = None if place else model

    def _encode(self, texts: list[str]) -> Any:
        model = self._model
        if model is None:
            from model2vec import StaticModel

            model = self._model = StaticModel.from_pretrained(self._place, force_download=False)
        short = [text[:_MAX_CHARACTERS] for text in texts]
        return model.encode(short, max_length=self.max_tokens, use_multiprocessing=False)


def _named(place: str) -> str:
    """The name of a folder; a name on the hub as it is."""
    return Path(place).name if Path(place).is_dir() else place
