"""Base of the selectors around a ranker: folds, evaluation, groups, and the final ranker."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from ranksieve.base import Predictor, RankSelector, as_source
from ranksieve.data import Block, RankingData
from ranksieve.engine import Source, in_memory
from ranksieve.metrics import parse_measure
from ranksieve.metrics.constraints import MEASURE
from ranksieve.rankers import RankRLS, as_ranker
from ranksieve.rankers.base import Ranker
from ranksieve.selectors._search.checkpoint import Checkpoint, fingerprint
from ranksieve.selectors._search.choices import FEATURES, feature_groups, feature_indices
from ranksieve.selectors._search.held_out import Fold, FoldValues, make_folds
from ranksieve.selectors._search.parts import HeldOutSelector
from ranksieve.sums.chunks import chunks, vary_within_queries

RULES = ("best", "one_se", "tolerance")


class WrapperSelector(Predictor, HeldOutSelector):
    """Base of selectors that train a ranker on subsets of the features.

    A subclass declares the parameters that are checked here. Predictions are those of
    ``ranker_``, given all features.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankSelector._parameter_constraints,
        "ranker": "no_validation",
        "n_features_to_select": [
            *RankSelector._parameter_constraints["n_features_to_select"],
            StrOptions(set(RULES)),
        ],
        **MEASURE,
        "cv": [Interval(Integral, 2, None, closed="left"), StrOptions({"leave-query-out"}), list],
        "include": FEATURES,
        "exclude": FEATURES,
        "groups": ["array-like", dict, None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "checkpoint": "no_validation",
        "random_state": ["random_state"],
    }

    works_on_shards = False

    ranker: Any
    measure: Any
    cv: Any
    include: Any
    exclude: Any
    groups: Any
    tol: float
    convention: Any
    ties: str
    checkpoint: Any
    random_state: Any
    n_groups_: int

    @property
    def is_nested(self) -> bool:
        """True without groups, and with a ranker whose training can be repeated."""
        has_seed = getattr(self.ranker, "random_state", 0) is not None
        if not has_seed and isinstance(self.ranker, Ranker):  # other libraries take their own
            return False
        return self.groups is None and super().is_nested

    @property
    def _allows_missing(self) -> bool:  # type: ignore[override]
        return self.ranker_._allows_missing

    def _scores(self, X: Any) -> np.ndarray:
        return self.ranker_._scores(X[:, np.flatnonzero(self.support_)])

    def _ranker(self) -> Ranker:
        return RankRLS() if self.ranker is None else clone(as_ranker(self.ranker))

    def _choose(self, source: Source, k: int, **held_out: Any) -> list[int]:
        ranker = self._ranker()
        data = in_memory(source)
        if not ranker._allows_missing:
            data.check_finite()
        given = None
        if held_out.get("eval_set") is not None:
            given = Fold(data, in_memory(as_source(held_out["eval_set"], data)))
        chosen = self._search(data, given, ranker, k)
        if hasattr(self, "n_groups_"):  # of an earlier fit
            del self.n_groups_
        if self.groups is not None:
            groups = self._groups(data.n_features)
            self.n_groups_ = sum(group[0] in chosen for group in groups)
        kept = data.take_features(np.sort(chosen))
        ranker = ranker._for_features(np.sort(chosen).tolist(), data.n_features)
        if data.has_feature_names:
            self.ranker_ = ranker.fit(kept)
        else:
            self.ranker_ = ranker.fit(kept.X, kept.y, qid=kept.qid)
        return chosen

    @abstractmethod
    def _search(self, data: RankingData, given: Fold | None, ranker: Ranker, k: int) -> list[int]:
        """Features in the order of selection; ``k`` is a number of groups, or the most of them.

        ``given`` has the held-out queries, if there is an ``eval_set``.
        """

    def _folds(self, data: RankingData, given: Fold | None) -> list[Fold]:
        return make_folds(data, self.cv, self.random_state) if given is None else [given]

    def _held_out(self, data: RankingData, folds: list[Fold], ranker: Ranker) -> FoldValues:
        measure = parse_measure(self.measure)
        search = {}
        if self.checkpoint is not None:
            parts = [data for fold in folds for data in fold]
            told = {name: repr(value) for name, value in sorted(ranker.get_params().items())}
            search = {
                "method": type(self).__name__,
                "data": fingerprint(data, *parts),
                "ranker": f"{type(ranker).__name__} {told}",
                "measure": f"{measure.name}, {self.convention}, {self.ties}",
            } | self._told()
        n_queries = [fold.test.n_queries for fold in folds]
        known = Checkpoint(self.checkpoint, search, n_queries)
        ties = self.ties == "average"
        return FoldValues(ranker, folds, measure, self.convention, ties, known)

    def _told(self) -> dict[str, str]:
        """What results depend on, except for data, ranker and measure."""
        return {}

    def _number_to_select(self, n_features: int) -> int:
        n_groups = len(self._groups(n_features))
        if isinstance(self.n_features_to_select, str):
            return n_groups
        return super()._number_to_select(n_groups)

    def _groups(self, n_features: int) -> list[tuple[int, ...]]:
        """Groups of features that are added and removed together."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([str(number + 1) for number in range(n_features)], dtype=object)
        if self.groups is None:
            return [(feature,) for feature in range(n_features)]
        return feature_groups(self.groups, names)

    def _listed(self, which: str, data: RankingData, groups: list[tuple[int, ...]]) -> list[int]:
        """Positions of the groups of the features that a parameter lists, in its order."""
        features = feature_indices(which, getattr(self, which), data.feature_names)
        place_of = {feature: place for place, group in enumerate(groups) for feature in group}
        return list(dict.fromkeys(place_of[feature] for feature in features))


def varying(data: RankingData) -> np.ndarray:
    """Whether each feature varies within any query; a missing value counts as a value."""
    found = np.zeros(data.n_features, dtype=bool)
    for chunk in chunks(Block(data.X, data.y, data.query_ptr), most=2**20):
        values = np.where(np.isnan(chunk.X), -np.inf, chunk.X)
        found |= vary_within_queries(values, chunk.query_ptr).any(axis=0)
    return found
