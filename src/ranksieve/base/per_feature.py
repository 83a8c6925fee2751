"""Restore excluded features in the attributes of fitted selectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ranksieve.base.choices import Choices


class PerFeature(NamedTuple):
    """Layout of a fitted attribute with values per feature."""

    axes: tuple[int, ...] = (0,)  # axes of the array that correspond to features
    fill: float = np.nan  # value of excluded features

    def widen(self, values: np.ndarray, choices: Choices) -> np.ndarray:
        """Array with entries for all features, including excluded ones."""
        for axis in self.axes:
            shape = list(values.shape)
            shape[axis] = choices.n_features_in
            wide = np.full(shape, self.fill, dtype=values.dtype)
            wide[(slice(None),) * axis + (choices.columns,)] = values
            values = wide
        return values


def restore_indices(value: Any, columns: np.ndarray) -> Any:
    """Replace indices of features in records, or lists of records, by those in the data."""
    if isinstance(value, list):
        return [restore_indices(item, columns) for item in value]
    if hasattr(value, "_replace"):  # a named tuple
        if "feature" in value._fields:
            return value._replace(feature=int(columns[value.feature]))
        if "features" in value._fields:
            kept = columns[np.asarray(value.features, dtype=np.intp)]
            is_tuple = isinstance(value.features, tuple)
            return value._replace(features=tuple(kept.tolist()) if is_tuple else kept)
    return value
