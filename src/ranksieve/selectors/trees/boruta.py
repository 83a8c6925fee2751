"""Boruta for rankings: features that matter more to trees than shuffled copies."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ranksieve.base import Choices, PerFeature
from ranksieve.data import RankingData
from ranksieve.engine import Source, in_memory
from ranksieve.parameters import Count, FeatureCount, Share
from ranksieve.progress import track
from ranksieve.rankers.libraries.lightgbm import check_for_lightgbm
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import scored_steps
from ranksieve.selectors.trees.bt_influence import TREE_GRID, TreeSelector
from ranksieve.significance import holm
from ranksieve.sums.varying import varying_features

_ACCEPTED, _TENTATIVE, _REJECTED = 0, 1, 2


@dataclass(eq=False, repr=False)
class Boruta(TreeSelector):
    r"""Features that matter more to boosted trees than the best of all shuffled features.

    Every round adds a shadow of each feature, whose values are permuted within queries, trains
    :class:`ranksieve.rankers.LambdaMART` on all of them, and counts a hit for

    .. math:: I_f > \max_g I_{\text{shadow of } g}

    with the total gain I. After r rounds, a feature with h hits is accepted if there are too many
    for :math:`h \sim B(r, 1/2)`, and rejected if there are too few: by a two-sided test at
    ``level``, with Holm's adjustment over the undecided features. Rejected features are left out of
    later rounds.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number of features, or a fraction of them if below 1: first the accepted ones, then the
        tentative ones, then the others, by decreasing hits. None selects the accepted features, of
        which there may be none.
    n_rounds : int
        Largest number of rounds; the search ends earlier if all features are decided. Features
        that are still undecided at the end are tentative.
    level : float
        Significance level of the tests.
    permute : {"queries", "rows"}
        Whether shadows are permuted within queries or over all rows. The latter is meant for
        comparisons only: it also destroys what documents of a query have in common, so that a
        feature which differs mostly between queries looks useful compared with its shadow.
    n_estimators, learning_rate, num_leaves, min_child_samples, params, random_state
        As in :class:`TreeSelector`.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_, path_ : int array, list of (feature, score)
        Features in the order above, with their share of hits.
    accepted_, tentative_, rejected_ : int arrays
        Features of each kind, ascending.
    hits_ : int array of shape (features,)
        Number of rounds in which each feature had a larger gain than all shadows. Accepted features
        still collect hits; rejected ones do not take part in later rounds.
    n_rounds_ : int
        Number of rounds that were run.
    scores_ : array of shape (features,)
        Mean over rounds of the gain, relative to that of the best shadow in the round.

    Notes
    -----
    Takes ``n_rounds`` trainings with twice the features that are left. Columns are shuffled in
    every round, because trees use the first of two equal features. Features constant within every
    query are rejected without a test. Accepted features stay in the trees, as in the paper, so that
    the others compete with them. Near-copies share their gain; any number of them may be accepted.

    The level assumes independent rounds, but all have the same data: a useless feature that
    correlates with the labels by chance does so in every round. However, it must beat the best of
    all shadows, which happens with a probability of about 1/n among n features. So false
    acceptances are more likely with few features.

    Shards are read into memory, and sparse data is made dense. Missing values that the data keeps
    are permuted like others.

    References
    ----------
    M. B. Kursa, W. R. Rudnicki. Feature selection with the Boruta package. Journal of Statistical
    Software 36(11), 2010. Permuting within queries, and trees by LambdaMART, are our choices.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import Boruta
    >>> data, truth = make_ranking(100, n_informative=2, n_redundant=0, n_noise=6, noise=0.1)
    >>> selector = Boruta(n_rounds=12, n_estimators=10).fit(data)
    >>> sorted(selector.selected_.tolist()) == truth.informative.tolist()
    True
    """

    with_include = "They come first, and take part in all rounds."
    with_groups = "The gain of a group is the sum over its features, and likewise for shadows."

    methods = (
        Method(
            "boruta",
            "larger gain in boosted trees than shuffled features",
            grid=TREE_GRID,
            trial={"n_estimators": 3, "num_leaves": 4, "n_rounds": 2},
        ),
    )

    works_on_shards = False
    _is_nested = True
    _per_feature: ClassVar[dict[str, PerFeature]] = {
        **TreeSelector._per_feature,
        "hits_": PerFeature(fill=0),
    }

    n_features_to_select: FeatureCount | None = None
    _: KW_ONLY
    n_rounds: Count = 50
    level: Share = 0.05
    permute: Literal["queries", "rows"] = "queries"

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        data = in_memory(source)
        check_for_lightgbm("LambdaMART", data)  # with the names of features, not of shadows
        varies = choices.any_of(varying_features(source))
        hits, states, gains = self._run(data, choices, varies)
        order = np.lexsort((np.arange(choices.n_groups), -gains, -hits, states, ~varies))
        self.hits_, self.scores_ = choices.spread(hits), choices.spread(gains)
        verdict = choices.spread(states)
        self.accepted_, self.tentative_, self.rejected_ = (
            np.flatnonzero(verdict == state) for state in (_ACCEPTED, _TENTATIVE, _REJECTED)
        )
        wanted = verdict == _ACCEPTED if self.n_features_to_select is None else None
        chosen = choices.in_order(choices.features_of(order.tolist()), wanted)
        return self._record_path(scored_steps(chosen, self.hits_ / max(1, self.n_rounds_)))

    def _run(
        self, data: RankingData, choices: Choices, varies: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hits, state and mean gain, relative to the best shadow, of each group."""
        random = check_random_state(self.random_state)
        states = np.where(varies, _TENTATIVE, _REJECTED)
        hits, gains = np.zeros(len(varies), dtype=int), np.zeros(len(varies))
        advance = track("Rounds", self.n_rounds)
        self.n_rounds_ = 0
        while self.n_rounds_ < self.n_rounds and (states == _TENTATIVE).any():
            real, shadow = self._compete(data, choices, np.flatnonzero(states != _REJECTED), random)
            self.n_rounds_ += 1
            hits += real > shadow
            gains += (real / (shadow or 1.0) - gains) / self.n_rounds_ * (states != _REJECTED)
            undecided = np.flatnonzero(states == _TENTATIVE)
            states[undecided] = verdicts(hits[undecided], self.n_rounds_, self.level)
            advance(1)
        return hits, states, gains

    def _compete(
        self, data: RankingData, choices: Choices, positions: np.ndarray, random: Any
    ) -> tuple[np.ndarray, float]:
        """Gain of each group in one round, and the largest gain of a group of shadows."""
        features = np.array(sorted(choices.features_of(positions.tolist())))
        n = len(features)
        X = data.X[:, features]
        X = X if isinstance(X, np.ndarray) else X.toarray()
        codes = data.query_codes if self.permute == "queries" else np.zeros(data.n_rows, dtype=int)
        both = np.hstack([X, shuffle_within_codes(X, codes, random)])
        columns = random.permutation(2 * n)
        ranker = self._ranker(choices, self.random_state)
        ranker = ranker._for_features(features[columns % n].tolist(), data.n_features)
        trained = ranker.fit(data._replace(X=both[:, columns], feature_names=None))
        gains = np.zeros((2, data.n_features))
        gains[columns // n, features[columns % n]] = trained.feature_importances_
        real, shadows = (choices.total(row) for row in gains)
        return real, float(shadows.max())

    def _widen(self, choices: Choices, names: set[str]) -> None:
        super()._widen(choices, names)
        for name in ("accepted_", "tentative_", "rejected_"):
            setattr(self, name, choices.columns[getattr(self, name)])

    def reasons(self) -> list[str]:
        """For each selected feature, whether it was accepted, and its hits."""
        check_is_fitted(self)
        kinds = "accepted", "tentative", "rejected"
        words = {f: kind for kind in kinds for f in getattr(self, f"{kind}_").tolist()}
        return [
            f"{words[feature]}, {self.hits_[feature]} of {self.n_rounds_} hits"
            for feature in self.selected_.tolist()
        ]


def verdicts(hits: np.ndarray, n_rounds: int, level: float) -> np.ndarray:
    """State of features after some rounds: accepted (0), tentative (1) or rejected (2).

    >>> verdicts(np.array([10, 5, 0]), 10, 0.05).tolist()
    [0, 1, 2]
    """
    from scipy.stats import binom  # slow to import, and every `select` imports this file

    few, many = binom.cdf(hits, n_rounds, 0.5), binom.sf(hits - 1, n_rounds, 0.5)
    decided = holm(np.minimum(1.0, 2.0 * np.minimum(few, many))) <= level
    return np.where(decided, np.where(many < few, _ACCEPTED, _REJECTED), _TENTATIVE)


def shuffle_within_codes(X: np.ndarray, codes: np.ndarray, random: Any) -> np.ndarray:
    """Permute each column among rows of the same code; codes are ascending."""
    shuffled = np.empty_like(X)
    for column in range(X.shape[1]):
        order = np.lexsort((random.random_sample(len(X)), codes))
        shuffled[:, column] = X[order, column]
    return shuffled
