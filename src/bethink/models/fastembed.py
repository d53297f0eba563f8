"""Models of fastembed (extra "fastembed"): ONNX on the CPU, some of them multilingual."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bethink.errors import MissingExtra
from bethink.models.probed import ProbedEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FastEmbedEmbedder"]

_MAX_CHARACTERS = 65_536


class FastEmbedEmbedder(ProbedEmbedder):
    """An `Embedder` of a model that fastembed knows by name (`TextEmbedding.list_supported_models`, `add_custom_model`).

    The model is loaded when it is first used, and downloaded if fastembed does not have it yet. Questions are embedded by the
    model's own way for them.

    Args:
        model: its name.
        threads: of onnxruntime. One by default: on a machine that does other work more were slower.
        options: what else `TextEmbedding` takes: cache_dir, local_files_only, specific_model_path, providers ...

    Raises:
        MissingExtra: fastembed is not installed.
    """

    def __init__(
        self, model: str = "BAAI/bge-small-en-v1.5", *, threads: int = 1, batch_size: int = 64, **options: Any
    ) -> None:
        if importlib.util.find_spec("fastembed") is None:
            raise MissingExtra("the fastembed embedder", "fastembed")
        super().__init__(model, max_tokens=512, batch_size=batch_size)
        self._options = {"threads": threads, "lazy_load": True, **options}
        self._loaded: Any = None

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `embed_queries` of `bethink.models`."""
        return self._all(texts, lambda given: list(self._model().query_embed(_short(given))))

    def _encode(self, texts: list[str]) -> Any:
        return list(self._model().passage_embed(_short(texts)))

    def _model(self) -> Any:
        if self._loaded is None:
            from fastembed import TextEmbedding

            self._loaded = TextEmbedding(self._name, **self._options)
        return self._loaded


def _short(texts: list[str]) -> list[str]:
    return [text[:_MAX_CHARACTERS] for text in texts]
