"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from ranksieve import RankingData
from ranksieve.engine import Source
from ranksieve.engine.dask import connect
from ranksieve.io.shards import open_shards, write_shards

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


@pytest.fixture(scope="session")
def client():
    """Client of a local Dask cluster of two worker processes."""
    connection = connect(n_workers=2)
    yield connection
    connection.close()


@pytest.fixture(params=["memory", "shards", "dask"])
def everywhere(request, tmp_path):
    """Put data where methods must work: in memory, in shards on disk, on a Dask cluster.

    A test that takes this runs three times; ``everywhere(data)`` returns the source to pass to
    ``fit`` or to a statistic. Shards are small, so that there are several.
    """
    opened = []

    def put(data: RankingData, shard_bytes: int = 200_000) -> Source:
        if request.param == "memory":
            return data
        directory = tmp_path / f"shards-{len(opened)}"
        write_shards(data, directory, shard_bytes=shard_bytes)
        dask_client = request.getfixturevalue("client") if request.param == "dask" else None
        opened.append(open_shards(directory, client=dask_client))
        return opened[-1]

    yield put
    for shards in opened:
        shards.close()
