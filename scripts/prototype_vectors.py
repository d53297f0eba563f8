"""Write `src/bethink/insights/prototypes.npy`: the vectors of the sentences in `bethink.insights.prototypes`.

    python scripts/prototype_vectors.py

Those of the topics first, in their order, then those of what says nothing: int8, shape (sentences, 384). The scale of a row
says nothing: whoever reads them makes them of length 1 again. A cosine to another vector changes by less than 0.005.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bethink.insights.prototypes import PROTOTYPES, SAY_NOTHING
from bethink.models.minilm import MiniLM

TARGET = Path(__file__).parents[1] / "src" / "bethink" / "insights" / "prototypes.npy"


def main() -> None:
    texts = [sentence for some in PROTOTYPES.values() for sentence in some] + list(SAY_NOTHING)
    vectors = MiniLM().embed(texts)
    np.save(TARGET, np.rint(vectors * (127 / np.abs(vectors).max(axis=1, keepdims=True))).astype(np.int8))


if __name__ == "__main__":
    main()
