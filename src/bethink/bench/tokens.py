"""How close does the built-in counter come to a vocabulary, and is it ever below?

    bethink bench tokens [PATH]... [--json]

Each corpus is many texts, and each text is counted by itself, by `BuiltinCounter` and by the vocabularies on this machine
(extra "tokens"). For each vocabulary:

- times: what the built-in counter counts in all, for one of the vocabulary's.
- lowest: the same for the single text where it is least. Below 1, a budget would not hold at the model.
- below: the share of texts for which it is below 1.

Without a PATH the corpora are bethink's own: the demo's transcript, its source, and what is made up here. A PATH is a JSON file
(each text under a key "content" or "text", as in OpenAI's chat format, LoCoMo, LongMemEval), any other file (its blocks between
empty lines), or a folder (its files).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter

import msgspec

import bethink
from bethink import demo
from bethink.bench.measure import columns, print_json
from bethink.messages import Message
from bethink.models import TokenCounter
from bethink.models.exact import ENCODINGS, TiktokenCounter
from bethink.models.tokens import BuiltinCounter

__all__ = ["Compared", "Corpus", "compare", "main", "own_corpora", "texts_of"]


class Compared(msgspec.Struct, frozen=True):
    """The built-in counter beside an exact one; see the module's head.

    Attributes:
        tokens: what the exact one counts in all.
    """

    tokens: int
    times: float
    lowest: float
    below: float


class Corpus(msgspec.Struct, frozen=True):
    """The figures of one corpus.

    Attributes:
        microseconds: of the built-in counter for 35 words, each text counted for the second time.
        beside: by the name of the encoding.
    """

    texts: int
    tokens: int
    microseconds: float
    beside: dict[str, Compared]


def compare(texts: Sequence[str], exact: Mapping[str, TokenCounter]) -> Corpus:
    """Count each text by itself. `texts` are some, each not empty."""
    builtin = BuiltinCounter()
    counts = [builtin.count(text) for text in texts]
    started = perf_counter()
    for text in texts:
        builtin.count(text)
    seconds = perf_counter() - started
    beside = {}
    for name, counter in exact.items():
        true = [counter.count(text) for text in texts]
        ratios = [ours / theirs for ours, theirs in zip(counts, true, strict=True)]
        beside[name] = Compared(
            sum(true), sum(counts) / sum(true), min(ratios), sum(ratio < 1 for ratio in ratios) / len(ratios)
        )
    words = sum(len(text.split()) for text in texts)
    return Corpus(len(texts), sum(counts), seconds / max(words, 1) * 35e6, beside)


# -- texts ----------------------------------------------------------------------------------------------------------------


def own_corpora() -> dict[str, list[str]]:
    """Texts that come with bethink, by the name of their corpus."""
    talk, calls = _demo()
    source = sorted(Path(bethink.__file__).parent.rglob("*.py"))
    return {
        "demo, talk": talk,
        "demo, tool calls": calls,
        "Python": [block for file in source for block in _blocks(file.read_text("utf-8"), 3)],
        "JSON": _json(400),
        "CJK": list(_CJK),
        "emoji": list(_EMOJI),
    }


def texts_of(path: Path) -> list[str]:
    """The texts of a file or folder; see the module's head."""
    if path.is_dir():
        return [text for file in sorted(path.rglob("*")) if file.is_file() for text in texts_of(file)]
    if path.suffix == ".json":
        return list(dict.fromkeys(_under_keys(json.loads(path.read_bytes()))))
    return _blocks(path.read_text("utf-8", errors="replace"), 2)


def _under_keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, below in value.items():
            if key in ("content", "text") and isinstance(below, str):
                if below:
                    yield below
            else:
                yield from _under_keys(below)
    elif isinstance(value, list):
        for below in value:
            yield from _under_keys(below)


def _blocks(text: str, breaks: int) -> list[str]:
    return [block for block in re.split(rf"\n{{{breaks},}}", text) if block.strip()]


def _demo() -> tuple[list[str], list[str]]:
    messages: list[Message] = [message for conversation in demo.conversations() for message in conversation.messages]
    talk = [message.text for message in messages if message.text and message.role != "tool"]
    calls = [call.arguments for message in messages for call in message.tool_calls if call.arguments]
    return talk, calls + [message.text for message in messages if message.text and message.role == "tool"]


def _json(texts: int) -> list[str]:
    """Made-up tool arguments and results: the same each time."""
    chance = random.Random(7)
    names = ("order_id", "customer", "created_at", "price", "quantity", "status", "path", "query", "limit", "tags")
    words = ("pending", "shipped", "Rotterdam", "blue", "invoice", "src/app/main.py", "urgent", "customer asked for a refund")

    def value(depth: int) -> object:
        kind = chance.randrange(7 if depth else 5)
        if kind == 5:
            return [value(depth - 1) for _ in range(chance.randrange(4))]
        if kind == 6:
            return {name: value(depth - 1) for name in chance.sample(names, chance.randrange(1, 5))}
        plain = (
            chance.choice(words),
            chance.randrange(100_000),
            round(chance.uniform(0, 1_000), 2),
            chance.choice((True, False, None)),
            f"2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}T{chance.randrange(24):02}:30:00Z",
        )
        return plain[kind]

    made = [{name: value(3) for name in chance.sample(names, chance.randrange(1, 7))} for _ in range(texts)]
    return [json.dumps(each, indent=2 if number % 2 else None) for number, each in enumerate(made)]


_CJK = (
    "我们把发布推迟到三月的第二周，因为供应商无法提前交付传感器。",
    "请通知客户，并且确认旧合同是否允许我们不付全部费用就取消。",
    "會議改到星期四下午三點，地點還是二樓的小會議室。記得帶上個月的報表。",
    "你好！昨天的比赛你看了吗？最后十分钟真的太精彩了。",
    "センサーの納品が間に合わないため、発売を三月の第二週に延期しました。",
    "昨日のラーメン屋さん、本当においしかったです。来週また一緒に行きませんか。",
    "以前の契約書で、費用を全額払わずに解約できるかどうかも確認してください。",
    "공급업체가 센서를 더 일찍 납품할 수 없어서 출시를 삼월 둘째 주로 미뤘습니다.",
    "주말에 뭐 했어요? 저는 친구들이랑 바다에 다녀왔어요. 날씨가 정말 좋았어요!",
    "メールは priya@example.com に送ってください。注文番号は QX-4071 です。",
)
_EMOJI = (
    "😀🎉👍🏽",
    "👨‍👩‍👧‍👦 are all coming 🎂🎈",
    "🇩🇪 3 - 2 🇯🇵 😱😱😱",
    "❤️🔥 so proud of you!! 💪🏻",
    "🧘‍♀️ then ☕🥐 and off to work 🚲",
    "🏳️‍🌈 ✅ ❌ 1️⃣2️⃣3️⃣",
    "🤷🏽‍♂️ no idea 🪐🛸",
    "明日は休み🎌😴",
)


# -- printing -------------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bethink bench tokens", description="The built-in counter beside vocabularies.")
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", type=Path, help="files or folders to count instead of bethink's own"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args(argv)
    exact = {name: TiktokenCounter(name) for name in ENCODINGS if TiktokenCounter.available(name)}
    corpora = {path.name: texts_of(path) for path in arguments.paths} if arguments.paths else own_corpora()
    figures = {name: compare(texts, exact) for name, texts in corpora.items() if texts}
    if arguments.json:
        print_json(figures)
        return 0
    print(f"{BuiltinCounter().name} beside {', '.join(exact) or 'nothing: no vocabulary here (extra tokens)'}\n")
    head = [part for name in exact for part in (name, "lowest", "below")]
    rows = [["corpus", "texts", "tokens", "µs for 35 words", *head]]
    for name, corpus in figures.items():
        beside = [part for each in corpus.beside.values() for part in _cells(each)]
        rows.append([name, f"{corpus.texts:,}", f"{corpus.tokens:,}", f"{corpus.microseconds:.0f}", *beside])
    print(columns(rows))
    return 0


def _cells(compared: Compared) -> tuple[str, str, str]:
    return f"{compared.times:.2f}x", f"{compared.lowest:.2f}x", f"{compared.below:.2%}"


if __name__ == "__main__":
    sys.exit(main())
