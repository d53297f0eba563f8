"""Counting tokens exactly, with the vocabulary of the model.

`TiktokenCounter` hands a vocabulary that is on this machine to tiktoken (extra "tokens"). Nothing is ever downloaded: tiktoken
itself would fetch a vocabulary it does not have, so it is never asked for one by name. The file is looked for

1. where tiktoken keeps what it fetched: TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR, `data-gym-cache` in the temporary folder;
2. in the package `bpe-openai`, which ships both; its files are read as data, none of its code runs

and used only with the SHA-256 that tiktoken expects.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bethink.errors import InvalidInput, MissingExtra

__all__ = ["ENCODINGS", "TiktokenCounter", "vocabulary"]


class _Encoding(msgspec.Struct, frozen=True):
    """What defines an encoding beside its vocabulary.

    Attributes:
        url: where tiktoken gets the vocabulary from; names the file in its cache.
        pattern: cuts a text into the pieces that are encoded one by one.
    """

    url: str
    sha256: str
    pattern: str


# The patterns that the two encodings are defined by, written with possessive repeats: the same pieces, no backtracking.
_CL100K = "|".join(
    (
        r"'(?i:[sdmt]|ll|ve|re)",
        r"[^\r\n\p{L}\p{N}]?+\p{L}++",
        r"\p{N}{1,3}+",
        r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"\s++$",
        r"\s*[\r\n]",
        r"\s+(?!\S)",
        r"\s",
    )
)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_FOLDER = "https://openaipublic.blob.core.windows.net/encodings/"
ENCODINGS = {
    "cl100k_base": _Encoding(
        f"{_FOLDER}cl100k_base.tiktoken", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", _CL100K
    ),
    "o200k_base": _Encoding(
        f"{_FOLDER}o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", _O200K
    ),
}
"""Encodings by name: cl100k_base is GPT-3.5 and GPT-4, o200k_base GPT-4o and what came after."""

_PACKAGE = "bpe_openai"
_loaded: dict[str, Any] = {}
_lock = threading.Lock()


class TiktokenCounter:
    """A `TokenCounter` that counts as OpenAI's models do. Text is counted as text: `<|endoftext|>` is no special token.

    Making one is free; the vocabulary is loaded by the first `count`, once a process, in about a second. Safe to use from many
    threads. A text that ends inside a word may count one or two more than the text with the word complete.

    Raises:
        InvalidInput: no encoding of that name.
        MissingExtra: by the first `count`, if tiktoken is not installed or the vocabulary is not on this machine.
    """

    def __init__(self, encoding: str = "o200k_base") -> None:
        if encoding not in ENCODINGS:
            raise InvalidInput("encoding", "not one that can be counted", f"use one of {', '.join(ENCODINGS)}")
        self._encoding = encoding
        self._model: Any = None

    @property
    def name(self) -> str:
        return f"tiktoken:{self._encoding}"

    @staticmethod
    def available(encoding: str = "o200k_base") -> bool:
        """Whether tiktoken is installed and the vocabulary is on this machine. Does not load them."""
        known = encoding in ENCODINGS and importlib.util.find_spec("tiktoken") is not None
        return known and next(_files(ENCODINGS[encoding]), None) is not None

    def count(self, text: str) -> int:
        """See `TokenCounter.count`. Exact; for a text that has 32,768 characters in a row without a single space in them, up to
        one too many for each of those."""
        if self._model is None:
            self._model = _load(self._encoding)
        return sum([len(self._model.encode_ordinary(part)) for part in _parts(text)])


# tiktoken's matching fails on some runs of a million characters, so a long text is counted in parts. No piece of either pattern
# goes on over a space behind something that is no blank.
_PART = 65_536
_BEFORE_A_SPACE = re.compile(r"(?<=\S)(?= )")


def _parts(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _PART:
        end = start + _PART
        found = _BEFORE_A_SPACE.search(text, start + _PART // 2, end)
        end = found.start() if found else end
        yield text[start:end]
        start = end
    yield text[start:]


def _load(name: str) -> Any:
    """The `tiktoken.Encoding` of that name, loaded once a process."""
    with _lock:
        if name not in _loaded:
            try:
                import tiktoken
            except ImportError as error:
                raise MissingExtra("an exact token count", "tokens") from error
            encoding = ENCODINGS[name]
            _loaded[name] = tiktoken.Encoding(
                name, pat_str=encoding.pattern, mergeable_ranks=vocabulary(name), special_tokens={}
            )
        return _loaded[name]


def vocabulary(name: str) -> dict[bytes, int]:
    """The tokens of an encoding with their ranks, from a file on this machine.

    Raises:
        MissingExtra: there is none, or none with the right SHA-256.
    """
    encoding = ENCODINGS[name]
    for file in _files(encoding):
        data = file.read_bytes()
        if file.suffix == ".gz":
            data = gzip.decompress(data)
        if hashlib.sha256(data).hexdigest() == encoding.sha256:
            return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}
    raise MissingExtra(
        f"an exact token count (the vocabulary {name} is not on this machine, and nothing is downloaded)", "tokens"
    )


def _files(encoding: _Encoding) -> Iterator[Path]:
    """Files on this machine that should be the vocabulary."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    cache = Path(tempfile.gettempdir(), "data-gym-cache") if folder is None else Path(folder)
    # Named as tiktoken names it. SHA-1 guards nothing here.
    places = [cache / hashlib.sha1(encoding.url.encode(), usedforsecurity=False).hexdigest()] if folder != "" else []
    package = importlib.util.find_spec(_PACKAGE)
    homes = (package.submodule_search_locations if package else None) or ()
    places += [Path(home, "data", f"{encoding.url.rpartition('/')[2]}.gz") for home in homes]
    return (place for place in places if place.is_file())
