"""Read a Parquet file with one row per document and many columns into a dense array."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Task

PARAMETERS = {"columns": 10_000, "rows": 1_000}
TINY = {"columns": 50, "rows": 40}


def _source(columns: int, rows: int) -> Path:
    """Write the file once; later calls and other processes find it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = Path(tempfile.gettempdir()) / f"ranksieve-wide-{columns}-{rows}.parquet"
    if not target.exists():
        random = np.random.default_rng(0)
        table = {"label": np.arange(rows) % 3, "qid": np.arange(rows) // 10}
        table |= {f"f{number}": random.normal(size=rows) for number in range(columns)}
        pq.write_table(pa.table(table), target)
    return target


def _facts(path: Path, X: np.ndarray) -> dict[str, Any]:
    digest = hashlib.sha256(np.ascontiguousarray(X).data).hexdigest()[:12]
    size = round(path.stat().st_size / 1e6)
    return {"file MB": size, "array MB": round(X.nbytes / 1e6), "digest": digest}


def ranksieve(columns: int, rows: int) -> Task:
    """Read into an array and group by query."""
    from ranksieve import read_parquet

    path, small = _source(columns, rows), _source(2, 10)
    return Task(
        lambda: read_parquet(path), lambda: read_parquet(small), lambda data: _facts(path, data.X)
    )


def pyarrow(columns: int, rows: int) -> Task:
    """Read into a table, and put its columns into one array."""
    import pyarrow.parquet as pq

    path, small = _source(columns, rows), _source(2, 10)

    def read(source: Path) -> np.ndarray:
        table = pq.read_table(source)
        return np.column_stack([column.to_numpy() for column in table.columns[2:]])

    return Task(lambda: read(path), lambda: read(small), lambda X: _facts(path, X))


CONTENDERS = {"ranksieve": ranksieve, "pyarrow": pyarrow}
