"""Base of the selectors that train a given ranker: folds, evaluation, and the final ranker."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from itertools import chain
from numbers import Integral
from os import PathLike
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, Predictor
from ranksieve.data import RankingData
from ranksieve.data.ranking_data import fingerprint
from ranksieve.engine import Source, in_memory, whole_block
from ranksieve.metrics import Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, FeatureCount, NotNegative, Seed, Ties
from ranksieve.rankers import RankRLS, as_ranker
from ranksieve.rankers.base import Ranker, is_repeatable
from ranksieve.selectors._search.held_out import Fold, HeldOutSelector, QueryPart, make_folds
from ranksieve.selectors._search.subset_values import Checkpoint, HeldOutValues
from ranksieve.sums.varying import varying_columns


@dataclass(eq=False, repr=False)
class WrapperSelector(Predictor, HeldOutSelector):
    """Base of selectors that train a ranker on subsets of the features.

    ``predict`` takes all features and returns the predictions of ``ranker_``.
    """

    with_include = "A forward search starts with them, and no search removes them."
    with_groups = "The features of a group are added or removed together."

    works_on_shards = False

    ranker: Any = None
    n_features_to_select: FeatureCount | Literal["best", "one-se", "tolerance"] = 10
    _: KW_ONLY
    measure: str | Measure = "ndcg@10"
    cv: Annotated[
        Any, Interval(Integral, 2, None, closed="left"), StrOptions({"leave-query-out"}), list
    ] = 5
    tol: NotNegative = 0.001
    convention: ConventionChoice = "standard"
    ties: Ties = "average"
    checkpoint: Annotated[Any, str, PathLike, None] = None
    random_state: Seed = 0
    verbose: bool = False

    @property
    def is_nested(self) -> bool:
        """True without groups, and with a ranker whose training can be repeated."""
        return is_repeatable(self.ranker) and super().is_nested

    @property
    def _name_in_errors(self) -> str:
        return f"{type(self).__name__} around {type(self._ranker()).__name__}"

    @property
    def steps_in_python(self) -> bool:  # type: ignore[override]
        """Whether the ranker takes many short steps with Python between them."""
        return self._ranker().steps_in_python

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether the ranker takes missing values."""
        return self._ranker().takes_missing

    @property
    def _allows_missing(self) -> bool:  # type: ignore[override]
        return self.ranker_._allows_missing

    def _scores(self, X: Any) -> np.ndarray:
        return self.ranker_._scores(X[:, np.flatnonzero(self.support_)])

    def reasons(self) -> list[str]:
        """For each selected feature, the change of the mean value if it was measured."""
        check_is_fitted(self)
        scores = [step.score for step in self.path_]
        changes = np.diff(scores, prepend=np.nan)
        return [f"{change:+.4f}" if np.isfinite(change) else "" for change in changes]

    def _ranker(self) -> Ranker:
        return RankRLS() if self.ranker is None else clone(as_ranker(self.ranker))

    def _choose(self, source: Source, choices: Choices, vali: Source | None = None) -> list[int]:
        ranker = choices.cut_ranker(self._ranker())
        data = in_memory(source)
        if not ranker.takes_missing:
            data.check_finite()
        given = None
        if vali is not None:
            given = Fold(QueryPart(data), QueryPart(in_memory(vali)))
        chosen = self._search(data, given, ranker, choices)
        kept = data.take_features(np.sort(chosen))
        ranker = ranker._for_features(np.sort(chosen).tolist(), data.n_features)
        if hasattr(self, "feature_names_in_"):
            self.ranker_ = ranker.fit(kept)
        else:
            rows = kept.X, kept.y, kept.qid
            self.ranker_ = ranker.fit(*rows, sample_weight=kept.query_weights)
        return chosen

    @abstractmethod
    def _search(
        self, data: RankingData, given: Fold | None, ranker: Ranker, choices: Choices
    ) -> list[int]:
        """Search for features, and return them in the order of selection.

        ``given`` has the held-out queries, if there is an ``eval_set``.
        """

    def _folds(self, data: RankingData, given: Fold | None) -> list[Fold]:
        return make_folds(data, self.cv, self.random_state) if given is None else [given]

    def _held_out(
        self, data: RankingData, folds: list[Fold], ranker: Ranker, n_judged: int | None = None
    ) -> HeldOutValues:
        """Make the evaluation of subsets; only the first ``n_judged`` folds are evaluated."""
        measure = parse_measure(self.measure)
        search = {}
        if self.checkpoint is not None:
            parameters = {name: repr(value) for name, value in sorted(ranker.get_params().items())}
            search = {
                "method": type(self).__name__,
                "data": _fingerprint_folds(data, folds),
                "ranker": f"{type(ranker).__name__} {parameters}",
                "measure": f"{measure.name}, {self.convention}, {self.ties}",
            } | self._search_settings()
        n_queries = [fold.test.n_queries for fold in folds[:n_judged]]
        n_queries += [0] * (len(folds) - len(n_queries))
        known = Checkpoint(self.checkpoint, search, n_queries)
        convention = get_convention(self.convention, self.ties)
        return HeldOutValues(ranker, folds, measure, convention, known)

    def _search_settings(self) -> dict[str, str]:
        """Settings that results depend on, besides data, ranker and measure."""
        return {}

    @property
    def _by_value(self) -> bool:
        """Whether the number of features is chosen by the values of subsets."""
        return isinstance(self.n_features_to_select, str)


def _fingerprint_folds(data: RankingData, folds: list[Fold]) -> str:
    """Short text that identifies data, held-out data of its own, and the queries of each fold."""
    others = {id(part.data): part.data for fold in folds for part in fold if part.data is not data}
    digest = hashlib.sha256(fingerprint(data, *others.values()).encode())
    for part in chain.from_iterable(folds):
        digest.update(np.append(part.positions, -1).data)
    return digest.hexdigest()[:16]


def varying_groups(data: RankingData, choices: Choices) -> np.ndarray:
    """Mask of groups with a feature that varies in a query of weight above 0; NaN is a value."""
    block = replace(whole_block(data), keeps_missing=True)
    return choices.any_of(varying_columns(block))
