"""Stand-ins for what bethink does not own: time, the models, and the randomness of ids. All deterministic."""

from __future__ import annotations

import hashlib
import html
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from bethink.ids import derived_id
from bethink.models import Embedded, Fingerprint
from bethink.models.language import Prompt, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "AsyncScriptedModel",
    "FrozenClock",
    "Hang",
    "HashEmbedder",
    "HashTokenEmbedder",
    "Scripted",
    "ScriptedModel",
    "SeededIds",
    "remembering",
    "summing_up",
]

START = datetime(2026, 1, 5, 9, 0, tzinfo=timezone.utc)
"""Where a test's time begins when nothing is said: a Monday morning."""


_TURNS = re.compile(r"^\[(\d+)\] user[^:\n]*: (.*)$", re.MULTILINE)
_PAIRS = re.compile(r"(\d+) and (\d+)")
_NUMBERED = re.compile(r"^\[(\d+)\]", re.MULTILINE)
_LISTED = re.compile(r"^\[(\d+)\] [^:\n]*: (.*)$", re.MULTILINE)


class FrozenClock:
    """A clock that moves only when told to, also backwards."""

    def __init__(self, at: datetime = START) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at

    def advance(self, by: timedelta) -> datetime:
        """Move on by `by` and return the new time."""
        self._at += by
        return self._at

    def set(self, at: datetime) -> None:
        self._at = at


class HashEmbedder:
    """Bag of words, hashed: texts that share words have similar vectors, and nothing has to be loaded.

    A word counts towards one of `dimension` places, with a sign; both come from its hash. A text without words points at the
    first place, since every vector has length 1. Embedders of another name hash differently.
    """

    def __init__(self, dimension: int = 32, name: str = "hash") -> None:
        self._dimension = dimension
        self._name = name

    @property
    def fingerprint(self) -> Fingerprint:
        probe = hashlib.blake2b(self.embed(["a probe of the hashed bag of words"]).astype("<f4").tobytes(), digest_size=8)
        return Fingerprint(self._name, self._dimension, probe.hexdigest())

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`, in order: shape (len(texts), dimension), float32, each of length 1."""
        import numpy as np

        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in text.casefold().split():
                digest = hashlib.blake2b(word.encode(), digest_size=8, person=self._name.encode()[:16]).digest()
                vector[int.from_bytes(digest[1:], "big") % self._dimension] += 1.0 if digest[0] % 2 else -1.0
            if not vector.any():
                vector[0] = 1.0
            vector /= np.linalg.norm(vector)
        return vectors

    def stored(self, text: str) -> bytes:
        """The vector of one text as a store keeps it: little-endian float32."""
        vector: bytes = self.embed([text])[0].astype("<f4").tobytes()
        return vector


class HashTokenEmbedder(HashEmbedder):
    """The same, giving vectors of tokens as well (`TokenEmbedder`): a token is a word, and words that begin with the same three
    letters have the same vector.
    """

    @property
    def token_fingerprint(self) -> Fingerprint:
        return Fingerprint(f"{self._name}/tokens", _TOKEN_DIMENSION, "")

    def embed_tokens(self, texts: Sequence[str]) -> Embedded:
        """See `TokenEmbedder.embed_tokens`."""
        return Embedded(self.embed(texts), [self._tokens(text) for text in texts])

    def _tokens(self, text: str) -> NDArray[np.int8]:
        import numpy as np

        words = [word[:3].casefold().encode() for word in re.findall(r"\w+", text)]
        drawn = [
            hashlib.blake2b(word, digest_size=_TOKEN_DIMENSION, person=self._name.encode()[:16]).digest() for word in words
        ]
        whole = np.frombuffer(b"".join(drawn), dtype=np.uint8).astype(np.int16) % 15 - 7
        return whole.astype(np.int8).reshape(len(words), _TOKEN_DIMENSION)


_TOKEN_DIMENSION = 16


class SeededIds:
    """UUIDv7 strings that come out the same in every run: `ids()` for the next one."""

    def __init__(self, seed: str = "", at: datetime = START) -> None:
        self._seed = seed
        self._at = at
        self._count = itertools.count(1)

    def __call__(self) -> str:
        return derived_id(self._at, self._seed, str(next(self._count)))


class Hang(msgspec.Struct, frozen=True):
    """An answer that takes its time: `then` after `seconds`, if anybody is still waiting."""

    seconds: float
    then: str = ""


Scripted: TypeAlias = str | Reply | BaseException | Hang
"""What a scripted model does: answers with a text or a reply, raises, or hangs."""


class ScriptedModel:
    """A language model that answers what it is told to, and remembers what it was asked.

    Args:
        script: the answers in order, or a function of the prompt.
        name: of the model.

    Attributes:
        prompts: what was asked, in order.

    Raises:
        LookupError: by `complete`, after the last of a list of answers.
    """

    def __init__(self, script: Iterable[Scripted] | Callable[[Prompt], Scripted], name: str = "scripted") -> None:
        self.name = name
        self.prompts: list[Prompt] = []
        self._next = script if callable(script) else _in_turn(script)
        self._released = threading.Event()

    @property
    def calls(self) -> int:
        return len(self.prompts)

    def release(self) -> None:
        """End every hang, now and from now on."""
        self._released.set()

    def complete(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        scripted = self._next(prompt)
        if isinstance(scripted, Hang):
            self._released.wait(scripted.seconds)
        return _played(scripted)


class AsyncScriptedModel:
    """`ScriptedModel` for an event loop."""

    def __init__(self, script: Iterable[Scripted] | Callable[[Prompt], Scripted], name: str = "scripted") -> None:
        self.name = name
        self.prompts: list[Prompt] = []
        self._next = script if callable(script) else _in_turn(script)

    @property
    def calls(self) -> int:
        return len(self.prompts)

    async def complete(self, prompt: Prompt) -> Reply:
        import anyio

        self.prompts.append(prompt)
        scripted = self._next(prompt)
        # Even an answer without delay gives way once, as a client's does.
        await anyio.sleep(scripted.seconds if isinstance(scripted, Hang) else 0)
        return _played(scripted)


def summing_up(prompt: Prompt) -> str:
    """A script for a model of summaries: of each thing that the prompt lists, a line that cites it, "[3] Summed up: ..."."""
    listed = _LISTED.findall(prompt.user)
    return "\n".join(f"[{number}] Summed up: {html.unescape(text)}" for number, text in listed)


def remembering(prompt: Prompt) -> str:
    """A script for a model of every step of long-term memory: users like the last two words of what they say, what is near is
    the same, everything matters much; and `summing_up` for the rest."""
    if prompt.purpose == "extract":
        turns = _TURNS.findall(prompt.user)
        liked = [(int(number), " ".join(html.unescape(text).split()[-2:]).strip(".")) for number, text in turns]
        items = [{"message": number, "topic": "preference", "slot": "likes", "value": value} for number, value in liked]
        return json.dumps({"insights": items})
    if prompt.purpose == "reconcile":
        pairs = _PAIRS.findall(prompt.user.rpartition("Pairs:")[2])
        return json.dumps({"decisions": [{"new": int(new), "old": int(old), "action": "merge"} for new, old in pairs]})
    if prompt.purpose == "importance of insights":
        numbers = _NUMBERED.findall(prompt.user)
        return json.dumps({"importance": [{"id": int(number), "importance": "high"} for number in numbers]})
    return summing_up(prompt)


def _in_turn(script: Iterable[Scripted]) -> Callable[[Prompt], Scripted]:
    answers = iter(tuple(script))

    def following(_: Prompt) -> Scripted:
        for answer in answers:
            return answer
        raise LookupError("the script of the model is used up")

    return following


def _played(scripted: Scripted) -> Reply:
    if isinstance(scripted, BaseException):
        raise scripted
    if isinstance(scripted, Hang):
        return Reply(scripted.then)
    return Reply(scripted) if isinstance(scripted, str) else scripted
