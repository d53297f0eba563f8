"""The wheel: everything is in it, and it works without the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "bethink"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("bethink-*-py3-none-any.whl")
    return built


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    files = {path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*") if path.is_file()}
    # Tools that run beside the tests leave caches, all in hidden folders.
    expected = {path.as_posix() for path in files if not any(part[0] == "." or part == "__pycache__" for part in path.parts)}
    assert "bethink/py.typed" in expected
    assert any(name.endswith("schema.sql") for name in expected)
    with zipfile.ZipFile(wheel) as archive:
        assert expected - set(archive.namelist()) == set()


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top.split("-")[0] for top in tops} == {"bethink"}


def test_the_wheel_carries_licence_and_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        information = {
            name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist() if ".dist-info/" in name
        }
    assert "License-Expression: Apache-2.0" in information["METADATA"]
    assert "Apache License" in information["licenses/LICENSE"]
    assert "bethink = bethink.cli:main" in information["entry_points.txt"]


def test_the_wheel_keeps_a_message_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import bethink
assert bethink.__file__.startswith(sys.argv[1]), bethink.__file__
with bethink.Memory(sys.argv[2], embedder=None) as memory:
    memory.thread("t").add("user", "hello")
    print(memory.thread("t").messages()[0].text, memory.check())
"""
    command = [sys.executable, "-W", "error", "-c", code, str(tmp_path / "site"), str(tmp_path / "m.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "hello []"
