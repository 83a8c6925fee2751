"""Numbers that summarize tables of results."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ranksieve.data import DataError
from ranksieve.significance.inputs import finite_column, finite_table


def relative_improvement(a: Any, b: Any) -> float:
    """Improvement of the mean of ``a`` over the mean of ``b``, in percent of the latter.

    ``100 (mean(a) - mean(b)) / mean(b)``.

    Parameters
    ----------
    a, b : floats or arrays
        Values of the two methods, or their means. ``b`` is the base.

    Returns
    -------
    float

    Examples
    --------
    >>> from ranksieve.significance import relative_improvement
    >>> round(relative_improvement(0.6337, 0.5733), 2)
    10.54
    """
    first = float(finite_column(np.atleast_1d(a), "a").mean())
    base = float(finite_column(np.atleast_1d(b), "b").mean())
    if base <= 0:
        raise DataError(f"the mean of b is {base:.4g}, but must be positive")
    return 100 * (first - base) / base


def unified_rank(values: Any) -> np.ndarray:
    """Summarize a table in one number per method, from the method's rank in every cell.

    ``Rank = sum over r of ((M - r + 1) / M) R_r``, where M is the number of methods and R_r the
    number of cells (a measure on a collection) in which the method comes r-th. Ties share the
    better rank: 1, 2, 2, 4. The best possible value is the number of cells.

    Parameters
    ----------
    values : array of shape (methods, cells)
        Larger values are better.

    Returns
    -------
    array of shape (methods,)

    References
    ----------
    - J.-Y. Yeh, C.-J. Tsai. A graph-based feature selection method for learning to rank using
      spectral clustering for redundancy minimization and biased PageRank for relevance analysis.
      Computer Science and Information Systems 19, 2022.

    Examples
    --------
    >>> from ranksieve.significance import unified_rank
    >>> unified_rank([[0.9, 0.5], [0.8, 0.5], [0.7, 0.4], [0.6, 0.6]]).tolist()
    [1.75, 1.5, 0.75, 1.25]
    """
    table = finite_table(values, "cell", "cells")
    ranks = scipy.stats.rankdata(-table, method="min", axis=0)
    return (len(table) + 1 - ranks).sum(axis=1) / len(table)
