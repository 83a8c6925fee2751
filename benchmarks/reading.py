"""Read LETOR text: the five parts of MQ2008, repeated up to a given size, into dense arrays.

scikit-learn keeps the order of the file; ranksieve groups rows by query, which is undone before
digests are compared.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Task, mq2008_parts

PARAMETERS = {"megabytes": 100}
TINY = {"megabytes": 1}


def _source(megabytes: int) -> Path:
    """Write the text once; later calls and other processes find it."""
    target = Path(tempfile.gettempdir()) / f"ranksieve-reading-{megabytes}.txt"
    if not target.exists() or target.stat().st_size < megabytes * 10**6:
        whole = b"".join(part.read_bytes() for part in mq2008_parts())
        copies = -(-megabytes * 10**6 // len(whole))
        target.write_bytes(whole * copies)
    return target


def _facts(path: Path, X: Any, y: Any, qid: Any) -> dict[str, Any]:
    digest = hashlib.sha256(np.ascontiguousarray(X).tobytes())
    digest.update(y.astype(np.float64).tobytes())
    digest.update(qid.astype(np.int64).tobytes())
    arrays = X.nbytes + y.nbytes + qid.nbytes
    return {
        "text MB": round(path.stat().st_size / 1e6),
        "arrays MB": round(arrays / 1e6),
        "digest": digest.hexdigest()[:12],
    }


def ranksieve(megabytes: int) -> Task:
    """Read into an array and group by query."""
    from ranksieve import read_letor

    path = _source(megabytes)

    def describe(data: Any) -> dict[str, Any]:
        order = np.argsort(data.row_order)
        return _facts(path, data.X[order], data.y[order], data.qid[order])

    return Task(lambda: read_letor(path), lambda: read_letor(_source(1)), describe)


def scikit_learn(megabytes: int) -> Task:
    """Read into CSR, and convert that to a dense array, which rankers need."""
    from sklearn.datasets import load_svmlight_file

    path = _source(megabytes)

    def read(source: Path) -> Any:
        X, y, qid = load_svmlight_file(str(source), query_id=True)
        return X.toarray(), y, qid

    return Task(lambda: read(path), lambda: read(_source(1)), lambda r: _facts(path, *r))


CONTENDERS = {"ranksieve": ranksieve, "scikit-learn": scikit_learn}
