"""Write `src/bethink/models/minilm_tokens.npy`: the axes on which MiniLM's vectors of tokens are kept.

    python scripts/token_projection.py longmemeval_s.json

They are the first 128 principal axes of the last layer's vectors of 20,000 tokens, each of length 1, about their origin and not
about their mean, since it is cosines that are to be kept. The texts are chat: the first two sentences of turns of LongMemEval
(https://github.com/xiaowu0162/LongMemEval, MIT). Nothing of them is kept but these axes: int8, shape (384, 128). Their common
scale says nothing.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np

from bethink.models.minilm import TOKEN_DIMENSION, last_layer

TOKENS = 20_000
TARGET = Path(__file__).parents[1] / "src" / "bethink" / "models" / "minilm_tokens.npy"


def sentences(path: Path) -> list[str]:
    """Of ordinary length, each once, in the order of the file."""
    sessions = [session for entry in json.loads(path.read_bytes()) for session in entry["haystack_sessions"]]
    turns = [turn["content"] for session in sessions for turn in session]
    found = [sentence for turn in turns for sentence in re.split(r"(?<=[.!?])\s+|\n+", turn)[:2] if 20 < len(sentence) < 200]
    return list(dict.fromkeys(found))


def main() -> None:
    found = sentences(Path(sys.argv[1]))
    # As many as make up the tokens (some 20 each), spread over all.
    texts = found[:: max(1, len(found) * 20 // TOKENS)]
    tokens = np.concatenate(last_layer(texts)).astype(np.float64)
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    _, vectors = np.linalg.eigh(tokens.T @ tokens)
    axes = vectors[:, ::-1][:, :TOKEN_DIMENSION]
    # Either direction is an axis: the one whose greatest component is positive.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(TOKEN_DIMENSION)])
    np.save(TARGET, np.rint(axes * (127 / np.abs(axes).max())).astype(np.int8))


if __name__ == "__main__":
    main()
