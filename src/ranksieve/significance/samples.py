"""Values of queries, with or without weights: checks of the input, means and their errors."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import special

from ranksieve.choosing import ROUNDING
from ranksieve.data import DataError

Alternative = Literal["two-sided", "greater", "less"]

_LEAST = 1e-9  # smallest degrees of freedom, if one query has nearly all the weight
_VALUES_AT_ONCE = 2**20  # largest part of a random matrix to have in memory


class Sample(NamedTuple):
    """Values of queries, with or without weights."""

    values: np.ndarray  # (queries,)
    weights: np.ndarray | None = None  # (queries,): positive, mean 1; None if all are equal

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray | None) -> Sample:
        """Make a sample with weights of any scale; queries of weight 0 are left out."""
        if weights is None:
            return cls(values)
        counted = weights > 0
        return cls(values[counted], weights[counted] / weights[counted].mean())

    @property
    def terms(self) -> np.ndarray:
        """Each value times its weight: their mean is the weighted mean."""
        return self.values if self.weights is None else self.values * self.weights

    @property
    def mean(self) -> float:
        """Weighted mean."""
        return float(self.terms.mean())

    @property
    def degrees(self) -> float:
        r"""Degrees of freedom: n - 1, with Kish's effective number of queries if weighted.

        That is :math:`n = (\sum w)^2 / \sum w^2`.
        """
        if self.weights is None:
            return len(self.values) - 1
        shares, rest = self._shares()
        return max(float(shares @ rest / (shares @ shares)), _LEAST)

    def _shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Share of each query in the sum of all weights, and the share of all others."""
        assert self.weights is not None
        shares = self.weights / self.weights.sum()
        return shares, sums_of_others(shares)

    @property
    def is_constant(self) -> bool:
        """Whether all values are equal up to rounding; true for a single value."""
        if len(self.values) < 2:
            return True
        return bool(self.values.std(ddof=1) <= ROUNDING * np.abs(self.values).max())

    @property
    def deviation(self) -> float:
        """Standard deviation; 0 if all values are equal up to rounding."""
        if self.is_constant:
            return 0.0
        if self.weights is None:
            return float(self.values.std(ddof=1))
        shares, rest = self._shares()
        return float(np.sqrt(shares @ (self.values - self.mean) ** 2 / (shares @ rest)))

    @property
    def error(self) -> float:
        """Standard error of the mean; see :func:`ranksieve.significance.paired_t_test`."""
        n = len(self.values)
        if self.weights is None or self.is_constant:
            return self.deviation / float(np.sqrt(n))
        changes = jackknife(self.values, self.weights)
        return float(np.sqrt((n - 1) / n * (changes @ changes)))

    def half_width(self, level: float) -> float:
        """Half the width of Student's confidence interval of the mean; needs two values."""
        return float(special.stdtrit(self.degrees, (1 + level) / 2)) * self.error


def jackknife(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Change of the weighted mean by each query: the mean minus that of all others."""
    means = sums_of_others(weights * values) / sums_of_others(weights)
    return weights / weights.sum() * (values - means)


def sums_of_others(terms: np.ndarray) -> np.ndarray:
    """For each term, the sum of all others.

    Subtracting a term from the sum of all would lose small terms beside a large one.
    """
    before = np.concatenate([[0.0], np.cumsum(terms[:-1])])
    after = np.concatenate([np.cumsum(terms[:0:-1])[::-1], [0.0]])
    return before + after


def finite_column(values: Any, name: str) -> np.ndarray:
    """Return one finite number per query; raise a DataError for anything else."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or not len(column):
        raise DataError(f"{name} must be a list of numbers, but its shape is {column.shape}")
    bad = np.flatnonzero(~np.isfinite(column))
    if len(bad):
        raise DataError(
            f"{name} has {column[bad[0]]} at position {bad[0]} (0-based): "
            "leave it out, or replace it by a number"
        )
    return column


def finite_table(values: Any, column: str, columns: str) -> np.ndarray:
    """Return a table of finite numbers, methods by ``columns``; raise a DataError otherwise."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise DataError(f"values must be a table of methods by {columns}, got shape {table.shape}")
    if not np.isfinite(table).all():
        method, position = np.argwhere(~np.isfinite(table))[0]
        raise DataError(
            f"values has {table[method, position]} for method {method} in {column} {position} "
            f"(0-based): leave out {columns} that some method lacks"
        )
    return table


def paired_values(a: Any, b: Any, least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of both methods; raise a DataError unless ``least`` or more are paired."""
    first, second = finite_column(a, "a"), finite_column(b, "b")
    if len(first) != len(second):
        raise DataError(
            f"a has {len(first)} values and b has {len(second)}: pass one value per query for "
            "each method, the same queries in the same order"
        )
    if len(first) < least:
        raise DataError(f"a comparison needs the values of at least {least} queries")
    return first, second


def weighted_pairs(
    a: Any, b: Any, weights: Any = None, least: int = 2
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Values of both methods, and weights with a mean of 1; queries of weight 0 are left out.

    Raises a DataError unless ``least`` or more queries are left.
    """
    first, second = paired_values(a, b, least)
    if weights is None:
        return first, second, None
    given = finite_column(weights, "weights")
    if len(given) != len(first):
        raise DataError(f"there are {len(given)} weights for the values of {len(first)} queries")
    counted = given > 0
    if given.min() < 0 or counted.sum() < least:
        raise DataError(f"weights must not be negative, and at least {least} must be positive")
    return first[counted], second[counted], given[counted] / given[counted].mean()


def paired_differences(a: Any, b: Any, weights: Any = None) -> Sample:
    """Differences a - b, sorted so that no result depends on the order of the queries."""
    first, second, weights = weighted_pairs(a, b, weights)
    differences = differences_of(first, second)
    if weights is None:
        return Sample(np.sort(differences))
    order = np.lexsort((weights, differences))
    return Sample(differences[order], weights[order])


def differences_of(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Differences of values; rounding errors become 0."""
    differences = first - second
    largest = max(np.abs(first).max(), np.abs(second).max())
    differences[np.abs(differences) <= ROUNDING * largest] = 0.0
    return differences


def ratio_of(mean: float, scale: float) -> float:
    """Divide a mean by its scale; if the scale is 0, return infinity, or 0 for a mean of 0."""
    if scale == 0:
        return float(np.sign(mean) * np.inf) if mean else 0.0
    return float(mean / scale)


def check_alternative(alternative: str) -> None:
    """Raise a ValueError unless this is the name of an alternative."""
    if alternative not in ("two-sided", "greater", "less"):
        raise ValueError(
            f"alternative must be 'two-sided', 'greater' or 'less', got {alternative!r}"
        )


def check_level(level: float) -> None:
    """Raise a ValueError unless ``level`` is between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")


def t_p_value(t: float, degrees: float, alternative: str) -> float:
    """p-value of Student's t."""
    if alternative == "two-sided":
        return float(2 * special.stdtr(degrees, -abs(t)))
    return float(special.stdtr(degrees, -t if alternative == "greater" else t))


def runs_of(n_rows: int, n_columns: int) -> list[slice]:
    """Slices of rows, so that only a part of a large random matrix is in memory."""
    step = max(1, _VALUES_AT_ONCE // n_columns)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
