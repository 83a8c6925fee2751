"""Sums under all or random assignments of signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ranksieve.significance.samples import Alternative, runs_of


def exact_wilcoxon(differences: np.ndarray, alternative: Alternative) -> tuple[float, float]:
    """P-value of Wilcoxon's test over all assignments of signs, and its statistic."""
    # Doubled, because ties have half ranks.
    ranks = np.round(2 * scipy.stats.rankdata(np.abs(differences))).astype(int)
    ways = np.ones(1)  # number of assignments for each sum of positive ranks
    for rank in ranks:
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    positive = int(ranks[differences > 0].sum())
    at_least, at_most = ways[positive:].sum(), ways[: positive + 1].sum()
    if alternative == "two-sided":
        smaller = min(positive, ranks.sum() - positive) / 2
        return float(min(1.0, 2 * min(at_least, at_most) / ways.sum())), float(smaller)
    extreme = at_least if alternative == "greater" else at_most
    return float(extreme / ways.sum()), positive / 2


def all_signed_sums(sizes: np.ndarray) -> np.ndarray:
    """Sums of numbers under all assignments of signs."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return sums


def random_signed_sums(sizes: np.ndarray, n_permutations: int, random_state: Any) -> np.ndarray:
    """Sums of numbers under random signs."""
    rng = np.random.default_rng(random_state)
    sums = np.empty(n_permutations)
    for rows in runs_of(n_permutations, len(sizes)):
        positive = rng.integers(0, 2, (rows.stop - rows.start, len(sizes)), dtype=np.int8)
        sums[rows] = 2 * (positive @ sizes) - sizes.sum()
    return sums
