"""LambdaMART: boosted regression trees on LightGBM."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ranksieve.base import Ranker
from ranksieve.data import DataError, RankingData
from ranksieve.engine import Source
from ranksieve.threads import thread_count

_LARGEST_LABEL = 30  # LightGBM's table of gains ends there


class LambdaMART(Ranker):
    r"""Boosted regression trees that follow the gradient of NDCG (LambdaMART), by LightGBM.

    For documents i, j of a query with labels :math:`y_i > y_j` and scores s,

    .. math:: \lambda_{ij} = \frac{|\Delta NDCG_{ij}|}{1 + e^{s_i - s_j}}

    is added to the gradient of i and taken from that of j; each tree is fitted to the sums.

    Parameters
    ----------
    n_estimators : int
        Trees.
    learning_rate : float
        Shrinkage of each tree.
    num_leaves : int
        Leaves of a tree.
    min_child_samples : int
        Documents of a leaf, at least.
    early_stopping_rounds : int
        With an ``eval_set``, stop after so many trees without a better NDCG@k there, and keep the
        best number of trees.
    ndcg_at : int
        The k of that, and of the gradient.
    params : dict, optional
        Further parameters of LightGBM, which outweigh the others.
    random_state : int
        Seed of LightGBM.
    verbose : bool
        Whether to show progress on a terminal.

    Attributes
    ----------
    booster_ : lightgbm.Booster
    best_iteration_ : int
        Trees in use.
    feature_importances_ : array of shape (features,)
        Total gain of the splits on each feature.

    Notes
    -----
    Labels must be whole numbers from 0 to 30. Missing values (NaN) are LightGBM's: each split
    learns to which side they go. Shards are read into memory. Queries of one document or of equal
    labels have no gradient, but their rows count in the choice of bins. The result does not depend
    on the number of threads.

    References
    ----------
    C. J. C. Burges. From RankNet to LambdaRank to LambdaMART: an overview. MSR-TR-2010-82, 2010.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.rankers import LambdaMART
    >>> data, _ = make_ranking(100, noise=0.1)
    >>> LambdaMART(n_estimators=20).fit(data).score(data) > 0.6
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Ranker._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "num_leaves": [Interval(Integral, 2, None, closed="left")],
        "min_child_samples": [Interval(Integral, 1, None, closed="left")],
        "early_stopping_rounds": [Interval(Integral, 1, None, closed="left")],
        "ndcg_at": [Interval(Integral, 1, None, closed="left")],
        "params": [dict, None],
        "random_state": ["random_state"],
    }
    _allows_missing = True

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        early_stopping_rounds: int = 100,
        ndcg_at: int = 10,
        params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.early_stopping_rounds = early_stopping_rounds
        self.ndcg_at = ndcg_at
        self.params = params
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def of_fs_ed(cls, **parameters: Any) -> LambdaMART:
        """The settings of the FS-ED paper: 1,000 trees of 10 leaves, learning rate 0.1."""
        return cls(**{"n_estimators": 1000, "learning_rate": 0.1, "num_leaves": 10} | parameters)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Total gain of the splits on each feature."""
        return self.booster_.feature_importance("gain", iteration=self.best_iteration_)

    def _train(
        self, source: Source, validation: Source | None, query_weights: np.ndarray | None
    ) -> None:
        import lightgbm

        train = self._dataset(source, query_weights)
        callbacks, held_out = [], []
        if validation is not None:
            held_out = [self._dataset(validation, None, reference=train)]
            callbacks = [lightgbm.early_stopping(self.early_stopping_rounds, verbose=False)]
        self.booster_ = lightgbm.train(
            self._parameters(), train, self.n_estimators, valid_sets=held_out, callbacks=callbacks
        )
        best = self.booster_.best_iteration
        self.best_iteration_ = best if best > 0 else self.booster_.num_trees()

    def _parameters(self) -> dict[str, Any]:
        return {
            "objective": "lambdarank",
            "metric": "ndcg",
            "eval_at": [self.ndcg_at],
            "lambdarank_truncation_level": max(30, self.ndcg_at),
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_child_samples": self.min_child_samples,
            "seed": int(check_random_state(self.random_state).randint(2**31)),
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": thread_count(),
            "verbosity": -1,
        } | (self.params or {})

    def _dataset(
        self, source: Source, query_weights: np.ndarray | None, reference: Any = None
    ) -> Any:
        import lightgbm

        data = source if isinstance(source, RankingData) else source.read()
        wrong = (data.y != np.floor(data.y)) | (data.y < 0) | (data.y > _LARGEST_LABEL)
        if np.any(wrong):
            row = int(np.argmax(wrong))
            raise DataError(
                f"LambdaMART needs whole labels from 0 to {_LARGEST_LABEL}, but row "
                f"{data.row_order[row]} has {data.y[row]:g}"
            )
        weights = None if query_weights is None else np.repeat(query_weights, data.group_counts)
        return lightgbm.Dataset(
            _as_known(data.X), data.y, reference=reference, weight=weights, group=data.group_counts
        )

    def _scores(self, X: Any) -> np.ndarray:
        scores = self.booster_.predict(
            _as_known(X), num_iteration=self.best_iteration_, num_threads=thread_count()
        )
        return np.asarray(scores, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _as_known(X: Any) -> Any:
    """Rows in a form that LightGBM takes: it knows scipy's matrices, but not its sparse arrays."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else np.ascontiguousarray(X)
