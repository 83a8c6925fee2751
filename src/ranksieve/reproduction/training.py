"""Train methods on a fold that are not part of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ranksieve.data import RankingData
from ranksieve.metrics import evaluate
from ranksieve.rankers.registry import RANKERS, make_ranker
from ranksieve.reproduction.paper import FoldAtHand, PaperMethod, TrainedMethod
from ranksieve.selectors._search.paths import AnyFit
from ranksieve.selectors.embedded.fsmrank import fsmrank_path
from ranksieve.selectors.embedded.greedy_rankrls_cv import GreedyRankRLSCV
from ranksieve.selectors.registry import SELECTORS
from ranksieve.study import StudyFold
from ranksieve.study.plan import grid_points
from ranksieve.sums.held_out import linear_scores, measure_models

PATH_MEASURES = ("MAP", "MeanNDCG")  # measures in the figures of greedy RankRLS


class FoldPaths(NamedTuple):
    """All models of greedy RankRLS on a fold."""

    selector: GreedyRankRLSCV
    # Part of the fold and measure -> means over queries (regularization parameters, sizes).
    values: Mapping[tuple[str, str], np.ndarray]


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


def best_weights(fold: StudyFold, convention: str) -> np.ndarray:
    """Return FSMRank's weights with the largest MAP on validation queries; the first if tied."""
    grid = SELECTORS["fsmrank"].grid
    fits = [fit.coef for fit in fsmrank_path(fold.train, grid["lambda1"], grid["lambda2"])]
    scores = [linear_scores(fold.vali.X, coef) for coef in fits]
    return fits[_best_on_validation(fold, scores, convention)]


def train_greedy_rankrls(name: str, candidate: PaperMethod, at: FoldAtHand) -> TrainedMethod:
    """Train greedy RankRLS with the number of features that the validation queries choose."""
    selector = _greedy_rankrls(at)
    features = tuple(feature + 1 for feature in selector.selected_.tolist())
    chosen = {"lam": selector.lam_, "n_features": len(features), "features": features}
    values = {}
    for part, data in (("validation", at.data.vali), ("test", at.data.test)):
        for measure in PATH_MEASURES:
            paths = map(_all_sizes, selector.paths_)
            measured = measure_models(data, paths, measure, at.facts.convention)
            values[part, measure] = np.array([path.mean for path in measured])
    model = FoldPaths(selector, values)
    return TrainedMethod(selector.predict(at.data.test), len(features), chosen, model)


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


def _best_on_validation(fold: StudyFold, scores: list[np.ndarray], convention: str) -> int:
    """Return the index of the scores with the largest validation MAP; the first if tied."""
    values = [measure_scores(fold.vali, tried, ["MAP"], convention)["MAP"] for tried in scores]
    return int(np.argmax(values))


def measure_scores(
    data: RankingData, scores: np.ndarray, measures: Sequence[str], convention: str
) -> dict[str, float]:
    """Return the mean over queries of each measure."""
    return evaluate(data.y, scores, data.qid, measures, convention, doc_ids=data.doc_ids).mean
