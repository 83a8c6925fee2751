"""Greedy RankRLS, beside what its paper prints."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranksieve.progress import listen, track
from ranksieve.reproduction.collections import Facts, open_at_hand
from ranksieve.reproduction.numbers import measured
from ranksieve.reproduction.published_greedy_rankrls import (
    CHOICES,
    FULL,
    GREEDY,
    MEASURES,
    ON_FOLDS,
    Choice,
)
from ranksieve.selectors.embedded.greedy_rankrls_cv import GreedyRankRLSCV
from ranksieve.study import StudyFold

METHODS = (GREEDY, FULL)
FIGURE_LAMS = (2.0**-7, 2.0**2, 2.0**6, 2.0**8)  # of the paper's figures


@dataclass(frozen=True)
class FoldResult:
    """What came out on one fold.

    Attributes
    ----------
    choice : Choice
        Of greedy RankRLS, with all of its features.
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

    def has_features_of(self, paper: Choice) -> bool:
        """Whether as many features were selected, and those that are printed in their order."""
        n_printed = len(paper.features)
        same_number = self.choice.n_features == paper.n_features
        return same_number and self.choice.features[:n_printed] == paper.features


@dataclass(frozen=True)
class GreedyReproduction:
    """Greedy RankRLS on the folds of a collection.

    Attributes
    ----------
    facts : Facts
    folds : sequence of FoldResult
    """

    facts: Facts
    folds: Sequence[FoldResult]

    @property
    def published_choices(self) -> Sequence[Choice] | None:
        """Choices of the paper, if it has the collection."""
        return CHOICES.get(self.facts.known_as or "")

    def published(self, method: str, measure: str) -> Sequence[float] | None:
        """Values of the paper on the folds, if it has the collection."""
        return ON_FOLDS.get(self.facts.known_as or "", {}).get(method, {}).get(measure)

    def values(self, method: str, measure: str) -> list[float]:
        """Test values on the folds."""
        return [fold.values[method][measure] for fold in self.folds]

    def agreeing(self, method: str, measure: str) -> list[bool]:
        """For each published value, whether ours is the same in all four digits."""
        paper = self.published(method, measure)
        if paper is None:
            return []
        pairs = zip(self.values(method, measure), paper, strict=True)
        return [f"{ours:.4f}" == f"{theirs:.4f}" for ours, theirs in pairs]

    @property
    def n_numbers(self) -> int:
        """Published numbers."""
        return len(self._verdicts())

    @property
    def n_agreeing(self) -> int:
        """Published numbers that agree in all four digits."""
        return sum(self._verdicts())

    def _verdicts(self) -> list[bool]:
        pairs = [(method, measure) for method in METHODS for measure in MEASURES]
        return [verdict for pair in pairs for verdict in self.agreeing(*pair)]

    @property
    def n_same_features(self) -> int | None:
        """Folds with the published features in the published order; None if none are published."""
        if self.published_choices is None:
            return None
        pairs = zip(self.folds, self.published_choices, strict=True)
        return sum(ours.has_features_of(theirs) for ours, theirs in pairs)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        papers: Sequence[Choice | None] = self.published_choices or [None] * len(self.folds)
        return {
            "method": "greedy-rankrls",
            **self.facts.as_dict(),
            "numbers": self.n_numbers,
            "agreeing": self.n_agreeing,
            "same_features": self.n_same_features,
            "choices": [
                {
                    "fold": number,
                    "paper": None if theirs is None else theirs._asdict(),
                    "ours": ours.choice._asdict(),
                    "full_lam": ours.full_lam,
                }
                for number, (ours, theirs) in enumerate(
                    zip(self.folds, papers, strict=True), start=1
                )
            ],
            "values": {
                method: {
                    measure: {
                        "paper": self.published(method, measure),
                        "ours": self.values(method, measure),
                    }
                    for measure in MEASURES
                }
                for method in METHODS
            },
        }


def reproduce_greedy_rankrls(
    directory: str | os.PathLike[str], convention: str | None = None
) -> GreedyReproduction:
    """Run greedy RankRLS, and RankRLS on all features, as the paper did on MQ2007 and MQ2008.

    On each fold, regularization from 2^-10 to 2^10 and the number of features from 1 on are those
    of the largest MAP on the validation queries; then the test queries are ranked.

    Parameters
    ----------
    directory : path
        A collection with folds, such as LETOR 4.0 MQ2008: ``S1.txt`` to ``S5.txt``, or ``Fold1``
        to ``Fold5``.
    convention : str, optional
        Of the measures; see :func:`ranksieve.reproduction.collections.open_at_hand`.

    Returns
    -------
    GreedyReproduction

    References
    ----------
    T. Pahikkala, A. Airola, P. Naula, T. Salakoski. Greedy RankRLS: a linear time algorithm for
    learning sparse ranking models. SIGIR 2010 workshop on feature generation and selection.
    """
    at_hand = open_at_hand(directory, convention)
    advance = track("Folds", at_hand.n_folds)
    results = []
    for fold in at_hand.folds():
        with listen(None):  # a fold takes a few seconds: bars within it would only flicker
            results.append(_run_fold(fold, at_hand.facts.convention))
        advance(1)
    return GreedyReproduction(at_hand.facts, results)


def _run_fold(fold: StudyFold, convention: str) -> FoldResult:
    selector = GreedyRankRLSCV(measure="map", convention=convention)
    selector.fit(fold.train, eval_set=fold.vali)
    full = selector.at(fold.train.n_features)  # with all features, greedy RankRLS is RankRLS
    features = tuple(feature + 1 for feature in selector.selected_.tolist())
    values = {
        GREEDY: measured(fold.test, selector.predict(fold.test), MEASURES, convention),
        FULL: measured(fold.test, full.predict(fold.test), MEASURES, convention),
    }
    choice = Choice(selector.lam_, len(features), features)
    return FoldResult(choice, full.lam_, values, selector)
