"""The summariser that needs no model: the sentences of a span that say most, word for word.

    messages ─▶ sentences ─▶ statements ─▶ without repetition ─▶ greedy choice within the limit ─▶ lines, in their order
                             weight, facts   newest wins           by gain per byte

A statement's weight is its closeness to the centroid of the span (TF-IDF, cosine; Radev, Jing, Styś and Tam, "Centroid-based
summarization of multiple documents", Information Processing and Management 40, 2004), more for a decision or a commitment,
less for a question, a courtesy, a fragment, or half a sentence. Its facts (see `facts`) count besides; a line of code counts
for its facts alone. Terms and facts count only as long as no chosen line has them, so the gain of a choice diminishes as the
summary grows, and what adds nothing is not chosen. Such a function is submodular: to choose the best gain per cost, over and
over, does well (Lin and Bilmes, "Multi-document summarization via budgeted maximization of submodular functions", NAACL-HLT
2010), and a gain once computed is an upper bound later, which spares most of the work.

Everything is deterministic; ties go to what was said first.
"""

from __future__ import annotations

import heapq
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import msgspec

from bethink.compaction.reading import excerpt
from bethink.compaction.sentences import is_fence, sentences
from bethink.compaction.statements import Statement, statements, without_repetition
from bethink.messages import Message, role_of_voice
from bethink.records import Line

__all__ = ["MAX_LINE_LENGTH", "choose", "select", "sentences_of", "shortened", "summarise"]

MAX_LINE_LENGTH = 240
"""Characters of a line; a longer sentence is several, and what is cut ends in "…"."""

# Characters that are read of a longer message, in pieces (see `excerpt`). Tool output is shortened further: what matters in it
# has mostly been repeated by the assistant.
_MAX_READ = {"user": 100_000, "assistant": 100_000, "tool": 2_000}

# Weights of the score. Closeness to the centroid is 1 for the closest statement.
_ROLE = {"user": 1.0, "assistant": 0.8, "tool": 0.5}
_FACT, _COMMITMENT = 1.0, 0.5
_QUESTION, _COURTESY, _FRAGMENT, _LONG, _CODE = 0.5, 0.3, 0.5, 0.8, 0.5
_ELLIPTIC, _LEANING = 0.5, 0.8
_FRAGMENT_TERMS, _LONG_TERMS = 3, 30
# Gains are compared per byte of UTF-8, which goes with tokens in every script and costs nothing to know; only what is about to
# be chosen is counted. So many bytes more a line costs for its speaker and date, and the reader's attention.
_LINE_BYTES = 32
# After so many in a row that no longer fit, the summary is full.
_MISSES = 24
# A sentence is at most so many lines and the beginning of one more.
_MOST_LINES = 100
# A line is not cut below this many characters.
_SHORTEST = 16

_SPACE = re.compile(r"\s+")


def summarise(messages: Sequence[Message], *, limit: int, count: Callable[[str], int]) -> tuple[Line, ...]:
    """The lines that are left of a span of a thread.

    Args:
        messages: stored messages (each with an id and a time), in order. The words of user, assistant and tool messages are
            used, and of their code the lines that bring a fact; reasoning, images and tool arguments are not, nor are system
            messages, which are always in view.
        limit: tokens that the lines may have together, each counted with the line break behind it.
        count: tokens of a text.

    Returns:
        Sentences word for word (white space made single, at most `MAX_LINE_LENGTH` characters), each with its message as the
        source, in the order in which they were said. () when nothing is worth a line, as of courtesies alone.

    Cost: linear but for sorting; about 60 ms for 400 chat turns.
    """
    said = [
        (Line(text=text, sources=(message.id,), at=_time_of(message), speaker=message.voice), message.role)
        for message in messages
        for text in _quotable(message)
    ]
    return select(said, limit=limit, count=count)


def select(said: Sequence[tuple[Line, str]], *, limit: int, count: Callable[[str], int]) -> tuple[Line, ...]:
    """As `choose`, of lines that are each given with the role of their speaker."""
    return _choose(statements(said), limit, count)


def choose(lines: Sequence[Line], *, limit: int, count: Callable[[str], int]) -> tuple[Line, ...]:
    """The lines that say most, by the same measure, as they are and in the order given (oldest first): a summary of summaries
    that never rewords one. (If not one fits, the best is cut to fit.)

    Args:
        lines, limit, count: as for `summarise`. A speaker other than a role's name counts as a user.
    """
    return _choose(statements([(line, role_of_voice(line.speaker)) for line in lines]), limit, count)


def shortened(text: str, limit: int = MAX_LINE_LENGTH) -> str:
    """`text` on one line with single spaces, cut at a word to at most `limit` characters (2 or more), "…" included."""
    text = _SPACE.sub(" ", text).strip()
    if len(text) <= limit:
        return text
    end = text.rfind(" ", limit // 2, limit)
    if end < 0:
        end = limit - 1
        # No space to cut at: at least not between a letter and the marks that belong to it.
        while end > 1 and (unicodedata.category(text[end])[0] == "M" or "\u200d" in text[end - 1 : end + 1]):
            end -= 1
    return text[:end].rstrip(" ,;:-–") + "…"


def _time_of(message: Message) -> datetime:
    assert message.created_at is not None, "a stored message has a time"
    return message.created_at


def sentences_of(message: Message) -> Iterator[str]:
    """The sentences of a message as a summary may quote them, without its code."""
    return (text for text in _quotable(message, code=False))


def _quotable(message: Message, *, code: bool = True) -> Iterator[str]:
    """The sentences of a message, in their order; with `code` long ones to their end, and the lines of its code blocks."""
    if message.role not in _ROLE:
        return
    text = excerpt(message.text, _MAX_READ[message.role])
    if message.role == "tool" and text.lstrip()[:1] in ("{", "["):
        # JSON is one statement; split at its line breaks it would be crumbs.
        yield shortened(text)
        return
    for _, _, sentence in sentences(text):
        if not is_fence(sentence):
            yield from _in_lines(sentence) if code else (shortened(sentence),)
        elif code:
            yield from (shortened(line) for line in sentence.splitlines()[1:] if not is_fence(line.lstrip()))


def _in_lines(sentence: str) -> Iterator[str]:
    """A sentence that is longer than a line as several, each but the last ending in "…": cut behind a comma where there is one,
    and at a word otherwise. Where it goes on without words, as a key does, it is cut short.
    """
    text = _SPACE.sub(" ", sentence).strip()
    for number in range(_MOST_LINES):
        if len(text) <= MAX_LINE_LENGTH:
            break
        if number and " " not in text[:MAX_LINE_LENGTH] and text[:MAX_LINE_LENGTH].isascii():
            return
        end = max(text.rfind(mark, MAX_LINE_LENGTH // 2, MAX_LINE_LENGTH - 1) for mark in (", ", "; "))
        line = f"{text[:end]}…" if end > 0 else shortened(text)
        yield line
        text = text[len(line) - 1 :].lstrip(" ,;:-–")
    if text:
        yield shortened(text)


# -- choice ---------------------------------------------------------------------------------------------------------------


def _choose(given: Sequence[Statement], limit: int, count: Callable[[str], int]) -> tuple[Line, ...]:
    """The statements of best gain per byte that fit `limit` together, in order."""
    candidates = without_repetition(given)
    factors = [_ROLE[candidate.role] * _shape(candidate) for candidate in candidates]
    shares = _shares(candidates)
    sizes = [len(candidate.line.text.encode()) + _LINE_BYTES for candidate in candidates]
    said: set[str] = set()
    known: set[str] = set()

    def ratio(index: int) -> float:
        candidate = candidates[index]
        closeness = sum([share for term, share in shares[index].items() if term not in said])
        news = len([fact for fact in candidate.facts.all if fact not in known])
        promise = candidate.commitment and not candidate.question and not candidate.code
        return factors[index] * (closeness + _FACT * news + _COMMITMENT * promise) / sizes[index]

    ranking = [(-ratio(index), index) for index in range(len(candidates))]
    heapq.heapify(ranking)
    best = ranking[0][1] if ranking else None
    chosen: list[int] = []
    left, misses = limit, 0
    while ranking and misses < _MISSES:
        _, index = heapq.heappop(ranking)
        current = (-ratio(index), index)
        if ranking and current > ranking[0]:
            heapq.heappush(ranking, current)
            continue
        if not current[0]:
            break
        cost = count(candidates[index].line.text) + 1
        if cost > left:
            misses += 1
            continue
        misses = 0
        left -= cost
        chosen.append(index)
        said.update(candidates[index].terms)
        known.update(candidates[index].facts.all)
    if not chosen and best is not None:
        return _cut_to_fit(candidates[best].line, limit, count)
    return tuple(candidates[index].line for index in sorted(chosen))


def _shares(candidates: Sequence[Statement]) -> list[dict[str, float]]:
    """What each term of each candidate adds to the candidate's closeness to the centroid; that of the closest is 1.

    Code is no part of it: what a talk is about is said in words, and code has so many of the same.
    """
    spread = Counter(term for candidate in candidates if not candidate.code for term in dict.fromkeys(candidate.terms))
    rarity = {term: math.log((len(candidates) + 1) / number) for term, number in spread.items()}
    centroid = dict.fromkeys(rarity, 0.0)
    vectors: list[dict[str, float]] = []
    for candidate in candidates:
        vector: dict[str, float] = {}
        for term in candidate.terms if not candidate.code else ():
            vector[term] = vector.get(term, 0.0) + rarity[term]
        for term, weight in vector.items():
            centroid[term] += weight
        vectors.append(vector)
    shares = []
    for vector in vectors:
        length = math.sqrt(sum([weight * weight for weight in vector.values()])) or 1.0
        shares.append({term: weight * centroid[term] / length for term, weight in vector.items()})
    greatest = max([sum(share.values()) for share in shares], default=1.0) or 1.0
    return [{term: value / greatest for term, value in share.items()} for share in shares]


def _shape(candidate: Statement) -> float:
    factor = _CODE if candidate.code else 1.0
    if candidate.question:
        factor *= _QUESTION
    if candidate.courtesy:
        factor *= _COURTESY
    if len(candidate.terms) < _FRAGMENT_TERMS:
        factor *= _FRAGMENT
    if candidate.elliptic and not candidate.code:
        factor *= _ELLIPTIC
    if candidate.leaning:
        factor *= _LEANING
    if len(candidate.terms) > _LONG_TERMS:
        factor *= _LONG
    return factor


def _cut_to_fit(line: Line, limit: int, count: Callable[[str], int]) -> tuple[Line, ...]:
    """The beginning of a line that is too long even alone; () if less than a few words would be left."""
    length = len(line.text)
    while length > _SHORTEST:
        length = length * 3 // 4
        text = shortened(line.text, length)
        if count(text) < limit:
            return (msgspec.structs.replace(line, text=text),)
    return ()
