"""Models of sentence-transformers (extra "sentence-transformers"), which brings torch: large, and open to any model there
is.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bethink.errors import MissingExtra
from bethink.models.probed import ProbedEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SentenceTransformerEmbedder"]

_MAX_CHARACTERS = 65_536


class SentenceTransformerEmbedder(ProbedEmbedder):
    """An `Embedder` of a sentence-transformers model: a folder on this machine, or a name on the Hugging Face hub, which is
    downloaded when the model is first used unless it is in the hub's cache.

    Texts and questions are embedded with the prompts that the model itself has for them, if it has any.

    Args:
        model: path or name; or a `SentenceTransformer` that is loaded already, together with a `name`.
        name: what the fingerprint says; by default the folder's name, or the name on the hub.
        options: what else `SentenceTransformer` takes: device, local_files_only, truncate_dim, backend ...

    Raises:
        MissingExtra: sentence-transformers is not installed.
    """

    def __init__(self, model: Any, *, name: str = "", batch_size: int = 64, **options: Any) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtra("the sentence-transformers embedder", "sentence-transformers")
        place = os.fspath(model) if isinstance(model, (str, os.PathLike)) else ""
        folder = Path(place).name if place and Path(place).is_dir() else place
        super().__init__(name or folder, batch_size=batch_size)
        self._place = place
        self._options = options
        self._loaded: Any = None if place else model

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `embed_queries` of `bethink.models`."""
        return self._all(texts, lambda given: self._run("encode_query", given))

    def _encode(self, texts: list[str]) -> Any:
        return self._run("encode_document", texts)

    def _run(self, method: str, texts: list[str]) -> Any:
        if self._loaded is None:
            from sentence_transformers import SentenceTransformer

            self._loaded = SentenceTransformer(self._place, **self._options)
        encode = getattr(self._loaded, method)
        return encode([text[:_MAX_CHARACTERS] for text in texts], batch_size=self.batch_size, show_progress_bar=False)
