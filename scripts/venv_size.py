"""How large a fresh installation is, without and with the embedder: `python scripts/venv_size.py`.

Installs bethink from this checkout into two environments in a temporary folder and counts the bytes of their files: all of them
(byte code included, as pip leaves it), and without pip and setuptools, which come with every environment.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = {"core": (str(ROOT), 140), "with embedder": (f"{ROOT}[minilm]", 300)}
BUNDLED = ("_distutils_hack", "pip", "pkg_resources", "setuptools")
LARGEST = 6


def megabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def measure(requirement: str, folder: Path) -> tuple[float, float, list[tuple[str, float]]]:
    """Megabytes of an environment with `requirement`, the same without the bundled tools, and its largest packages."""
    venv.create(folder, with_pip=True)
    python = next(path for path in (folder / "bin" / "python", folder / "Scripts" / "python.exe") if path.exists())
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", requirement], check=True)
    (site,) = (path.parent for path in folder.rglob("bethink") if path.is_dir() and path.parent.name == "site-packages")
    sizes = {path.name: megabytes(path) for path in site.iterdir() if path.is_dir()}
    bundled = sum(size for name, size in sizes.items() if name.partition("-")[0] in BUNDLED)
    total = megabytes(folder)
    return total, total - bundled, sorted(sizes.items(), key=lambda item: -item[1])[:LARGEST]


def main() -> int:
    too_large = 0
    for name, (requirement, limit) in LIMITS.items():
        with tempfile.TemporaryDirectory() as folder:
            total, without, largest = measure(requirement, Path(folder))
        too_large += total > limit
        print(f"{name:14} {total:6.1f} MB in all, {without:6.1f} MB without pip and setuptools (limit {limit} MB)")
        print(" " * 15 + ", ".join(f"{package} {size:.0f}" for package, size in largest))
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.exit(main())
