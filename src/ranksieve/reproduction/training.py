"""Train methods on a fold that are not part of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.experiments import TrialData, query_values
from ranksieve.io.records import check_kinds, get_numbers
from ranksieve.rankers.registry import RANKERS, make_ranker
from ranksieve.reproduction.paper import FoldAtHand, PaperMethod, TrainedMethod
from ranksieve.selectors._search.paths import AnyFit
from ranksieve.selectors.embedded.fsmrank import fsmrank_path
from ranksieve.selectors.embedded.greedy_rankrls_cv import GreedyRankRLSCV
from ranksieve.selectors.registry import SELECTORS
from ranksieve.study.plan import grid_points
from ranksieve.sums.held_out import linear_scores, measure_models

# Measures in the figures of greedy RankRLS, and the queries that they are measured on.
PATH_MEASURES = ("MAP", "MeanNDCG")
PATH_PARTS = ("validation", "test")


class FoldPaths(NamedTuple):
    """Values of all models of greedy RankRLS on a fold, for figures.

    Attributes of :class:`GreedyRankRLSCV` have the same names here.
    """

    lams_: list[float]
    lam_: float
    selected_: list[int]
    n_features_in_: int
    # Part of the fold -> measure -> means over queries (regularization parameters, sizes).
    means: Mapping[str, Mapping[str, np.ndarray]]
    measure: str = "map"
    criterion: str = "squared"
    validated_: bool = True

    @property
    def values_(self) -> np.ndarray:
        """Validation MAP (regularization parameters, sizes)."""
        return self.means["validation"]["MAP"]

    @classmethod
    def of(cls, record: Any) -> FoldPaths:
        """Make a value of :meth:`as_dict` again; raise a DataError for anything else."""
        check_kinds(record, dict(lams=list, lam=float, selected=list, n_features=int, means=dict))
        lams, n_features = record["lams"], record["n_features"]
        if record["means"].keys() != set(PATH_PARTS) or record["lam"] not in lams:
            raise DataError("not the paths of greedy RankRLS")
        means = {
            part: {name: get_numbers(values, name, len(lams), None) for name in PATH_MEASURES}
            for part, values in record["means"].items()
        }
        return cls(lams, record["lam"], record["selected"], n_features, means)

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON values."""
        means = {
            part: {name: values.tolist() for name, values in of_part.items()}
            for part, of_part in self.means.items()
        }
        return {
            "lams": self.lams_,
            "lam": self.lam_,
            "selected": self.selected_,
            "n_features": self.n_features_in_,
            "means": means,
        }


def ranker_settings(name: str, settings: Mapping[str, Any], convention: str) -> dict[str, Any]:
    """Add the metric convention of the results to the parameters, if the ranker takes one."""
    takes_convention = "convention" in RANKERS[name].defaults
    return dict(settings) | ({"convention": convention} if takes_convention else {})


def train_ranker(name: str, candidate: PaperMethod, at: FoldAtHand) -> TrainedMethod:
    """Train a ranker of the registry on all features.

    Uses the parameters published for the fold, if there are any. Otherwise, the MAP of the
    validation queries chooses from the registry's grid; if there is no grid either, the validation
    queries are passed to ``fit``.
    """
    settings = ranker_settings(name, candidate.settings, at.facts.convention)
    fold, published = at.data, at.settings.get(name)
    chosen: dict[str, Any]
    if published:
        chosen = {parameter: values[at.position] for parameter, values in published.items()}
        ranker = make_ranker(name, **settings | chosen).fit(fold.train)
    elif RANKERS[name].grid:
        choices = grid_points(RANKERS[name].grid)
        rankers = [make_ranker(name, **settings, **choice).fit(fold.train) for choice in choices]
        scores = [ranker.predict(fold.vali) for ranker in rankers]
        best = _best_on_validation(fold, scores, at.facts.convention)
        ranker, chosen = rankers[best], choices[best]
    else:
        ranker = make_ranker(name, **settings).fit(fold.train, eval_set=fold.vali)
        attribute = candidate.chosen_attribute
        chosen = {attribute.rstrip("_"): int(getattr(ranker, attribute))}
    return TrainedMethod(ranker.predict(fold.test), fold.train.n_features, chosen)


def train_fsmrank(name: str, candidate: PaperMethod, at: FoldAtHand) -> TrainedMethod:
    """Train FSMRank and rank the test queries with the weights that it finds."""
    coef = best_weights(at.data, at.facts.convention)
    scores = linear_scores(at.data.test.X, coef)
    return TrainedMethod(scores, int(np.count_nonzero(coef)), {})


def best_weights(fold: TrialData, convention: str) -> np.ndarray:
    """Return FSMRank's weights with the largest MAP on validation queries; the first if tied."""
    grid = SELECTORS["fsmrank"].grid
    fits = [fit.coef for fit in fsmrank_path(fold.train, grid["lambda1"], grid["lambda2"])]
    scores = [linear_scores(_validation(fold).X, coef) for coef in fits]
    return fits[_best_on_validation(fold, scores, convention)]


def train_greedy_rankrls(name: str, candidate: PaperMethod, at: FoldAtHand) -> TrainedMethod:
    """Train greedy RankRLS with the number of features that the validation queries choose."""
    selector = _greedy_rankrls(at)
    features = tuple(feature + 1 for feature in selector.selected_.tolist())
    chosen = {"lam": selector.lam_, "n_features": len(features), "features": features}
    means = {
        part: {name: _path_means(selector, data, name) for name in PATH_MEASURES}
        for part, data in zip(PATH_PARTS, (_validation(at.data), at.data.test), strict=True)
    }
    selected, n_features = selector.selected_.tolist(), at.data.train.n_features
    paths = FoldPaths(selector.lams_, selector.lam_, selected, n_features, means)
    return TrainedMethod(selector.predict(at.data.test), len(features), chosen, paths)


def _path_means(selector: GreedyRankRLSCV, data: RankingData, measure: str) -> np.ndarray:
    """Return the mean over queries of every model (regularization parameters, sizes)."""
    paths = map(_all_sizes, selector.paths_)
    measured = measure_models(data, paths, measure, selector.convention)
    return np.array([path.mean for path in measured])


def _all_sizes(path: Sequence[AnyFit]) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of a path in order, and the weights of its models (features, models)."""
    features = np.array(path[-1].features)
    coefs = np.zeros((len(features), len(path)))
    for column, fit in enumerate(path):
        coefs[: len(fit.features), column] = fit.coef
    return features, coefs


def train_full_rankrls(name: str, candidate: PaperMethod, at: FoldAtHand) -> TrainedMethod:
    """Train RankRLS on all features, as greedy RankRLS that has selected all of them."""
    n_features = at.data.train.n_features
    full = _greedy_rankrls(at).at(n_features)
    return TrainedMethod(full.predict(at.data.test), n_features, {"lam": full.lam_})


def _greedy_rankrls(at: FoldAtHand) -> GreedyRankRLSCV:
    """Fit greedy RankRLS once per fold and cache it."""
    if "greedy-rankrls" not in at.shared:
        selector = GreedyRankRLSCV(measure="map", convention=at.facts.convention)
        at.shared["greedy-rankrls"] = selector.fit(at.data.train, eval_set=at.data.vali)
    return at.shared["greedy-rankrls"]


def _best_on_validation(fold: TrialData, scores: list[np.ndarray], convention: str) -> int:
    """Return the index of the scores with the largest validation MAP; the first if tied."""
    values = [
        query_values(_validation(fold), tried, ["MAP"], convention)["MAP"] for tried in scores
    ]
    return int(np.argmax([value.mean() for value in values]))


def _validation(fold: TrialData) -> RankingData:
    assert fold.vali is not None  # collections of papers have validation queries
    return fold.vali
