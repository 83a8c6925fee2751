"""Refits of rankers of LightGBM on some features, which are put into bins once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ranksieve.data import RankingData
from ranksieve.rankers.base import Refits
from ranksieve.rankers.libraries.library import native_rows
from ranksieve.registry.foreign import row_weights
from ranksieve.sums.checks import check_labels_differ
from ranksieve.sums.chunks import FeatureColumns
from ranksieve.threads import limit_threads_for

_SAMPLED = 200_000  # rows that LightGBM samples to make bins and bundles
_LOST = 10_000  # LightGBM may lose one value per this many rows when it bundles features
_COMMON = 0.7  # share of rows from which LightGBM takes a nonzero value as the default
_BLOCK_VALUES = 2**23  # values to compare at a time

# Parameters that make a tree depend on features it does not use, with their neutral values.
_DRAWS = (("feature_fraction", 1.0), ("feature_fraction_bynode", 1.0), ("extra_trees", False))


class LightGBMRefits(Refits):
    """Refits of a ranker of LightGBM, in which every feature is binned once.

    Each feature is a separate LightGBM Dataset. A Dataset of some features is assembled from copies
    of their bins, which takes a thousandth of the time of binning and gives the same trees, because
    the bins of a feature do not depend on the others.

    The exception are sparse features that LightGBM bundles although up to one row in 10,000 has
    values of several of them, which it then loses. For such data, :func:`share_bins` returns plain
    refits.
    """

    def __init__(self, ranker: Any, data: RankingData, parameters: dict[str, Any]) -> None:
        super().__init__(ranker, data)
        self.ignores_unused = all(_value(parameters, *neutral) == neutral[1] for neutral in _DRAWS)
        ranker._validate_params()
        check_labels_differ(data)
        ranker._check_training(data)
        with limit_threads_for(data.n_rows):
            self._columns = [self._bin(feature) for feature in range(data.n_features)]

    def fit(self, features: Sequence[int]) -> Any:
        """Train on some features."""
        from lightgbm.basic import LightGBMError

        ranker = self.ranker._for_features(features, self.data.n_features)
        ranker._remember_features(self.data.take_queries([0]).take_features(list(features)))
        try:
            with limit_threads_for(self.data.n_rows):
                ranker._train_on(lambda parameters: self._dataset(features, parameters))
        except LightGBMError:
            return super().fit(features)  # raises a clear error
        return ranker

    def _bin(self, feature: int) -> Any:
        import lightgbm

        ranker = self.ranker._for_features([feature], self.data.n_features)
        # Unique names, because LightGBM refuses equal names of features.
        column = lightgbm.Dataset(
            native_rows(self.data.X[:, [feature]]),
            feature_name=[f"Column_{feature}"],
            params=ranker._dataset_parameters(),
        )
        return column.construct()

    def _dataset(self, features: Sequence[int], parameters: dict[str, Any]) -> Any:
        """Dataset of some features, assembled from their binned copies."""
        from lightgbm.basic import _LIB, _safe_call

        data, first = self.data, self._columns[features[0]]
        dataset = first.subset(np.arange(data.n_rows)).construct()  # a copy
        for feature in features[1:]:
            # add_features_from does the same, but prints needless warnings.
            column = self._columns[feature]
            _safe_call(_LIB.LGBM_DatasetAddFeaturesFrom(dataset._handle, column._handle))
        dataset.params = dict(parameters)
        dataset.set_feature_name([f"Column_{position}" for position in range(len(features))])
        dataset.set_label(data.y).set_group(data.group_counts).set_position(data.positions)
        return dataset.set_weight(row_weights(data))


def share_bins(ranker: Any, data: RankingData) -> Refits:
    """Refits that share bins, or plain ones if their trees could differ."""
    if data.categories:
        return Refits(ranker, data)
    every = ranker._for_features(range(data.n_features), data.n_features)
    parameters = every._dataset_parameters()
    needs_values = _value(parameters, "linear_tree", False)
    bundles = _value(parameters, "enable_bundle", True)
    if needs_values or (bundles and _loses_values(data, parameters)):
        return Refits(ranker, data)
    return LightGBMRefits(ranker, data, parameters)


def _value(parameters: Mapping[str, Any], name: str, default: Any) -> Any:
    """Value of a parameter that is given under any of its aliases."""
    from lightgbm.basic import _ConfigAliases

    values = (parameters[alias] for alias in _ConfigAliases.get(name) if alias in parameters)
    return next((value for value in values if value is not None), default)


def _loses_values(data: RankingData, parameters: Mapping[str, Any]) -> bool:
    """Whether LightGBM could bundle features that have values in the same rows.

    LightGBM decides from a sample of the rows, and counts values other than the most common one.
    """
    sampled = int(_value(parameters, "bin_construct_sample_cnt", _SAMPLED))
    n = data.n_rows
    most = min(n, sampled) // _LOST
    if n <= sampled and not most:
        return False
    # Conflicts that are rare in all rows may be absent from a sample, but not four times as many.
    most = most if n <= sampled else 4 * (most + 10) * -(-n // sampled)
    columns = FeatureColumns(data.X)
    common = np.array([_most_common_value(columns[feature]) for feature in range(data.n_features)])
    together = sum((m.T @ m for m in _marks(data, common)), np.zeros((len(common),) * 2))
    np.fill_diagonal(together, 0)
    return bool(((together > 0) & (together <= most)).any())


def _most_common_value(column: np.ndarray) -> float:
    middle = np.partition(column, len(column) // 2)[len(column) // 2]
    return float(middle) if _equal(column, middle).mean() >= _COMMON else 0.0


def _equal(values: np.ndarray, common: Any) -> np.ndarray:
    return (values == common) | (np.isnan(values) & np.isnan(common))


def _marks(data: RankingData, common: np.ndarray) -> Iterator[np.ndarray]:
    """Masks of the values that are not the most common ones, in blocks of rows."""
    n_rows = max(1, _BLOCK_VALUES // len(common))
    for start in range(0, data.n_rows, n_rows):
        block = data.X[start : start + n_rows]
        dense = block.toarray() if data.is_sparse else block
        yield (~_equal(dense, common)).astype(np.float32)
