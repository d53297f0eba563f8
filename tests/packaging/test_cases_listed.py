"""Every failure of the field that concerns what is built is a test named by its id, or has a reason here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import bethink.testing

KINDS = (
    "TOOL",
    "SUM",
    "ATOM",
    "DUP",
    "ORD",
    "CONC",
    "LOCK",
    "TOK",
    "CONTENT",
    "SER",
    "VEC",
    "FILT",
    "FTS",
    "UNI",
    "NS",
    "TIME",
    "TTL",
    "MIG",
    "DEL",
    "SEC",
    "FACT",
    "LLM",
)

WITHOUT_A_TEST = {
    "V031": "an adapter of Agent Framework, which passes all messages on each call: there is no such adapter yet",
    "V049": "a column of Postgres that takes no zone: there is no such backend yet; SQLite's and the reference keep V048",
}

_ROW = re.compile(r"^\| (V\d{3}) \|(?:[^|]*\|){3} (\w+) \|", re.MULTILINE)
_ID = re.compile(r"V\d{3}")


def _named() -> Iterator[str]:
    """The ids in the names of tests: those of this folder and those that are shipped for stores."""
    here = Path(__file__).resolve().parents[1]
    shipped = Path(bethink.testing.__file__).parent
    for path in (*here.rglob("test_*.py"), *shipped.glob("_contract*.py")):
        for found in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef) and found.name.startswith("test_"):
                yield from _ID.findall(found.name)


def test_every_case_is_a_test_named_by_its_id(shared: Path) -> None:
    kinds = dict(_ROW.findall((shared / "CASES.md").read_text(encoding="utf-8")))
    wanted = {case for case, kind in kinds.items() if kind in KINDS}
    assert set(kinds.values()) >= set(KINDS)
    assert len(wanted) == 107
    named = set(_named())
    assert sorted(wanted - named - WITHOUT_A_TEST.keys()) == []
    assert sorted(WITHOUT_A_TEST.keys() & named) == [], "it has a test now: take it off the list"
    assert named <= kinds.keys(), "a test is named by a case that there is none of"
