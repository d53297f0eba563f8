"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A shared machine is slow now and then: how long an example takes is a benchmark's business.
settings.register_profile("bethink", deadline=None, print_blob=True)
settings.load_profile("bethink")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real conversations beside the project; a user's checkout does not have it."""
    folder = Path(__file__).resolve().parents[1].parent / "shared"
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"CI needs the data sets in {folder}")
        pytest.skip("the data sets in ../shared are not here")
    return folder
