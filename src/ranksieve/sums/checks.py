"""Check data for training: labels that differ within queries, features of a moderate size.

:func:`weight_of_rows` counts rows by the weights of their queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ranksieve.data import Block, DataError
from ranksieve.data.errors import MissingValueError
from ranksieve.data.fitted import SCALE_FIRST
from ranksieve.engine import Source, engine_of
from ranksieve.sums.chunks import weights_of
from ranksieve.sums.varying import vary_within_queries

_LARGE, _SMALL = 1e18, 1e-18  # beyond these, products of squares may overflow or underflow


def count_queries(block: Block) -> tuple[int, int, int]:
    """Number of queries with two documents or more, with different labels, and with weight."""
    differ = vary_within_queries(block.y, block.query_ptr)
    counted = differ & (weights_of(block) > 0)
    several = np.diff(block.query_ptr) >= 2
    return int(np.sum(several)), int(np.sum(differ)), int(np.sum(counted))


def sum_weights_of_several(block: Block) -> float:
    """Weight of the queries with two documents or more."""
    return float(weights_of(block)[np.diff(block.query_ptr) >= 2].sum())


def sum_weights_of_rows(block: Block) -> float:
    """Number of rows, each as often as its query counts."""
    return float(weights_of(block) @ np.diff(block.query_ptr))


def weight_of_rows(source: Source) -> float:
    """Number of rows, each as often as its query counts."""
    if source.query_weights is None:
        return source.n_rows
    return engine_of(source).sum(sum_weights_of_rows)


def check_labels_differ(source: Source) -> None:
    """Raise a DataError unless some query has documents with different labels."""
    several, differ, counted = engine_of(source).sum(count_queries)
    if several == 0:
        raise DataError(
            "no query has two documents, so there is nothing to rank; check that qid has the "
            "query of each row"
        )
    if differ == 0:
        raise DataError(
            "all documents of each query have equal labels, so every ranking is as good as any "
            "other and features cannot be compared"
        )
    if counted == 0:
        raise DataError("all queries whose documents have different labels have weight 0")


def largest_values(block: Block) -> np.ndarray:
    """Largest absolute value of each feature, (features,)."""
    low, high = smallest_and_largest(block)
    return np.maximum(high, -low)


def smallest_and_largest(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of each feature of a block, without missing ones."""
    if block.is_sparse:
        low, high = block.X.nanmin(axis=0), block.X.nanmax(axis=0)
        return low.toarray().ravel(), high.toarray().ravel()
    return np.fmin.reduce(block.X, axis=0), np.fmax.reduce(block.X, axis=0)


def check_magnitudes(source: Source, what: str) -> None:
    """Raise a DataError if a feature is so large or small that it may be the cause of ``what``."""
    largest = np.max(engine_of(source).collect(largest_values), axis=0)
    extreme = (largest > _LARGE) | ((largest > 0) & (largest < _SMALL))
    for feature in np.flatnonzero(extreme)[:1]:
        name, value = source.feature_names[feature], largest[feature]
        raise DataError(
            f"{what}: feature {str(name)!r} has values as {'large' if value > 1 else 'small'} as "
            f"{value:.0e}; {SCALE_FIRST}"
        )


@contextmanager
def explain_failures(estimator: Any, source: Source, X: Any) -> Iterator[None]:
    """Context manager that explains failures of training on ``source``, which was given as ``X``.

    Values that are missing are refused with the method's name. Errors of arithmetic may come from
    features of extreme size; any other is an error of a parameter or of a program. Checking all
    values takes a pass over the data, so it is done only after a failure.
    """
    try:
        yield
    except MissingValueError as error:
        if estimator.takes_missing or not getattr(X, "keeps_missing", False):
            raise
        name = estimator._name_in_errors
        raise MissingValueError(f"{name} cannot use missing values: {error}") from error
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        check_magnitudes(source, f"the computation failed ({error})")
        raise
    learned = [value for name, value in vars(estimator).items() if name.endswith("_")]
    if not _all_finite(learned):
        check_magnitudes(source, "training gave values that are not finite")


def finite(values: np.ndarray) -> np.ndarray:
    """The values; raises a FloatingPointError unless all of them are finite."""
    if not np.isfinite(values).all():
        raise FloatingPointError("a product of features is too large")
    return values


def _all_finite(values: Iterable[Any]) -> bool:
    for value in values:
        if isinstance(value, (list, tuple)):
            if not _all_finite(value):
                return False
        elif isinstance(value, (float, np.ndarray)):
            numbers = np.asarray(value)
            if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
                return False
    return True
