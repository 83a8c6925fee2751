"""Methods of papers that are not part of a study: a cell of work on a fold, and how each trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta

from ranksieve.data import RankingData
from ranksieve.engine.clock import work_seconds
from ranksieve.engine.memo import shared, sharing
from ranksieve.experiments import Key, Record, Trained, TrialData, query_values
from ranksieve.rankers.registry import RANKERS, make_ranker
from ranksieve.reproduction.paper import PaperMethod
from ranksieve.selectors._search.searches import AnyFit
from ranksieve.selectors.embedded.fsmrank import fsmrank_path
from ranksieve.selectors.embedded.greedy_rankrls_cv import GreedyRankRLSCV
from ranksieve.selectors.registry import SELECTORS
from ranksieve.study.plan import grid_points
from ranksieve.sums.held_out import linear_scores, measure_models

# Measures in the figures of greedy RankRLS, and the queries that they are measured on.
PATH_MEASURES = ("MAP", "MeanNDCG")
PATH_PARTS = ("validation", "test")


class FoldPaths(Record):
    """Values of all models of greedy RankRLS on a fold, for figures.

    Attributes of :class:`GreedyRankRLSCV` have the same names here.
    """

    lams_: list[float]
    lam_: float
    selected_: list[int]
    n_features_in_: int
    # Part of the fold -> measure -> means over queries (regularization parameters, sizes).
    means: dict[str, dict[str, list[list[float]]]]

    def __post_init__(self) -> None:
        names = {(part, measure) for part, own in self.means.items() for measure in own}
        if names != {(p, m) for p in PATH_PARTS for m in PATH_MEASURES}:
            raise ValueError("not the means of greedy RankRLS")
        if {self.mean(*name).shape for name in names} != {(len(self.lams_), self.n_features_in_)}:
            raise ValueError("not a mean for each regularization parameter and size")
        if self.lam_ not in self.lams_:
            raise ValueError(f"the regularization parameter {self.lam_} was not tried")

    def mean(self, part: str, measure: str) -> np.ndarray:
        """Means of a measure over the queries of a part (regularization parameters, sizes)."""
        return np.array(self.means[part][measure])

    @property
    def values_(self) -> np.ndarray:
        """Validation MAP (regularization parameters, sizes)."""
        return self.mean("validation", "MAP")


class TrainedMethod(Trained):
    """Result of a method: ``parameters`` are those that were chosen."""

    n_features: Annotated[int, Meta(ge=0)]
    paths: FoldPaths | None


class MethodKey(Key, tag="method"):
    """Key of the training of a method."""

    method: str
    settings: dict[str, Any]
    published: dict[str, Any]
    Result: ClassVar[type[Record]] = TrainedMethod


class Learned(NamedTuple):
    """What a method has learned on a fold."""

    scores: np.ndarray  # of the test documents
    n_features: int
    chosen: Mapping[str, Any]  # parameters that were chosen, as JSON values
    paths: FoldPaths | None = None  # for figures, if there are any


@dataclass(frozen=True)
class TrainMethod:
    """Train a method on a fold, and rank the test queries."""

    name: str
    candidate: PaperMethod
    # Parameters of the published run on the fold, if they are known.
    published: Mapping[str, Any]
    measures: Sequence[str]
    convention: str
    method: ClassVar[None] = None

    def key(self, trial: str) -> MethodKey:
        """Everything except the data and the head of the ledger that the result depends on."""
        return MethodKey(trial, self.name, dict(self.candidate.settings), dict(self.published))

    def run(self, trial: TrialData) -> TrainedMethod:
        """Train the method, and return the values of the test queries."""
        assert self.candidate.train is not None
        trial.check()
        start = work_seconds()
        with sharing(trial.memo):
            learned = self.candidate.train(self, trial)
        seconds = work_seconds() - start
        found = query_values(trial.test, learned.scores, self.measures, self.convention)
        (test,) = trial.judged
        values = {test: {measure: own.tolist() for measure, own in found.items()}}
        chosen = dict(learned.chosen)
        return TrainedMethod(chosen, None, None, values, seconds, learned.n_features, learned.paths)


def ranker_settings(name: str, settings: Mapping[str, Any], convention: str) -> dict[str, Any]:
    """Add the metric convention of the results to the parameters, if the ranker takes one."""
    takes_convention = "convention" in RANKERS[name].defaults
    return dict(settings) | ({"convention": convention} if takes_convention else {})


def train_ranker(cell: TrainMethod, fold: TrialData) -> Learned:
    """Train a ranker of the registry on all features.

    Uses the parameters published for the fold, if there are any. Otherwise, the MAP of the
    validation queries chooses from the registry's grid; if there is no grid either, the validation
    queries are passed to ``fit``.
    """
    name, candidate = cell.name, cell.candidate
    settings = ranker_settings(name, candidate.settings, cell.convention)
    chosen = dict(cell.published)
    if chosen:
        ranker = make_ranker(name, **settings | chosen).fit(fold.train)
    elif RANKERS[name].grid:
        choices = grid_points(RANKERS[name].grid)
        rankers = [make_ranker(name, **settings, **choice).fit(fold.train) for choice in choices]
        scores = [ranker.predict(_validation(fold)) for ranker in rankers]
        best = _best_on_validation(fold, scores, cell.convention)
        ranker, chosen = rankers[best], choices[best]
    else:
        ranker = make_ranker(name, **settings).fit(fold.train, eval_set=fold.vali)
        attribute = candidate.chosen_attribute
        chosen = {attribute.rstrip("_"): int(getattr(ranker, attribute))}
    return Learned(ranker.predict(fold.test), fold.train.n_features, chosen)


def train_fsmrank(cell: TrainMethod, fold: TrialData) -> Learned:
    """Train FSMRank and rank the test queries with the weights that it finds."""
    coef = best_weights(fold, cell.convention)
    return Learned(linear_scores(fold.test.X, coef), int(np.count_nonzero(coef)), {})


def best_weights(fold: TrialData, convention: str) -> np.ndarray:
    """Return FSMRank's weights with the largest MAP on validation queries; the first if tied."""
    grid = SELECTORS["fsmrank"].grid
    fits = [fit.coef for fit in fsmrank_path(fold.train, grid["lambda1"], grid["lambda2"])]
    scores = [linear_scores(_validation(fold).X, coef) for coef in fits]
    return fits[_best_on_validation(fold, scores, convention)]


def train_greedy_rankrls(cell: TrainMethod, fold: TrialData) -> Learned:
    """Train greedy RankRLS with the number of features that the validation queries choose."""
    selector = _greedy_rankrls(fold, cell.convention)
    features = [feature + 1 for feature in selector.selected_.tolist()]
    chosen = {"lam": selector.lam_, "n_features": len(features), "features": features}
    means = {
        part: {name: _path_means(selector, data, name) for name in PATH_MEASURES}
        for part, data in zip(PATH_PARTS, (_validation(fold), fold.test), strict=True)
    }
    selected, n_features = selector.selected_.tolist(), fold.train.n_features
    paths = FoldPaths(list(selector.lams_), selector.lam_, selected, n_features, means)
    return Learned(selector.predict(fold.test), len(features), chosen, paths)


def _path_means(selector: GreedyRankRLSCV, data: RankingData, measure: str) -> list[list[float]]:
    """Return the mean over queries of every model (regularization parameters, sizes)."""
    paths = map(_all_sizes, selector.paths_)
    measured = measure_models(data, paths, measure, selector.convention)
    return [path.mean.tolist() for path in measured]


def _all_sizes(path: Sequence[AnyFit]) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of a path in order, and the weights of its models (features, models)."""
    features = np.array(path[-1].features)
    coefs = np.zeros((len(features), len(path)))
    for column, fit in enumerate(path):
        coefs[: len(fit.features), column] = fit.coef
    return features, coefs


def train_full_rankrls(cell: TrainMethod, fold: TrialData) -> Learned:
    """Train RankRLS on all features, as greedy RankRLS that has selected all of them."""
    n_features = fold.train.n_features
    full = _greedy_rankrls(fold, cell.convention).at(n_features)
    return Learned(full.predict(fold.test), n_features, {"lam": full.lam_})


@shared
def _greedy_rankrls(fold: TrialData, convention: str) -> GreedyRankRLSCV:
    """Fit greedy RankRLS once per fold."""
    selector = GreedyRankRLSCV(measure="map", convention=convention)
    return selector.fit(fold.train, eval_set=fold.vali)


def _best_on_validation(fold: TrialData, scores: list[np.ndarray], convention: str) -> int:
    """Return the index of the scores with the largest validation MAP; the first if tied."""
    vali = _validation(fold)
    values = [query_values(vali, tried, ["MAP"], convention)["MAP"] for tried in scores]
    return int(np.argmax([value.mean() for value in values]))


def _validation(fold: TrialData) -> RankingData:
    assert fold.vali is not None  # collections of papers have validation queries
    return fold.vali
