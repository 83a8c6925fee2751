"""The demo as a company would have it: a log in Parquet that was not made for us, and its costs."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import RankingData
from ranksieve.datasets.demo import demo_costs, draw_demo
from ranksieve.io.files import make_directory, replace_on_success
from ranksieve.io.records import write_text

_N_SESSIONS, _N_LATER, _N_FEW = 400, 300, 12
_N_REQUESTS = 3_000
_SEED = 44
_FIRST_DAY = np.datetime64("2026-03-02T06:00:00", "us")
_MINUTES = 95  # on average between two sessions, of which two go on at the same time
_DEVICES = ("phone", "desktop", "tablet")
_LEVELS = ("clean", "fair", "poor", "spam")  # of spam_score, which the log has only in words
_SHARES = (0.25, 0.6, 0.85)  # below which a document has the first levels
_RENAMED = {"spam_score": "page_class"}
_UNKNOWN = (("colbert_maxsim", 6.5, "embedding_model"), ("user_affinity", 0.9, "profile_store"))
_MS = 0.1  # milliseconds of a request for each unit of the costs of the demo
_BASE_MS = 18.0  # of a request without any feature


class DemoTable(NamedTuple):
    """The files that :func:`write_demo_table` writes."""

    log: Path  # sessions of some weeks
    later: Path  # sessions of the following weeks
    changed: Path  # the same sessions after the units of three features have changed
    few: Path  # so few sessions that nothing can be judged
    catalogue: Path  # costs of features in milliseconds, also of some that the log does not have
    calls: Path  # costs of groups of features that are computed together
    requests: Path  # times of requests, and which features each computed


def write_demo_table(directory: str | os.PathLike[str]) -> DemoTable:
    """Write the embedded demo as a messy table, with a catalogue of costs, and return the paths.

    The table has sessions instead of query ids, times, addresses, texts, categories, integers,
    booleans, missing values, a copy of a feature, and columns that are known only after a user has
    seen the results: ``clicked`` and ``shown_position``. The rows of a session are not adjacent.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow.parquet as pq
    >>> from ranksieve.datasets import write_demo_table
    >>> table = write_demo_table(tempfile.mkdtemp())
    >>> names = pq.read_schema(table.log).names
    >>> len(names), names[:6]
    (52, ['session_id', 'shown_at', 'query_text', 'doc_id', 'shown_position', 'clicked'])
    """
    folder = make_directory(Path(directory))
    files = DemoTable(
        folder / "log.parquet",
        folder / "later.parquet",
        folder / "changed.parquet",
        folder / "few.parquet",
        folder / "catalogue.csv",
        folder / "calls.csv",
        folder / "requests.parquet",
    )
    last = _N_SESSIONS + _N_LATER
    _write_parquet(_columns(0, _N_SESSIONS), files.log)
    _write_parquet(_columns(_N_SESSIONS, last), files.later)
    changed = _columns(_N_SESSIONS, last)
    changed["embedding_cosine"] = 2 * changed["embedding_cosine"] + np.float32(0.1)
    for name in ("bm25_body", "lm_dir_body"):
        changed[name] = changed[name] / np.float32(10)
    _write_parquet(changed, files.changed)
    _write_parquet(_columns(last, last + _N_FEW), files.few)
    costs = demo_costs()
    rows = [
        (_RENAMED.get(name, name), _MS * cost, costs.groups.get(name, ""))
        for name, cost in costs.features.items()
    ]
    rows.append(("bm25_title_v2", _MS * costs.features["bm25_title"], "title_index"))
    rows.append(("device", 0.0, ""))
    owners = ("search", "ranking", "data")
    with_owners = [(*row, owners[n % 3]) for n, row in enumerate([*rows, *_UNKNOWN])]
    _write_csv(("feature", "cost_ms", "group", "owner"), with_owners, files.catalogue)
    calls = [(name, _MS * cost) for name, cost in costs.group_costs.items()]
    _write_csv(("group", "cost_ms"), [*calls, ("profile_store", 1.2)], files.calls)
    _write_parquet(_requests(dict(calls), rows), files.requests)
    return files


def _columns(first: int, last: int) -> dict[str, Any]:
    """Columns of the table for some sessions of the demo, with their rows in the order of time."""
    data = draw_demo(first, last)
    rng = np.random.default_rng([_SEED, first])
    names, codes = data.feature_names.tolist(), data.query_codes
    values = {name: column.astype(np.float32) for name, column in zip(names, data.X.T, strict=True)}
    spam = values.pop("spam_score")
    for name, share in (("click_rate_7d", 0.3), ("click_rate_30d", 0.2), ("load_ms", 0.08)):
        values[name] = np.where(rng.random(data.n_rows) < share, np.float32("nan"), values[name])
    for name in ("inlinks", "url_depth", "image_count"):
        values[name] = values[name].astype(np.int32)
    values["language_match"] = values["language_match"] > 0
    later = rng.integers(0, 40, data.n_rows)  # seconds until the document was seen
    started = 60 * _MINUTES * ((first + codes) // 2 * 2)
    shown_at = _FIRST_DAY + (started + later).astype("timedelta64[s]")
    table: dict[str, Any] = {
        "session_id": [f"s-{first + code:06d}" for code in codes.tolist()],
        "shown_at": shown_at,
        "query_text": [str(query).replace("_", " ") for query in data.qid],
        "doc_id": data.doc_ids,
        "shown_position": _positions(data, rng).astype(np.int16),
        "clicked": (rng.random(data.n_rows) < (0.01 + 0.98 * (data.y > 0))).astype(np.int8),
        "device": np.array(_DEVICES)[rng.integers(0, 3, data.n_queries)][codes],
        "page_class": np.array(_LEVELS)[np.searchsorted(_SHARES, spam)],
        "grade": data.y.astype(np.int8),
        **values,
        "bm25_title_v2": 2 * values["bm25_title"] + 1,
    }
    order = np.argsort(shown_at, kind="stable")
    return {name: np.asarray(column)[order] for name, column in table.items()}


def _positions(data: RankingData, rng: np.random.Generator) -> np.ndarray:
    """Positions from 1 at which a ranker in production, which is half right, showed documents."""
    scores = data.X[:, data.feature_names.tolist().index("bm25_body")] / 3.5
    order = np.lexsort((-(scores + rng.standard_normal(data.n_rows)), data.query_codes))
    positions = np.empty(data.n_rows, dtype=np.int64)
    starts = np.repeat(data.query_ptr[:-1], data.group_counts)
    positions[order] = np.arange(data.n_rows) - starts + 1
    return positions


def _requests(
    calls: dict[str, float], features: Sequence[tuple[str, float, str]]
) -> dict[str, Any]:
    """Requests of an experiment that leaves out calls and features at random, with their times."""
    rng = np.random.default_rng(_SEED)
    called = {name: rng.random(_N_REQUESTS) < 0.7 for name in calls}
    took = np.full(_N_REQUESTS, _BASE_MS)
    computed = {}
    for name, cost, group in features:
        computed[name] = rng.random(_N_REQUESTS) < 0.7
        if group:
            computed[name] &= called[group]
        took += cost * computed[name]
    for name, cost in calls.items():
        own = [computed[feature] for feature, _, group in features if group == name]
        took += cost * np.any(own, axis=0)
    took *= rng.lognormal(-0.02, 0.2, _N_REQUESTS)
    return {"took_ms": np.round(took, 3), **computed}


def _write_parquet(columns: dict[str, Any], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({n: pa.array(c, from_pandas=True) for n, c in columns.items()})
    with replace_on_success(path) as temporary:
        pq.write_table(table, temporary)


def _write_csv(header: Sequence[str], rows: Iterable[Sequence[Any]], path: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([f"{v:.4g}" if isinstance(v, float) else v for v in row] for row in rows)
    write_text(text.getvalue(), path)
