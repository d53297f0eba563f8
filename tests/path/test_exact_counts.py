"""What the exact counters promise: the model's own numbers, from a vocabulary that is on this machine, and no network ever."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bethink.errors import InvalidInput, MissingExtra
from bethink.models import exact
from bethink.models.exact import ENCODINGS, TiktokenCounter, vocabulary

VOCABULARIES = pytest.mark.skipif(
    not all(map(TiktokenCounter.available, ENCODINGS)), reason="the vocabularies are not on this machine (extra tokens)"
)


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, and no package that ships vocabularies."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(exact, "_PACKAGE", "bethink_has_no_such_package")
    monkeypatch.setattr(exact, "_loaded", {})
    return tmp_path


def test_a_counter_is_named_after_its_encoding() -> None:
    assert TiktokenCounter("cl100k_base").name == "tiktoken:cl100k_base"


def test_an_encoding_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cl100k_base, o200k_base"):
        TiktokenCounter("p50k_base")


def test_without_a_vocabulary_the_first_count_names_the_extra(nowhere: Path) -> None:
    counter = TiktokenCounter("cl100k_base")
    assert not counter.available("cl100k_base")
    with pytest.raises(MissingExtra, match=r'pip install "bethink\[tokens\]"'):
        counter.count("hello")


def test_a_file_that_is_not_the_vocabulary_is_left_alone_and_not_used(nowhere: Path) -> None:
    name = hashlib.sha1(ENCODINGS["cl100k_base"].url.encode(), usedforsecurity=False).hexdigest()
    other = nowhere / name
    other.write_bytes(b"IQ== 0\n")
    with pytest.raises(MissingExtra, match="cl100k_base is not on this machine"):
        vocabulary("cl100k_base")
    assert other.read_bytes() == b"IQ== 0\n"


def test_nothing_is_asked_of_the_network(tmp_path: Path) -> None:
    code = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise PermissionError(event)

sys.addaudithook(refuse)
from bethink.errors import MissingExtra
from bethink.models import exact

exact._PACKAGE = "bethink_has_no_such_package"
try:
    exact.TiktokenCounter("o200k_base").count("hello")
except MissingExtra:
    print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={"TIKTOKEN_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("refused\n", "")


@VOCABULARIES
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_vocabulary_is_found_where_tiktoken_keeps_it(nowhere: Path, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(exact, "_PACKAGE", "bpe_openai")
        (file,) = exact._files(ENCODINGS[encoding])
        data = gzip.decompress(file.read_bytes())
    name = hashlib.sha1(ENCODINGS[encoding].url.encode(), usedforsecurity=False).hexdigest()
    (nowhere / name).write_bytes(data)
    assert TiktokenCounter(encoding).count("We moved the launch.") == 5


@VOCABULARIES
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_special_token_in_a_text_is_text(encoding: str) -> None:
    assert TiktokenCounter(encoding).count("<|endoftext|>") == 7


@VOCABULARIES
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_text_counted_in_parts_counts_the_same(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = TiktokenCounter(encoding)
    text = "It's 3 o'clock;\n\n  the (long) train left.  \t Why? " * 60
    whole = counter.count(text)
    monkeypatch.setattr(exact, "_PART", 100)
    assert counter.count(text) == whole


@VOCABULARIES
@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", [" ", "\n", "a", "^", "é"])
def test_a_run_of_a_million_characters_is_counted(encoding: str, text: str) -> None:
    assert 1_000 < TiktokenCounter(encoding).count(text * 1_000_000) <= 1_000_000


@VOCABULARIES
def test_half_a_pair_is_counted_and_not_refused() -> None:
    assert TiktokenCounter().count("\ud800") == 1
