"""Base of the selectors around a ranker: folds, evaluation, groups, and the final ranker."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Predictor, as_source
from ranksieve.data import RankingData
from ranksieve.engine import Source, in_memory, whole_block
from ranksieve.metrics import Measure, get_convention, parse_measure
from ranksieve.parameters import ConventionChoice, FeatureCount, Features, NotNegative, Seed, Ties
from ranksieve.rankers import RankRLS, as_ranker
from ranksieve.rankers.base import Ranker
from ranksieve.selectors._search.checkpoint import Checkpoint, fingerprint
from ranksieve.selectors._search.choices import check_choices, feature_groups, feature_indices
from ranksieve.selectors._search.held_out import Fold, FoldValues, make_folds
from ranksieve.selectors._search.parts import HeldOutSelector
from ranksieve.sums.chunks import chunks, vary_within_queries, weights_of


class Candidates(NamedTuple):
    """Groups of features to choose from; other fields have their places."""

    groups: list[tuple[int, ...]]  # features that come and go together
    include: list[int]  # what must be chosen
    exclude: list[int]  # and what must not
    varies: np.ndarray  # (groups,): false for those that are constant within every query
    k: int  # how many to choose, or the most

    @property
    def allowed(self) -> list[int]:
        """What may be chosen."""
        return [place for place in range(len(self.groups)) if place not in self.exclude]

    def features_of(self, places: Iterable[int]) -> tuple[int, ...]:
        """Features of some groups."""
        return tuple(feature for place in places for feature in self.groups[place])


@dataclass(eq=False, repr=False)
class WrapperSelector(Predictor, HeldOutSelector):
    """Base of selectors that train a ranker on subsets of the features.

    Predictions are those of ``ranker_``, given all features.
    """

    works_on_shards = False

    ranker: Any = None
    n_features_to_select: FeatureCount | Literal["best", "one_se", "tolerance"] = 10
    _: KW_ONLY
    measure: str | Measure = "ndcg@10"
    cv: Annotated[
        Any,
        Interval(Integral, 2, None, closed="left"),
        StrOptions({"leave-query-out"}),
        list,
    ] = 5
    include: Features = ()
    exclude: Features = ()
    groups: Annotated[Any, "array-like", dict, None] = None
    tol: NotNegative = 0.001
    convention: ConventionChoice = "standard"
    ties: Ties = "average"
    checkpoint: Any = None
    random_state: Seed = 0
    verbose: bool = False

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

    def reasons(self) -> list[str]:
        """For each selected feature, the change of the mean value, where that was measured."""
        check_is_fitted(self)
        scores = [step.score for step in self.path_]
        changes = np.diff(scores, prepend=np.nan)
        return [f"{change:+.4f}" if np.isfinite(change) else "" for change in changes]

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
        self.__dict__.pop("n_groups_", None)  # of an earlier fit
        if self.groups is not None:
            groups = self._groups(data.n_features)
            self.n_groups_ = sum(group[0] in chosen for group in groups)
        kept = data.take_features(np.sort(chosen))
        ranker = ranker._for_features(np.sort(chosen).tolist(), data.n_features)
        if data.has_feature_names:
            self.ranker_ = ranker.fit(kept)
        else:
            rows = kept.X, kept.y, kept.qid
            self.ranker_ = ranker.fit(*rows, sample_weight=kept.query_weights)
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
        convention = get_convention(self.convention, self.ties)
        return FoldValues(ranker, folds, measure, convention, known)

    def _told(self) -> dict[str, str]:
        """What results depend on, except for data, ranker and measure."""
        return {}

    def _number_to_select(self, n_features: int) -> int:
        return super()._number_to_select(len(self._groups(n_features)))

    def _groups(self, n_features: int) -> list[tuple[int, ...]]:
        """Groups of features that are added and removed together."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = np.array([str(number + 1) for number in range(n_features)], dtype=object)
        if self.groups is None:
            return [(feature,) for feature in range(n_features)]
        return feature_groups(self.groups, names)

    @property
    def _by_value(self) -> bool:
        """Whether the number of groups is chosen by what they are worth."""
        return isinstance(self.n_features_to_select, str)

    def _candidates(self, data: RankingData, k: int) -> Candidates:
        groups = self._groups(data.n_features)
        include, exclude = (self._listed(name, data, groups) for name in ("include", "exclude"))
        if self._by_value:
            k = len(groups) - len(exclude)
        check_choices(k, [self._name_of(min(group)) for group in groups], include, exclude)
        differs = _varying(data)
        varies = np.array([differs[list(group)].any() for group in groups])
        return Candidates(groups, include, exclude, varies, k)

    def _listed(self, which: str, data: RankingData, groups: list[tuple[int, ...]]) -> list[int]:
        """Positions of the groups of the features that a parameter lists, in its order."""
        features = feature_indices(which, getattr(self, which), data.feature_names)
        place_of = {feature: place for place, group in enumerate(groups) for feature in group}
        return list(dict.fromkeys(place_of[feature] for feature in features))


def _varying(data: RankingData) -> np.ndarray:
    """Whether each feature varies within any query that counts; NaN counts as a value."""
    found = np.zeros(data.n_features, dtype=bool)
    block = whole_block(data)
    counted = weights_of(block) > 0
    for chunk in chunks(block, most=2**20):
        values = np.where(np.isnan(chunk.X), -np.inf, chunk.X)
        differ = vary_within_queries(values, chunk.query_ptr)
        found |= differ[counted[chunk.queries]].any(axis=0)
    return found
