"""What importing costs, what it pulls in, and which way imports point."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
PACKAGE = SOURCE / "bethink"

HEAVY = ("anyio", "apsw", "litellm", "numpy", "onnxruntime", "opentelemetry", "rich", "Stemmer", "tokenizers", "typer")

# Lowest first. A module may import what stands on a lower line, and its own package; nothing else. A name stands for the
# module and all below it, unless a longer name says otherwise: "storage.base" is lower than the rest of "storage".
LAYERS = (
    ("errors",),
    ("ids", "settings", "values"),
    ("claims", "messages", "rights"),
    ("checkpoints", "marks", "models", "records", "retrieval.terms", "threads"),
    ("items", "redaction", "usage"),
    ("formats", "limits", "storage.base"),
    ("attestations", "compaction", "telemetry"),
    ("importing", "insights", "otel"),
    ("retrieval", "storage"),
    ("context",),
    ("sharing",),
    ("async_appends", "engine", "waiting"),
    ("steps",),
    ("handoffs", "hop", "items.handle", "sharing.board", "turns"),
    ("items.async_handle", "opening", "profile", "sharing.async_board", "thread"),
    ("async_thread", "long_term"),
    ("memory",),
    ("async_memory",),
    ("demo", "testing"),
    ("bench",),
    ("cli",),
    ("__main__",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@cache
def imported_by(path: Path) -> tuple[str, ...]:
    """Every module that a file names in an import, wherever in the file it stands."""
    return tuple(_imported_by(path))


def _imported_by(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import; write the full name"
            module = node.module or ""
            # `from package import module` names the module, `from module import name` does not.
            yield from (f"{module}.{alias.name}" if f"{module}.{alias.name}" in MODULES else module for alias in node.names)


def unit_of(module: str) -> str:
    """The longest name of LAYERS that covers a module; KeyError for a module that has no place there."""
    name = module.removeprefix("bethink.")
    while name not in LEVEL:
        shorter = name.rpartition(".")[0]
        if not shorter:
            raise KeyError(f"{module} has no place in LAYERS")
        name = shorter
    return name


def test_importing_takes_less_than_150_ms() -> None:
    # The least of five: neighbours can only make it slower. What `Memory` costs on top is a figure of `bench open`.
    code = "from time import perf_counter as now; start = now(); import bethink; print(now() - start)"
    assert min(float(run(code)) for _ in range(5)) < 0.150


def test_importing_every_public_name_loads_nothing_heavy() -> None:
    loaded = run("import sys; from bethink import *; print(*sys.modules)").split()
    assert "bethink.memory" in loaded
    assert sorted(set(HEAVY) & set(loaded)) == []


HALF_MADE = """
import builtins, importlib, sys, traceback
package, names = {package!r}, {names!r}
original, found = builtins.__import__, set()

def half_made(name):
    return name in sys.modules and getattr(sys.modules[name].__spec__, "_initializing", False)

def watched(name, globals=None, locals=None, fromlist=(), level=0):
    if name.partition(".")[0] == package:
        whole = [f"{{name}}.{{each}}" for each in fromlist or () if f"{{name}}.{{each}}" in names]
        parts = [each for each in fromlist or () if f"{{name}}.{{each}}" not in names]
        needed = [*whole, *([name] if parts else [])]
        found.update((globals["__name__"], each) for each in needed if half_made(each))
    return original(name, globals, locals, fromlist, level)

builtins.__import__ = watched
for name in names:
    try:
        importlib.import_module(name)
    except Exception as error:
        print(name, "->", *traceback.format_exception_only(error))
for needs, needed in sorted(found):
    print(needs, "needs", needed, "while that is being imported")
"""


def test_every_module_imports_alone() -> None:
    # In whatever order: none takes anything from a module that is not done, so none rests on what was imported before it.
    names = [name for name in MODULES if not name.endswith("__main__")]
    assert run(HALF_MADE.format(package="bethink", names=names)) == ""


def test_a_module_that_imports_alone_only_after_another_is_found(tmp_path: Path) -> None:
    (tmp_path / "ring").mkdir()
    for name, text in (("__init__", ""), ("one", "from ring.two import a"), ("two", "a = 1\nimport ring.one")):
        (tmp_path / "ring" / f"{name}.py").write_text(text)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    told = run(code + HALF_MADE.format(package="ring", names=["ring", "ring.two", "ring.one"]))
    assert told == "ring.one needs ring.two while that is being imported"


@pytest.mark.parametrize("name", [name for name in MODULES if name != "bethink"])
def test_imports_point_one_way(name: str) -> None:
    unit = unit_of(name)
    upwards = [
        module
        for module in imported_by(MODULES[name])
        if module.startswith("bethink.") and unit_of(module) != unit and LEVEL[unit_of(module)] >= LEVEL[unit]
    ]
    assert upwards == []


def test_the_root_is_imported_by_nothing_below_it_but_the_command_line() -> None:
    importers = [name for name, path in MODULES.items() if "bethink" in imported_by(path)]
    assert [name for name in importers if name != "bethink" and LEVEL[unit_of(name)] < LEVEL["bench"]] == []


@pytest.mark.parametrize("name", MODULES)
def test_nothing_unpickles(name: str) -> None:
    # A database may come from somebody else: reading it must never run code.
    roots = {module.partition(".")[0] for module in imported_by(MODULES[name])}
    assert roots & {"cloudpickle", "dill", "jsonpickle", "marshal", "pickle", "shelve"} == set()
