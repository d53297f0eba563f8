"""Every `bethink bench ...` runs, at a size of seconds: a benchmark that is broken is noticed before it is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from tests.path.published import beam, haystack, locomo, sample, written
from typer.testing import CliRunner

from bethink.bench.talk import turns
from bethink.cli.app import app
from bethink.cli.commands.bench import app as benchmarks

SIZES: dict[str, list[str]] = {
    "append": ["--calls", "10", "--stint", "5", "--repeats", "2", "--writers", "4", "--each", "2"],
    "context": ["--no-embedder", "--messages", "60", "--contexts", "2", "--repeats", "1"],
    "dense": ["--records", "200", "--in", "500", "--queries", "5", "--base", "30"],
    "lexical": ["--records", "200", "--in", "500", "--queries", "5"],
    "open": ["--runs", "1", "--messages", "10"],
    "growth": ["--turns", "40", "--budgets", "1500", "--rounds", "1", "--far", "150"],
    "year": ["--sessions", "12", "--insights", "1"],
    "facts": ["chat.json", "--budget", "1200", "--share", "0.5", "--seeds", "1"],
    "insights": ["locomo.json", "--tokens", "300"],
    "injection": ["--kind", "forged marks"],
    "locomo": ["locomo.json", "--embedder", "none", "--against", "bm25"],
    "longmemeval": ["longmemeval.json", "--embedder", "none"],
    "beam": ["100K", "--embedder", "none"],
    "tokens": ["locomo.json"],
}
AS_JSON = sorted(SIZES.keys() - {"open"})  # which starts a dozen processes


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    talk = [{"role": message.role, "content": message.text} for message in turns(120)]
    Path("chat.json").write_text(json.dumps(talk))
    locomo(tmp_path, sample("conv-1", "Ada", "Bo"), sample("conv-2", "Cy", "Di"))
    written(Path("longmemeval.json"), [haystack()])
    beam(Path("100K/1"))


def test_every_benchmark_is_run_here() -> None:
    commands = typer.main.get_command(benchmarks)
    assert sorted(commands.commands) == sorted(SIZES)  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.usefixtures("data")
def test_a_benchmark_runs_and_prints_its_figures(name: str) -> None:
    found = CliRunner().invoke(app, ["bench", name, *SIZES[name]])
    # 1 is a goal that was missed: what so little work shows of speed is worth nothing.
    assert found.exit_code in (0, 1), found.output
    assert isinstance(found.exception, SystemExit | None)
    assert len(found.stdout.splitlines()) > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", AS_JSON)
@pytest.mark.usefixtures("data")
def test_a_benchmark_prints_json(name: str) -> None:
    found = CliRunner().invoke(app, ["bench", name, *SIZES[name], "--json"])
    assert isinstance(found.exception, SystemExit | None)
    assert json.loads(found.stdout)
