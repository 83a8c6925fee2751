"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Kernels compile on their first call, which no deadline can foresee. On CI the same examples run
# every time, so that a change is judged by what it changed.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def mq2008_dir() -> Path:
    """Directory with LETOR 4.0 MQ2008 (S1.txt .. S5.txt)."""
    here = Path(__file__).resolve().parents[1]
    root = Path(os.environ.get("RANKSIEVE_DATA", here.parent / "shared" / "data"))
    if not (root / "MQ2008" / "S1.txt").is_file():
        pytest.skip(f"needs MQ2008 in {root} (set RANKSIEVE_DATA)")
    return root / "MQ2008"
