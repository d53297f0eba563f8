"""The pages: their code runs, what they show is what comes out, and their links lead somewhere.

In a page, in order and in one fresh folder:
    ```python     is run; names carry over to the next block of the page
    ```pycon      is a session whose output must be as shown
    ```console    `$ bethink ...` is run and its output must be as shown (other commands are only shown)
Where output is shown, `...` stands for anything. A block without output only has to succeed.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^(?P=indent)```\s*?$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(?P<title>.+?)\s*$", re.MULTILINE)


class Block(NamedTuple):
    line: int
    language: str
    body: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        yield Block(text.count("\n", 0, found.start()) + 2, found["language"], found["body"])


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, made as GitHub makes them."""
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", found["title"].lower()).replace(" ", "-") for found in _HEADING.finditer(prose)}


def commands(body: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output shown below it."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, output = part.replace("\\\n", " ").partition("\n")
        yield command, output


def run_session(page: Path, block: Block, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.body, names, page.name, str(page), block.line - 1)
    told: list[str] = []
    result = doctest.DocTestRunner(optionflags=SAME).run(test, out=told.append, clear_globs=False)
    assert result.failed == 0, "".join(told)
    names.update(test.globs)


def run_commands(page: Path, block: Block, folder: Path) -> None:
    for command, expected in commands(block.body):
        words = shlex.split(command, comments=True)
        if words[:1] != ["bethink"]:
            continue
        done = subprocess.run(
            [sys.executable, "-m", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        )
        where = f"{page.name}, block at line {block.line}: $ {command}\n"
        assert done.returncode == 0, where + done.stderr
        if expected.strip():
            assert doctest.OutputChecker().check_output(expected, done.stdout, SAME), where + done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_does_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.body, str(page), "exec"), names)
        elif block.language == "pycon":
            run_session(page, block, names)
        elif block.language == "console":
            run_commands(page, block, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    dead = []
    for found in _LINK.finditer(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", path):
            continue  # another site: whether it is up today is not a fact about this checkout
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            dead.append(found["target"])
    assert dead == []


def test_every_page_that_a_newcomer_looks_for_is_there() -> None:
    expected = {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"}
    assert expected <= {page.name for page in PAGES}
