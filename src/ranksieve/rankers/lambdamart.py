"""LambdaMART: boosted regression trees on LightGBM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from msgspec import Struct
from scipy import sparse
from sklearn.utils import check_random_state

from ranksieve.data import DataError, RankingData
from ranksieve.engine import Source
from ranksieve.io.records import convert_record
from ranksieve.io.shards import Shards
from ranksieve.parameters import AtLeastTwo, Count, Positive, Seed
from ranksieve.rankers.base import Ranker, Refits
from ranksieve.rankers.libraries.library import (
    check_whole_labels,
    native_rows,
    refuse_two_declarations,
)
from ranksieve.rankers.libraries.lightgbm import (
    CATEGORY_PARAMETERS,
    LARGEST_LABEL,
    PER_FEATURE,
    blocks_of,
    categorical_of,
    check_for_lightgbm,
    dataset_of,
    lightgbm_errors,
    predict,
    train,
    why_no_positions,
    write_text,
)
from ranksieve.rankers.libraries.lightgbm_refits import share_bins
from ranksieve.rankers.libraries.lightgbm_workers import best_number_of_trees, train_on_workers
from ranksieve.rankers.libraries.model_checks import load_booster
from ranksieve.rankers.libraries.per_feature import reduce_parameters
from ranksieve.registry import Method
from ranksieve.threads import openmp_thread_count


class _Learned(Struct, frozen=True):
    booster: str
    best_iteration: int


@dataclass(eq=False, repr=False)
class LambdaMART(Ranker):
    r"""Boosted regression trees that follow the gradient of NDCG (LambdaMART), by LightGBM.

    For documents i, j of a query with labels :math:`y_i > y_j` and scores s,

    .. math:: \lambda_{ij} = \frac{|\Delta NDCG_{ij}|}{1 + e^{s_i - s_j}}

    is added to the gradient of i and subtracted from that of j; each tree is fitted to the sums.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    learning_rate : float
        Shrinkage of each tree.
    num_leaves : int
        Largest number of leaves of a tree.
    min_child_samples : int
        Smallest number of documents in a leaf.
    early_stopping_rounds : int
        With an ``eval_set``, stop after this many trees without a better NDCG@k on it, and keep the
        best number of trees.
    ndcg_at : int
        The k of early stopping and of the gradient.
    params : dict, optional
        Further parameters of LightGBM, which take precedence over the others.
    random_state : int
        Random seed of LightGBM.
    progress : bool
        Whether to show progress in a terminal or a notebook.

    Attributes
    ----------
    booster_ : lightgbm.Booster
    best_iteration_ : int
        Number of trees in use.
    feature_importances_ : array of shape (features,)
        Total gain of the splits on each feature.

    Notes
    -----
    Labels must be whole numbers from 0 to 30. LightGBM handles missing values (NaN): each split
    learns to which side they go. It takes values up to 1e-35 for 0; a feature that this makes equal
    within most of the queries in which it differs raises a DataError, which says by what to
    multiply it. Queries of one document or of equal labels have no gradient, but their rows affect
    the bins. The same rows give the same trees, whatever the number of threads. The order of
    queries changes only the order of sums, but the order of the documents of a query may change
    trees: LightGBM ranks documents of equal score in that order, and before the first tree all
    scores are equal. Weights of queries multiply gradients and their curvatures; bins and
    ``min_child_samples`` count each document once, whatever its weight, even 0. Weights of rows
    multiply those of their queries; early stopping counts a query by the mean weight of its rows.
    If the data has positions, LightGBM estimates the bias of each (unbiased LambdaMART), which
    takes one thread; ``params={"lambdarank_position_bias_regularization": ...}`` shrinks them.

    Shards are binned as they are read: most values take one byte of memory, unless they are sparse.
    On shards that were opened with a Dask client, the workers that hold them train together. Each
    takes a run of shards and finds the bins of some features from its own rows only, so trees
    differ somewhat from those of one machine, unless there is one shard or one worker; the same
    number of workers gives the same trees. All trees are trained. With an ``eval_set``, the number
    in use is the one that early stopping would have kept by NDCG@k, regardless of metrics and gains
    in ``params``. If a worker is lost, training fails: train again.

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

    methods = (
        Method(
            "lambdamart",
            "boosted trees of LightGBM that follow the gradient of NDCG",
            draws=False,
            trial={"n_estimators": 5, "params": {"num_threads": 1}},
        ),
    )

    takes_missing = True
    takes_categories = True

    n_estimators: Count = 100
    _: KW_ONLY
    learning_rate: Positive = 0.1
    num_leaves: AtLeastTwo = 31
    min_child_samples: Count = 20
    early_stopping_rounds: Count = 100
    ndcg_at: Count = 10
    params: dict[str, Any] | None = None
    random_state: Seed = 0
    progress: bool = True

    @property
    def feature_importances_(self) -> np.ndarray:
        """Total gain of the splits on each feature."""
        return self.booster_.feature_importance("gain", iteration=self.best_iteration_)

    no_row_weights = ""

    @property
    def no_positions(self) -> str:  # type: ignore[override]
        """Why the objective takes no positions; empty if it does."""
        return why_no_positions((self.params or {}).get("objective", "lambdarank"))

    def _train(self, source: Source, vali: Source | None) -> None:
        self._check_training(source)
        if vali is not None:
            check_whole_labels("LambdaMART", vali, LARGEST_LABEL)
        if not isinstance(source, Shards) or source.client is None:
            with lightgbm_errors():
                columns = categorical_of(source)
                self._train_on(lambda _: dataset_of(blocks_of(source), None, columns), vali)
            return
        if "positions" in source.of_rows:
            raise DataError(
                "workers of a cluster cannot estimate the bias of positions together: train "
                "without a client, or without positions"
            )
        self.booster_ = train_on_workers(source, self._dataset_parameters(), self.n_estimators)
        self.best_iteration_ = self.booster_.num_trees()
        if vali is not None:
            self.best_iteration_ = self.booster_.best_iteration = best_number_of_trees(
                self.booster_, vali, self.ndcg_at, self.early_stopping_rounds
            )

    def _train_on(
        self, dataset: Callable[[dict[str, Any]], Any], vali: Source | None = None
    ) -> None:
        """Train on the LightGBM Dataset that ``dataset`` makes for the training parameters."""
        parameters, held_out = self._dataset_parameters(), None
        data = dataset(parameters)
        if vali is not None:
            held_out = dataset_of(blocks_of(vali), data, categorical_of(vali))
        patience = self.early_stopping_rounds
        self.booster_ = train(parameters, data, self.n_estimators, held_out, patience)
        self.best_iteration_ = max(0, self.booster_.best_iteration) or self.booster_.num_trees()

    def _refits(self, data: RankingData) -> Refits:
        return share_bins(self, data)

    def _check_training(self, source: Source) -> None:
        check_for_lightgbm("LambdaMART", source)
        refuse_two_declarations(source, self.params or {}, CATEGORY_PARAMETERS)

    def _dataset_parameters(self) -> dict[str, Any]:
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
            "num_threads": openmp_thread_count(),
            "verbosity": -1,
        } | (self.params or {})

    def _for_features(self, features: Sequence[int], n_features: int) -> LambdaMART:
        copied, params = super()._for_features(features, n_features), self.params or {}
        copied.params = reduce_parameters(features, n_features, params, PER_FEATURE, "LightGBM")
        return copied

    def _scores(self, X: Any) -> np.ndarray:
        return np.asarray(self._predict(native_rows(X)), dtype=np.float64)

    def _contributions(self, X: Any) -> np.ndarray:
        rows = X.toarray() if sparse.issparse(X) else native_rows(X)
        return np.asarray(self._predict(rows, pred_contrib=True))[:, :-1]  # without the offset

    def _predict(self, rows: Any, **how: Any) -> Any:
        with lightgbm_errors():
            return predict(self.booster_, rows, self.best_iteration_, **how)

    def _learned(self) -> dict[str, Any]:
        text = write_text(self.booster_, self.best_iteration_)
        return {"booster": text, "best_iteration": int(self.best_iteration_)}

    def _relearn(self, learned: dict[str, Any]) -> None:
        saved = convert_record(learned, _Learned)
        text, best = saved.booster, saved.best_iteration
        try:
            self.booster_ = load_booster(text)
        except DataError as error:
            raise DataError(f"LightGBM cannot read its trees: {error}") from None
        if self.booster_.num_feature() != self.n_features_in_:
            raise DataError(
                f"the trees of LightGBM have {self.booster_.num_feature()} features, not "
                f"{self.n_features_in_}"
            )
        n_trees = self.booster_.num_trees()
        if not 0 <= best <= n_trees:
            raise DataError(f"'best_iteration' is {best}, but there are {n_trees} trees")
        self.best_iteration_ = best
