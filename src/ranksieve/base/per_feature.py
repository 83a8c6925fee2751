"""Attributes of selectors that depend on features, of which some were excluded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ranksieve.base.choices import Choices


class PerFeature(NamedTuple):
    """How an attribute of a fitted selector depends on the features.

    Attributes
    ----------
    axes : tuple of int
        Axes of the array along which the features lie.
    fill : number
        What the array has for features that were excluded.
    """

    axes: tuple[int, ...] = (0,)
    fill: float = np.nan

    def widen(self, values: np.ndarray, choices: Choices) -> np.ndarray:
        """Give the excluded features a place."""
        for axis in self.axes:
            shape = list(values.shape)
            shape[axis] = choices.n_features_in
            wide = np.full(shape, self.fill, dtype=values.dtype)
            wide[(slice(None),) * axis + (choices.columns,)] = values
            values = wide
        return values


def in_data(value: Any, columns: np.ndarray) -> Any:
    """Records of chosen features, or lists of such, with the indices that features have in data."""
    if isinstance(value, list):
        return [in_data(item, columns) for item in value]
    if hasattr(value, "_replace"):  # a named tuple
        if "feature" in value._fields:
            return value._replace(feature=int(columns[value.feature]))
        if "features" in value._fields:
            kept = columns[np.asarray(value.features, dtype=np.intp)]
            is_tuple = isinstance(value.features, tuple)
            return value._replace(features=tuple(kept.tolist()) if is_tuple else kept)
    return value
