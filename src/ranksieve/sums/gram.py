"""Products of features and labels, centered within each query."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ranksieve._kernels.rows import center_present
from ranksieve.data import Block
from ranksieve.engine import Source, engine_of
from ranksieve.sums.centered_rows import CenteredRows
from ranksieve.sums.chunks import CHUNK, chunks, weights_of

_ROUNDING = 1e-12  # relative size of squares below which they count as 0


class GramSums(NamedTuple):
    """Products of query-centered features and labels, summed over all documents."""

    xx: np.ndarray  # (features, features)
    xy: np.ndarray  # (features,)
    yy: float

    @property
    def varies(self) -> np.ndarray:
        """Mask of the features that vary within some query: centering others leaves exactly 0.

        It is :func:`ranksieve.sums.varying.varying_features` but for squares that are too small.
        """
        return np.diag(self.xx) > 0


def centered_gram(
    source: Source, factors: np.ndarray | None = None, queries: np.ndarray | None = None
) -> GramSums:
    r"""Products of features and labels after subtracting each query's mean.

    .. math:: \hat X^T \hat X, \qquad \hat X^T \hat y, \qquad \hat y^T \hat y

    Rows of a query of weight w are multiplied by the root of w, so that products count w times.
    If there are ``factors`` (features,), the features are multiplied by them first; ``queries`` is
    a mask of the queries to use, by default all.

    Notes
    -----
    Takes O(m f^2) time for m rows and f features, by matrix products of chunks of centered rows, so
    that nothing cancels and no centered copy of all data is made.

    Examples
    --------
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.gram import centered_gram
    >>> data = RankingData([[1.0], [3.0], [8.0], [8.0]], y=[0, 1, 1, 0], qid=[1, 1, 2, 2])
    >>> centered_gram(data)
    GramSums(xx=array([[2.]]), xy=array([1.]), yy=1.0)
    """
    return GramSums(*engine_of(source).sum(multiply_features, factors, queries))


def multiply_features(
    block: Block, factors: np.ndarray | None, queries: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, float]:
    """Products of centered features (features, features), with labels, and of labels."""
    return CenteredRows(block, queries, factors).gram()


def multiply_present(
    block: Block, factors: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Products of features i and j, squares of i where j has a value, and documents with both.

    Values of a query are centered by the means over the documents that have both, and count by
    its weight.
    """
    n_features = block.X.shape[1]
    products, squares, n_both = np.zeros((3, n_features, n_features))
    weights = weights_of(block)
    for part in chunks(block, most=CHUNK):
        x, present = np.empty((2, *part.X.shape))
        rows = part.X if factors is None else part.X * factors
        center_present(rows, part.query_ptr, x, present)
        own_weights = weights[part.queries]
        if block.query_weights is not None:
            x *= np.repeat(np.sqrt(own_weights), np.diff(part.query_ptr))[:, None]
        products += x.T @ x
        squares += (x * x).T @ present
        for (start, end), weight in zip(
            pairwise(part.query_ptr.tolist()), own_weights.tolist(), strict=True
        ):
            own = present[start:end]
            both = own.T @ own
            n_both += weight * both
            if not own.all():  # otherwise the means are 0
                total = x[start:end].T @ own
                mean = total / np.maximum(both, 1)
                products -= mean * total.T
                squares -= mean * total
    return products, squares, n_both


def present_correlation(source: Source, factors: np.ndarray | None = None) -> np.ndarray:
    r"""Correlation of features within queries, over the documents that have a value of both.

    .. math:: r_{ij} = \frac{\sum \hat x_i \hat x_j}{\sqrt{\sum \hat x_i^2 \sum \hat x_j^2}}

    where the mean of these documents of a query is subtracted from each. 0 where a feature does not
    vary, and where fewer than half of the documents with one of the values have both: few documents
    correlate by chance. Factors of the features (features,) change nothing but keep the squares of
    very large and very small values within the range of floats.

    Notes
    -----
    Takes O(m f^2) time for m rows and f features, with a product of matrices for each query,
    because the means depend on the query and the pair of features.
    """
    products, squares, n_both = engine_of(source).sum(multiply_present, factors)
    n_either = np.add.outer(np.diag(n_both), np.diag(n_both)) - n_both
    scale = np.sqrt(np.maximum(squares * squares.T, 0.0))
    varies = squares > _ROUNDING * np.diag(squares)[:, None]
    enough = (2 * n_both >= n_either) & varies & varies.T
    return np.divide(products, scale, where=enough, out=np.zeros_like(products))
