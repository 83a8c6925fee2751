"""Which features a figure shows, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence

from ranksieve.data import DataError
from ranksieve.report.figures.names import format_name


def names_of(names: Sequence[str] | None, n_features: int) -> list[str]:
    """Names of features to draw, by default numbers; a DataError if there are more or fewer."""
    if names is None:
        return [str(number) for number in range(1, n_features + 1)]
    if len(names) != n_features:
        raise DataError(f"there are {len(names)} names but {n_features} features")
    return [format_name(str(name)) for name in names]


def check_shown(n_shown: int | None) -> None:
    """Raise a ValueError unless there are features to show."""
    if n_shown is not None and n_shown < 1:
        raise ValueError(f"n_shown must be at least 1, got {n_shown}")
