"""FS-ED: numbers of features at the best result, beside those that its paper prints."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranksieve.reproduction.collections import Facts, open_at_hand
from ranksieve.reproduction.published_fs_ed import BEST_NUMBERS
from ranksieve.significance import holm, paired_t_test
from ranksieve.study import Outcomes, Run, Study, StudyResult

MEASURE = "NDCG@10"
CONVENTION = "ranklib"  # which the paper used
KS = (*range(1, 11), 12, 15, 20, 25, 30, 40, "all")
N_SEEDS = 5
FS_ED, ALL = "fs-ed", "all"
METHODS = (FS_ED, "fs-bfs", "random")
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "ranksvm-struct": {"tol": 1e-3},
    "rankboost": {
        "n_rounds": 1000,
        "n_thresholds": 10,  # RankLib's, at equal distances
        "binning": "width",
        "measure": MEASURE,
        "patience": 100,
        "convention": CONVENTION,
    },
    "lambdamart": {},
}
RANKERS = tuple(_SETTINGS)
GRIDS = {"ranksvm-struct": {"C": [1e-5 * 2**power for power in range(20)]}}


@dataclass(frozen=True)
class Best:
    """Where a selector with a ranker is at its best.

    Attributes
    ----------
    selector, ranker : str
    published : int or None
        Number of features that the paper prints.
    by_validation : int
        Number with the largest mean over folds on validation queries, the fewest of equals.
    by_test : int
        The same on test queries: what nobody can choose who has not seen them.
    value : float
        Test NDCG@10 with ``by_validation`` features, mean over folds.
    value_by_test : float
        The same with ``by_test`` features.
    base : float
        Test NDCG@10 of all features.
    p_value, adjusted : float
        Of the paired t-test of ``value`` against ``base`` over test queries; and by Holm's method,
        over all selectors and rankers.
    """

    selector: str
    ranker: str
    published: int | None
    by_validation: int
    by_test: int
    value: float
    value_by_test: float
    base: float
    p_value: float
    adjusted: float


@dataclass(frozen=True)
class FSEDReproduction:
    """FS-ED, and others on request, on the folds of a collection.

    Attributes
    ----------
    facts : Facts
    study : StudyResult
        With all features as one of the selectors.
    """

    facts: Facts
    study: StudyResult

    def bests(self) -> list[Best]:
        """Best numbers of features, for each selector but all features, and each ranker."""
        found = [
            self._best(run, self.study.run(ALL, ranker))
            for ranker in self.study.rankers
            for run in self.study.of_ranker(ranker)
            if run.selector != ALL
        ]
        adjusted = holm([best.p_value for best in found])
        return [
            Best(**vars(best) | {"adjusted": float(p)})
            for best, p in zip(found, adjusted, strict=True)
        ]

    def _best(self, run: Run, base: Run) -> Best:
        by_validation = _first_best({k: validation_mean(tested) for k, tested in run.by_k.items()})
        by_test = _first_best({k: tested.mean(MEASURE) for k, tested in run.by_k.items()})
        chosen = run.by_k[by_validation]
        queries = chosen.per_query(MEASURE), base.chosen.per_query(MEASURE)
        p_value = paired_t_test(*queries).p_value
        return Best(
            run.selector,
            run.ranker,
            BEST_NUMBERS.get((run.selector, run.ranker), {}).get(self.facts.known_as or ""),
            by_validation,
            by_test,
            chosen.mean(MEASURE),
            run.by_k[by_test].mean(MEASURE),
            base.chosen.mean(MEASURE),
            p_value,
            p_value,
        )

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "method": FS_ED,
            **self.facts.as_dict(),
            "protocol": self.study.protocol,
            "measure": MEASURE,
            "best": [vars(best) for best in self.bests()],
            "curves": {
                ranker: {
                    run.selector: {
                        str(k): {
                            "validation": validation_mean(tested),
                            "test": tested.mean(MEASURE),
                        }
                        for k, tested in run.by_k.items()
                    }
                    for run in self.study.of_ranker(ranker)
                }
                for ranker in self.study.rankers
            },
        }


def validation_mean(tested: Outcomes) -> float:
    """Mean over folds and seeds of the value of the validation queries."""
    return float(np.mean([outcome.validation for seed in tested.outcomes for outcome in seed]))


def _first_best(values: Mapping[int, float]) -> int:
    """The number of features with the largest value, the fewest of equals."""
    return min(values, key=lambda k: (-round(values[k], 12), k))


def reproduce_fs_ed(
    directory: str | os.PathLike[str],
    methods: Iterable[str] | None = None,
    rankers: Iterable[str] | None = None,
    n_seeds: int = N_SEEDS,
    out: str | os.PathLike[str] | None = None,
    convention: str | None = None,
) -> FSEDReproduction:
    """Find out how many features of FS-ED rank best, with the rankers of its paper.

    RankSVM has the hinge loss, a tolerance of 0.001 and C from 0.00001, doubled up to 10;
    RankBoost ends after 100 rounds without a better result, or 1,000; LambdaMART has 1,000 trees
    of 10 leaves and a learning rate of 0.1, of which as many are kept as rank the validation
    queries best. All is tuned by NDCG@10 on the validation queries.

    Parameters
    ----------
    directory : path
        A collection with folds, such as LETOR 4.0 MQ2008: ``S1.txt`` to ``S5.txt``, or ``Fold1``
        to ``Fold5``.
    methods : iterable of str, optional
        Some of ``METHODS``, beside all features; by default FS-ED alone. FS-BFS takes long.
    rankers : iterable of str, optional
        Some of ``RANKERS``; by default all.
    n_seeds : int
        Of methods that draw random numbers.
    out : path, optional
        Directory to keep the study in, which goes on where it was.
    convention : str, optional
        Of the measures; by default ``"ranklib"``, whatever the collection.

    Returns
    -------
    FSEDReproduction

    Notes
    -----
    The paper does not say on which queries its best numbers of features were found, so both kinds
    are given. It prints the number of new features of FS-BFS, each of which is made of several;
    here FS-BFS selects their members.

    References
    ----------
    P. Gupta, P. Rosso. Expected divergence based feature selection for learning to rank. COLING
    2012.
    """
    selectors = _known("method", METHODS, [FS_ED] if methods is None else methods)
    trained = _known("ranker", RANKERS, RANKERS if rankers is None else rankers)
    at_hand = open_at_hand(directory, convention or CONVENTION)
    settings = {name: dict(_SETTINGS[name]) for name in trained}
    if "rankboost" in settings:
        settings["rankboost"]["convention"] = at_hand.facts.convention
    study = Study(
        at_hand.collection,
        out=out,
        protocol="letor",
        title=at_hand.facts.title,
        selectors=[*selectors, ALL],
        rankers=trained,
        ks=KS,
        measures=[MEASURE],
        tune=MEASURE,
        convention=at_hand.facts.convention,
        seeds=n_seeds,
        baselines=False,
        parameters=settings,
        grids={name: grid for name, grid in GRIDS.items() if name in trained},
    )
    return FSEDReproduction(at_hand.facts, study.run())


def _known(what: str, known: Iterable[str], wanted: Iterable[str]) -> list[str]:
    names = list(dict.fromkeys(wanted))
    for name in names:
        if name not in known:
            raise ValueError(f"{what} {name!r} is not compared; those are {', '.join(known)}")
    return names
