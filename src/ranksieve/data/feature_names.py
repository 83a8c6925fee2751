"""Names of features: those that users give, or their 1-based numbers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from ranksieve.data.errors import DataError


def default_names(n_features: int) -> np.ndarray:
    """Default names of features: their 1-based numbers."""
    return _few_names(n_features) if n_features <= _FEW else numbers(range(n_features))


_FEW = 2**16


@lru_cache(maxsize=8)
def _few_names(n_features: int) -> np.ndarray:
    names = numbers(range(n_features))
    names.flags.writeable = False
    return names


def numbers(features: Iterable[int]) -> np.ndarray:
    """Default names of some features, given by 0-based index."""
    return np.array([str(feature + 1) for feature in features], dtype=object)


def are_numbers(names: Iterable[str]) -> bool:
    """Whether the names are just the features' numbers."""
    return all(name == str(number) for number, name in enumerate(names, start=1))


def as_names(names: Any, n_features: int) -> np.ndarray | None:
    """Check names and return them as an array; None if they are the default numbers."""
    names = np.array([str(name) for name in names], dtype=object)
    if len(names) != n_features:
        raise DataError(f"there are {len(names)} feature names but {n_features} features")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"two features are named {name!r}")
        seen.add(name)
    return None if are_numbers(names) else names


def same_names(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Whether two lists of names are the same; None stands for numbers."""
    if a is None or b is None:
        return a is b
    return not np.any(a != b)
