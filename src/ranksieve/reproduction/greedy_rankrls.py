"""Greedy RankRLS on MQ2008, beside what its paper prints."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ranksieve.data import RankingData
from ranksieve.progress import listen, track
from ranksieve.reproduction.mq2008 import CONVENTION, N_FOLDS, TIES, measured, read_mq2008
from ranksieve.selectors.greedy_rankrls_cv import GreedyRankRLSCV

MEASURES = ("MAP", "P@10", "MeanNDCG", "NDCG@10")
GREEDY, FULL = "greedy RankRLS", "RankRLS"
FIGURE_LAMS = (2.0**-7, 2.0**2, 2.0**6, 2.0**8)  # of the paper's figures


class Choice(NamedTuple):
    """What was chosen on a fold: regularization, and features in order, counted from 1."""

    lam: float
    features: tuple[int, ...]


# T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear time algorithm for
# learning sparse ranking models. SIGIR 2010 workshop on feature generation and selection. MQ2008:
# test performance on folds 1 to 5, and Table 2.
PUBLISHED: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    GREEDY: {
        "MAP": (0.4311, 0.4239, 0.4582, 0.5283, 0.5183),
        "P@10": (0.2333, 0.2178, 0.2363, 0.2975, 0.2484),
        "MeanNDCG": (0.4454, 0.4186, 0.4787, 0.5403, 0.5369),
        "NDCG@10": (0.1920, 0.1585, 0.2558, 0.2940, 0.2254),
    },
    FULL: {
        "MAP": (0.4524, 0.4300, 0.4542, 0.5225, 0.5006),
        "P@10": (0.2391, 0.2217, 0.2325, 0.2949, 0.2503),
        "MeanNDCG": (0.4633, 0.4269, 0.4741, 0.5407, 0.5138),
        "NDCG@10": (0.2145, 0.1669, 0.2489, 0.2874, 0.2165),
    },
}
PUBLISHED_CHOICES = (
    Choice(2.0**0, (39,)),
    Choice(2.0**10, (39, 23, 37, 32)),
    Choice(2.0**3, (39, 29, 25, 23, 46, 37, 19)),
    Choice(2.0**6, (39, 29, 25, 23)),
    Choice(2.0**0, (39,)),
)


@dataclass(frozen=True)
class FoldResult:
    """What came out on one fold.

    Attributes
    ----------
    choice : Choice
        Of greedy RankRLS.
    full_lam : float
        Regularization of RankRLS on all features.
    values : dict of str to dict of str to float
        Method -> measure -> mean over test queries.
    selector : GreedyRankRLSCV
        Fitted; None in results that were not computed here.
    """

    choice: Choice
    full_lam: float
    values: Mapping[str, Mapping[str, float]]
    selector: GreedyRankRLSCV | None = None


@dataclass(frozen=True)
class GreedyReproduction:
    """Greedy RankRLS on the five folds of MQ2008.

    Attributes
    ----------
    folds : sequence of FoldResult
    """

    folds: Sequence[FoldResult]

    def values(self, method: str, measure: str) -> list[float]:
        """Test values on the folds."""
        return [fold.values[method][measure] for fold in self.folds]

    def agreeing(self, method: str, measure: str) -> list[bool]:
        """For each fold, whether the value is the published one in all four digits."""
        pairs = zip(self.values(method, measure), PUBLISHED[method][measure], strict=True)
        return [f"{ours:.4f}" == f"{theirs:.4f}" for ours, theirs in pairs]

    @property
    def n_numbers(self) -> int:
        """Published numbers."""
        return sum(len(folds) for measures in PUBLISHED.values() for folds in measures.values())

    @property
    def n_agreeing(self) -> int:
        """Published numbers that agree in all four digits."""
        return sum(
            sum(self.agreeing(method, measure))
            for method, measures in PUBLISHED.items()
            for measure in measures
        )

    @property
    def n_same_features(self) -> int:
        """Folds with the published features in the published order."""
        pairs = zip(self.folds, PUBLISHED_CHOICES, strict=True)
        return sum(ours.choice.features == theirs.features for ours, theirs in pairs)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        folds = zip(self.folds, PUBLISHED_CHOICES, strict=True)
        return {
            "method": "greedy-rankrls",
            "collection": "MQ2008",
            "convention": CONVENTION,
            "ties": TIES,
            "numbers": self.n_numbers,
            "agreeing": self.n_agreeing,
            "same_features": self.n_same_features,
            "choices": [
                {
                    "fold": number,
                    "paper": {"lam": theirs.lam, "features": list(theirs.features)},
                    "ours": {"lam": ours.choice.lam, "features": list(ours.choice.features)},
                    "full_lam": ours.full_lam,
                }
                for number, (ours, theirs) in enumerate(folds, start=1)
            ],
            "values": {
                method: {
                    measure: {"paper": list(paper), "ours": self.values(method, measure)}
                    for measure, paper in measures.items()
                }
                for method, measures in PUBLISHED.items()
            },
        }


def reproduce_greedy_rankrls(directory: str | os.PathLike[str]) -> GreedyReproduction:
    """Run greedy RankRLS, and RankRLS on all features, as the paper did on MQ2008.

    On each fold, regularization from 2^-10 to 2^10 and the number of features from 1 to 46 are
    those of the largest MAP on the validation queries; then the test queries are ranked. Measures
    are those of LETOR 4.0, with equal scores in the order of the files.

    Parameters
    ----------
    directory : path
        LETOR 4.0 MQ2008: ``S1.txt`` to ``S5.txt``, or ``Fold1`` to ``Fold5``.

    Returns
    -------
    GreedyReproduction

    References
    ----------
    T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear time algorithm for
    learning sparse ranking models. SIGIR 2010 workshop on feature generation and selection.
    """
    advance = track("Folds", N_FOLDS)
    results = []
    for fold in read_mq2008(directory):
        with listen(None):  # a fold takes a few seconds: bars within it would only flicker
            results.append(_run_fold(*fold))
        advance(1)
    return GreedyReproduction(results)


def _run_fold(train: RankingData, vali: RankingData, test: RankingData) -> FoldResult:
    selector = GreedyRankRLSCV(measure="map", convention=CONVENTION, ties=TIES)
    selector.fit(train, eval_set=vali)
    full = selector.at(train.n_features)  # with all features, greedy RankRLS is RankRLS
    features = tuple(feature + 1 for feature in selector.selected_.tolist())
    values = {
        GREEDY: measured(test, selector.predict(test), MEASURES),
        FULL: measured(test, full.predict(test), MEASURES),
    }
    return FoldResult(Choice(selector.lam_, features), full.lam_, values, selector)
