"""Find features that are too large or too small to multiply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ranksieve.data import Block, DataError
from ranksieve.data.fitted import SCALE_FIRST
from ranksieve.engine import Source, engine_of

_LARGE, _SMALL = 1e18, 1e-18  # beyond these, products of squares may overflow or underflow


class Magnitudes:
    """Statistic: the largest absolute value of each feature."""

    title = "Magnitudes"

    def __init__(self, block: Block) -> None:
        self.block = block

    def largest(self) -> np.ndarray:
        """Largest absolute value of each feature, (features,)."""
        X = self.block.X
        if self.block.is_sparse:
            high, low = X.nanmax(axis=0).toarray().ravel(), X.nanmin(axis=0).toarray().ravel()
        else:
            high, low = np.fmax.reduce(X, axis=0), np.fmin.reduce(X, axis=0)
        return np.maximum(high, -low)


def check_magnitudes(source: Source, what: str) -> None:
    """Raise a DataError if a feature is so large or small that it may be the cause of ``what``."""
    with engine_of(source).start(Magnitudes) as workers:
        largest = np.max(workers.collect("largest"), axis=0)
    extreme = (largest > _LARGE) | ((largest > 0) & (largest < _SMALL))
    for feature in np.flatnonzero(extreme)[:1]:
        name, value = source.feature_names[feature], largest[feature]
        raise DataError(
            f"{what}: feature {str(name)!r} has values as {'large' if value > 1 else 'small'} as "
            f"{value:.0e}; {SCALE_FIRST}"
        )


@contextmanager
def sound_numbers(source: Source, estimator: Any) -> Iterator[None]:
    """Context manager that explains failures of training by features of extreme size.

    Checking all values takes a pass over the data, so it is done only after a failure.
    """
    try:
        yield
    except (ArithmeticError, LookupError, np.linalg.LinAlgError, ValueError) as error:
        if not isinstance(error, DataError) and _is_about_numbers(error):
            check_magnitudes(source, f"the computation failed ({error})")
        raise
    learned = [value for name, value in vars(estimator).items() if name.endswith("_")]
    if not _all_finite(learned):
        check_magnitudes(source, "training gave values that are not finite")


def _is_about_numbers(error: Exception) -> bool:
    """Whether an error comes from a computation, not from a parameter."""
    message = str(error).lower()
    return type(error) is not ValueError or any(word in message for word in ("inf", "nan"))


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
