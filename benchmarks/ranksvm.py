"""RankSVM beside LinearSVC on explicit differences of pairs, and its time by the length of a query.

Both minimize the same objective (squared hinge loss) on one thread, with the largest of a few
tolerances that brings them within 1e-4 of the smallest known objective; the best of several runs
counts. LinearSVC needs a list of all pairs: "times ours" does not include the time to make it, the
next column does. The second table has a single query: with twice as many documents, the time should
double, and grow a little more because of the logarithm.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table

PARAMETERS = {"rows": 70_000, "queries": 1_700, "features": 46, "longest": 100_000, "repeats": 3}
TINY = {"rows": 300, "queries": 20, "features": 4, "longest": 1000, "repeats": 1}
TOLERANCES = [10.0**-j for j in range(1, 9)]
REACHED = 1e-4


def run(rows: int, queries: int, features: int, longest: int, repeats: int) -> Group:
    """Measure and tabulate."""
    from ranksieve import limit_threads
    from ranksieve.threads import limit_blas_threads

    with limit_threads(1), limit_blas_threads(1):
        return Group(
            _contest(make_data(rows, queries, features), repeats), _by_length(longest, repeats)
        )


def make_data(rows: int, queries: int, features: int, levels: int = 3) -> Any:
    """Return data whose labels follow a weighted sum of features; real numbers with 0 levels."""
    from ranksieve import RankingData

    rng = np.random.default_rng(0)
    qid = np.sort(rng.integers(0, queries, rows))
    X = rng.random((rows, features))
    utility = X @ rng.normal(size=features) + rng.normal(size=rows)
    shares = 1 - 0.3 ** np.arange(1, max(levels, 1))  # fewer documents of each higher label
    y = np.digitize(utility, np.quantile(utility, shares)).astype(float) if levels else utility
    return RankingData(X, y, qid)


def _contest(data: Any, repeats: int) -> Table:
    from ranksieve.rankers import RankSVM

    RankSVM().fit(data.take_queries(range(10)))  # compiles
    start = time.perf_counter()
    D, signs = _differences(data)
    listing = time.perf_counter() - start
    table = Table(
        title=f"{data.n_rows:,} rows, {data.n_queries:,} queries, {data.n_features} features, "
        f"{len(D):,} pairs of {D.nbytes / 1e6:.0f} MB; one thread"
    )
    headings = ("C / pairs", "", "tol", "seconds", "times ours", "with listing", "above least")
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    for C in (1.0, 100.0, 10_000.0):
        least = RankSVM(C, tol=1e-12).fit(data).objective_
        ours = _loosest(lambda tol, C=C: _fit_ours(data, C, tol), least, repeats)
        peer = _loosest(lambda tol, C=C: _fit_peer(D, signs, C, tol), least, repeats)
        for name, (tol, seconds, objective) in {"ranksieve": ours, "LinearSVC": peer}.items():
            before = listing if name == "LinearSVC" else 0.0
            table.add_row(
                f"{C:g}",
                name,
                f"{tol:.0e}",
                f"{seconds:.3f}",
                f"{seconds / ours[1]:.1f}",
                f"{(before + seconds) / ours[1]:.1f}",
                f"{objective / least - 1:.1e}",
            )
    return table


def _differences(data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the differences of all pairs with alternating signs, and the signs."""
    parts = []
    for start, end in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True):
        better, worse = np.nonzero(data.y[start:end, None] > data.y[start:end])
        parts.append(data.X[start + better] - data.X[start + worse])
    D = np.concatenate(parts)
    signs = np.where(np.arange(len(D)) % 2, -1.0, 1.0)
    D *= signs[:, None]
    return D, signs


def _fit_ours(data: Any, C: float, tol: float) -> float:
    from ranksieve.rankers import RankSVM

    return RankSVM(C, tol=tol).fit(data).objective_


def _fit_peer(D: np.ndarray, signs: np.ndarray, C: float, tol: float) -> Callable[[], float]:
    from sklearn.svm import LinearSVC

    per_pair = C / len(D)
    model = LinearSVC(C=per_pair / 2, fit_intercept=False, dual=False, tol=tol).fit(D, signs)
    w = model.coef_[0]

    def objective() -> float:  # which LinearSVC does not tell, and is not timed
        return 0.5 * w @ w + per_pair / 2 * np.sum(np.maximum(0.0, 1 - signs * (D @ w)) ** 2)

    return objective


def _loosest(fit: Callable[[float], Any], least: float, repeats: int) -> tuple[float, float, float]:
    """Return tolerance, best time and objective of the first fit close enough to the smallest."""
    for tol in TOLERANCES:
        seconds, result = _timed(lambda tol=tol: fit(tol), repeats)  # type: ignore[misc]
        objective = result() if callable(result) else result
        if objective <= least * (1 + REACHED):
            break
    return tol, seconds, objective


def _timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def _by_length(longest: int, repeats: int) -> Table:
    from ranksieve.data import Block
    from ranksieve.rankers import RankSVM
    from ranksieve.solvers.ranksvm.losses import SquaredHinge

    table = Table(title="One query, 10 features, squared hinge: milliseconds (times half as many)")
    headings = ("labels", "documents", "pairs", "gradient", "Hessian product", "fit")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "labels" else "right")
    for name, levels in (("5 levels", 5), ("real numbers", 0)):
        before: list[float] = []
        for length in (longest // 4, longest // 2, longest):
            data = make_data(length, 1, 10, levels)
            block = Block(data.X, data.y, data.query_ptr)
            statistic = SquaredHinge(block)
            w, v = np.random.default_rng(0).normal(size=(2, 10))
            works = (
                lambda: statistic.loss_and_gradient_at(w),  # noqa: B023
                lambda: statistic.hessian_product(v),  # noqa: B023
                lambda: RankSVM().fit(data),  # noqa: B023
            )
            now = [1000 * _timed(work, 5 * repeats)[0] for work in works]
            cells = [
                f"{ms:.1f}" + (f" ({ms / before[place]:.2f})" if before else "")
                for place, ms in enumerate(now)
            ]
            table.add_row(name, f"{length:,}", f"{int(statistic.totals()[0]):,}", *cells)
            before = now
    return table
