"""Categories as numbers, for methods that need numbers: the mean label of each category.

The one place where categories become numbers. Selectors and linear models get what
:func:`encode_categories` returns; later data gets the same numbers by :class:`TargetEncoding`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ranksieve.data.categories import NO_CATEGORIES, Categories
from ranksieve.data.errors import DataError
from ranksieve.data.ranking_data import RankingData

_N_FOLDS = 5
_SMOOTHING = 20.0  # rows with the mean label that are added to each category


@dataclass(frozen=True)
class TargetEncoding:
    """A number for each category of some features, and one for a missing value, which comes last.

    Examples
    --------
    >>> from ranksieve import RankingData
    >>> from ranksieve.data.encoding import encode_categories
    >>> X, y, qid = [[0.0], [1.0]] * 60, [2, 0] * 60, [query for query in range(60) for _ in "ab"]
    >>> names = {"device": ["phone", "desktop"]}
    >>> data = RankingData(X, y, qid, feature_names=["device"], categories=names)
    >>> encoded, encoding = encode_categories(data)
    >>> encoding
    TargetEncoding(values={'device': (0.75, -0.75, 0.0)})
    >>> encoded.X[:2].round(4).tolist()  # from the other queries
    [[0.7059], [-0.7059]]
    """

    values: dict[str, tuple[float, ...]]

    def applied_to(self, X: Any, names: Any) -> np.ndarray:
        """Rows with numbers in place of codes; ``names`` are those of the columns."""
        encoded = np.array(X, dtype=X.dtype)
        for column, name in enumerate(map(str, names)):
            if name in self.values:
                table = np.array(self.values[name])
                encoded[:, column] = table[_places(X[:, column], len(table) - 1)]
        return encoded

    def check_fits(self, categories: Categories) -> None:
        """Raise a DataError unless there is a number for each category."""
        lengths = {name: len(vocabulary) + 1 for name, vocabulary in categories.items()}
        if {name: len(values) for name, values in self.values.items()} != lengths:
            raise DataError("the numbers of 'encoding' are not those of 'categories'")


def encode_categories(data: RankingData, seed: int = 0) -> tuple[RankingData, TargetEncoding]:
    r"""Replace codes of categories by numbers that no label of the same query has had a part in.

    The queries are divided into five folds at random. A category c has, in the queries of a fold,

    .. math:: \frac{\sum_i w_i (y_i - \bar y_{q(i)})}{\sum_i w_i + 20}

    over the rows i with that category in the other folds, with weights w of queries and the mean
    label of the row's query. A missing value counts as a category. So a category that tells
    nothing has a number that is independent of the labels, however rare it is; if numbers came
    from all rows, rare categories would betray their own labels. Later data gets the numbers from
    all folds, which are returned, too.
    """
    if not data.categories:
        return data, TargetEncoding({})
    counts = data.group_counts
    means = np.bincount(data.query_codes, data.y, data.n_queries) / np.maximum(counts, 1)
    weights = np.ones(data.n_rows)
    if data.query_weights is not None:
        weights = np.repeat(data.query_weights, counts)
    residuals = weights * (data.y - np.repeat(means, counts))
    order = np.random.default_rng(seed).permutation(data.n_queries)
    fold = np.repeat(np.argsort(order) % _N_FOLDS, counts)
    others = 1.0 - np.eye(_N_FOLDS)  # a difference from the whole sum would be rounded by its own
    X, values = np.array(data.X), {}
    for column, name in enumerate(map(str, data.feature_names)):
        if name not in data.categories:
            continue
        size = len(data.categories[name]) + 1
        places = _places(data.X[:, column], size - 1)
        both = fold * size + places
        sums = np.bincount(both, residuals, _N_FOLDS * size).reshape(_N_FOLDS, size)
        rows = np.bincount(both, weights, _N_FOLDS * size).reshape(_N_FOLDS, size)
        without = (others @ sums) / (others @ rows + _SMOOTHING)
        X[:, column] = without[fold, places]
        values[name] = tuple((sums.sum(axis=0) / (rows.sum(axis=0) + _SMOOTHING)).tolist())
    return data._replace(X=X, categories=NO_CATEGORIES), TargetEncoding(values)


def _places(codes: np.ndarray, last: int) -> np.ndarray:
    """Codes as positions; the last one for missing values and codes beyond the vocabulary."""
    known = (codes >= 0) & (codes < last)  # false for NaN
    return np.where(known, codes, last).astype(np.intp)
