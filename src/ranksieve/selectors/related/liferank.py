"""LifeRank: new features that are combinations of the given ones."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import RankEstimator
from ranksieve.data import DataError
from ranksieve.data.fitted import check_rows
from ranksieve.parameters import Count, Positive, Seed
from ranksieve.selectors.related.standardized_loss import StandardizedLoss, standardized_loss
from ranksieve.sums.checks import check_labels_differ


@dataclass(eq=False, repr=False)
class LifeRank(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RankEstimator):
    r"""Extract new features, each of which is a combination of all given ones.

    This is a transformer, not a selector: every given feature is needed to compute the new ones.

    .. math:: \min_{T: T^T T = I} \; \sum_{c=1}^k \frac{1}{\#pairs} \sum_{y_i > y_j}
              \log\left(1 + e^{T_c^T (x_j - x_i)}\right), \qquad X' = X T

    over standardized features: each column of T should rank well by itself, and all are
    orthogonal, so that none repeats another.

    Parameters
    ----------
    n_components : int
        Number k of new features, at most the number of given ones.
    tol : float
        Stop when a step lowers the objective by less than this fraction.
    max_iter : int
        Largest number of steps.
    random_state : int, RandomState or None
        Random seed of the initial T.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Attributes
    ----------
    components_ : array of shape (features, k)
        T for features that are not standardized; columns by decreasing quality.
    mean_ : array of shape (features,)
        Subtracted from the features first.
    losses_, n_iter_ : array of shape (k,) and int
        Mean loss of each new feature, and the number of steps.

    Notes
    -----
    A step takes O(m f k) time for m rows of f features, plus the time of the loss.

    This is a reconstruction. The paper trains a linear map from f to k features by gradient descent
    on a pairwise loss. The logistic loss, the aim that each new feature ranks by itself, and
    orthogonal columns (steps on the Stiefel manifold, with a QR decomposition each) are ours.

    References
    ----------
    G. Pandey, Z. Ren, S. Wang, J. Veijalainen, M. de Rijke. Linear feature extraction for ranking.
    Information Retrieval Journal 21, 2018.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import LifeRank
    >>> data, _ = make_ranking(100, n_informative=3, noise=0.1)
    >>> extractor = LifeRank(n_components=2).fit(data)
    >>> extractor.transform(data).shape == (data.n_rows, 2)
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    tol: Positive = 1e-5
    max_iter: Count = 200
    random_state: Seed = 0
    progress: bool = True

    def fit(self, X: Any, y: Any = None, qid: Any = None, *, sample_weight: Any = None) -> LifeRank:
        """Learn T.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`ranksieve.base.RankSelector.fit`.
        """
        self._validate_params()
        source = self._source(X, y, qid, sample_weight)
        check_labels_differ(source)
        if self.n_components > source.n_features:
            raise DataError(
                f"n_components={self.n_components}, but there are {source.n_features} features"
            )
        random = check_random_state(self.random_state)
        start, _ = np.linalg.qr(random.normal(size=(source.n_features, self.n_components)))
        with standardized_loss(source, "ranknet") as loss:
            found = self._descend(loss, start)
            values = np.array([loss.linear_loss_and_gradient(column)[0] for column in found.T])
            best_first = np.argsort(values, kind="stable")
            self.losses_ = values[best_first]
            self.components_ = found[:, best_first] / loss.standard.scale[:, None]
            self.mean_ = loss.standard.mean
        return self

    def _descend(self, loss: StandardizedLoss, T: np.ndarray) -> np.ndarray:
        """Take steps along the manifold, halved until the objective falls, then doubled."""
        value, slopes = _loss_and_gradient(loss, T)
        length = 1.0
        for n_iter in range(1, self.max_iter + 1):  # noqa: B007
            step = slopes - T @ (slopes.T @ T + T.T @ slopes) / 2  # on the tangent space
            size = float((step**2).sum())
            while True:
                new = _orthonormal(T - length * step)
                new_value, new_slopes = _loss_and_gradient(loss, new)
                if new_value <= value - 0.25 * length * size or length * size <= self.tol * value:
                    break
                length /= 2
            gain = value - new_value
            if gain > 0:
                T, value, slopes = new, new_value, new_slopes
            if gain <= self.tol * value:
                break
            length *= 2
        self.n_iter_ = n_iter
        return T

    def transform(self, X: Any) -> np.ndarray:
        """Compute the new features of each row."""
        check_is_fitted(self)
        return np.asarray(check_rows(self, X) @ self.components_ - self.mean_ @ self.components_)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[1])


def _loss_and_gradient(loss: StandardizedLoss, T: np.ndarray) -> tuple[float, np.ndarray]:
    values, slopes = zip(*(loss.linear_loss_and_gradient(column) for column in T.T), strict=True)
    return sum(values), np.column_stack(slopes)


def _orthonormal(T: np.ndarray) -> np.ndarray:
    """Factor Q of a QR decomposition, with the column signs of the given matrix."""
    Q, R = np.linalg.qr(T)
    return Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)
