"""Make an empty virtual environment, or say in plain words why this Python cannot: `python make_venv.py FOLDER`.

The Makefile runs it with whatever `python3` is at hand, so it is written to be read by any Python from 2.7 on.
"""

import os
import subprocess
import sys

OLDEST = (3, 10)
PIP_WITH_GROUPS = (25, 1)


def refuse(problem, fix):
    sys.exit("bethink: %s (%s).\n         %s" % (problem, sys.executable, fix))


def main(folder):
    if sys.version_info < OLDEST:
        refuse(
            "needs Python %d.%d or newer, and this one is %d.%d" % (OLDEST + sys.version_info[:2]),
            "Name another: make PYTHON=python3.12 ...",
        )
    try:
        import ensurepip
        import venv
    except ImportError as missing:
        refuse(
            "this Python cannot make virtual environments, its module %r is missing" % missing.name,
            "Install it (on Debian or Ubuntu: apt install python3-venv), or name another: make PYTHON=python3.12 ...",
        )
    venv.create(folder, clear=True, with_pip=True, symlinks=os.name != "nt")
    if tuple(map(int, ensurepip.version().split(".")[:2])) < PIP_WITH_GROUPS:
        # Dependency groups of pyproject.toml came with that version.
        python = os.path.join(folder, "Scripts" if os.name == "nt" else "bin", "python")
        upgrade = [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--upgrade",
            "pip>=%d.%d" % PIP_WITH_GROUPS,
        ]
        for _ in range(2):
            status = subprocess.call(upgrade)
            if status == 0:
                return 0
        return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
