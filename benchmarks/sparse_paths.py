"""Paths of sparse rankers: L1 beside accelerated gradients on listed pairs, and FSMRank's grid.

Both minimize the mean squared violation of the margin plus an L1 penalty, for the same penalties
from the largest down, each starting from the previous solution, on one thread. ranksieve uses the
largest of a few tolerances that brings all objectives within 1e-4 of the smallest known ones. The
peer is FISTA in numpy on the differences of all pairs, with restarts and a step size from the
largest eigenvalue; it knows the smallest objectives, and stops within 1e-4 of each. "Times ours"
does not include the time to list the pairs, the next column does. Random features are independent,
which is the easiest case for gradients; those of MQ2008 are as similar as real features are. The
second table has 25 pairs of penalties of FSMRank on fold 1 of MQ2008, including importance and
similarity.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table

from benchmarks.harness import mq2008_parts

PARAMETERS = {"rows": 20_000, "features": 46, "lams": 30, "end": 0.01, "repeats": 3}
TINY = {"rows": 400, "features": 6, "lams": 3, "end": 0.2, "repeats": 1}
LENGTHS = (40, 120)  # documents of a query
TOLERANCES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)
REACHED = 1e-4
MOST_STEPS = 20_000


def run(rows: int, features: int, lams: int, end: float, repeats: int) -> Group:
    """Measure and tabulate."""
    from benchmarks.ranksvm import make_data
    from ranksieve import limit_threads
    from ranksieve.threads import limit_blas_threads

    fold = _mq2008()
    with limit_threads(1), limit_blas_threads(1):
        table = Table(
            title=f"L1 path of {lams} penalties down to {end:g} of the largest; one thread"
        )
        headings = ("data", "pairs", "", "seconds", "times ours", "with listing", "above least")
        for heading in headings:
            table.add_column(heading, justify="left" if heading in ("data", "") else "right")
        for length in LENGTHS:
            data = make_data(rows, rows // length, features)
            _contest(table, f"random, {length} a query", data, lams, end, repeats)
        _contest(table, "MQ2008", fold, lams, end, repeats)
        return Group(table, _fsmrank(fold, repeats))


def _mq2008() -> Any:
    from ranksieve.datasets import open_collection

    return open_collection(mq2008_parts()[0].parent).read_fold(0)[0]


def _contest(table: Table, name: str, data: Any, lams: int, end: float, repeats: int) -> None:
    from benchmarks.ranksvm import _differences
    from ranksieve.selectors import SparseRankSVM

    path = SparseRankSVM(standardize=False, lam=end, n_lams=lams, tol=1e-9).fit(data)
    goals = [(fit.lam, fit.objective) for fit in path.solutions_]
    for tol in TOLERANCES:
        ours = min(
            _timed(lambda tol=tol: path.set_params(tol=tol).fit(data)) for _ in range(repeats)
        )
        close = _above([fit.objective for fit in path.solutions_], goals)
        if close <= REACHED:
            break
    start = time.perf_counter()
    D, signs = _differences(data)
    D *= signs[:, None]
    listing = time.perf_counter() - start
    start = time.perf_counter()
    reached = _fista_path(D, goals)
    peer = time.perf_counter() - start
    for who, seconds, before, above in (
        ("ranksieve", ours, 0.0, close),
        ("FISTA", peer, listing, _above(reached, goals)),
    ):
        times = f"{seconds / ours:.1f}", f"{(seconds + before) / ours:.1f}"
        table.add_row(name, f"{len(D):,}", who, f"{seconds:.3f}", *times, f"{above:.1e}")


def _above(found: list[float], goals: list[tuple[float, float]]) -> float:
    """Return how far objectives are above the smallest ones, at most."""
    return max(value / least - 1 for value, (_, least) in zip(found, goals, strict=True))


def _fista_path(D: np.ndarray, goals: list[tuple[float, float]]) -> list[float]:
    """Return the objective of each penalty when it is close enough to its goal."""
    w = np.zeros(D.shape[1])
    length = len(D) / (2 * np.linalg.norm(D.T @ D, 2))
    found = []
    for lam, goal in goals:
        w, objective = _fista(D, lam, goal, w, length)
        found.append(objective)
    return found


def _fista(
    D: np.ndarray, lam: float, goal: float, w: np.ndarray, length: float
) -> tuple[np.ndarray, float]:
    ahead, scores, momentum = w, D @ w, 1.0
    scores_ahead = scores
    objective = np.mean(np.maximum(0.0, 1 - scores) ** 2) + lam * np.abs(w).sum()
    for _ in range(MOST_STEPS):
        if objective <= goal * (1 + REACHED):
            break
        slopes = -2 / len(D) * (np.maximum(0.0, 1 - scores_ahead) @ D)
        there = ahead - length * slopes
        there = np.sign(there) * np.maximum(0.0, np.abs(there) - length * lam)
        scores_there = D @ there
        now = np.mean(np.maximum(0.0, 1 - scores_there) ** 2) + lam * np.abs(there).sum()
        faster = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        if now > objective:
            faster, momentum = 1.0, 1.0  # restart
        share = (momentum - 1) / faster
        ahead = there + share * (there - w)
        scores_ahead = scores_there + share * (scores_there - scores)
        w, scores, objective, momentum = there, scores_there, now, faster
    return w, float(objective)


def _fsmrank(data: Any, repeats: int) -> Table:
    from ranksieve.selectors import fsmrank_path

    lambda1s, lambda2s = 10.0 ** np.arange(0, -5, -1), 10.0 ** np.arange(-1, -6, -1)
    fits: list[Any] = []

    def work() -> None:
        fits[:] = fsmrank_path(data, lambda1s, lambda2s)

    work()  # compiles
    seconds = min(_timed(work) for _ in range(repeats))
    table = Table(title="FSMRank, fold 1 of MQ2008, one thread")
    for heading in ("pairs of penalties", "seconds", "Newton steps", "largest violation"):
        table.add_column(heading, justify="right")
    steps, worst = sum(fit.n_iter for fit in fits), max(fit.violation for fit in fits)
    table.add_row(f"{len(fits)}", f"{seconds:.2f}", f"{steps}", f"{worst:.0e}")
    return table


def _timed(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
