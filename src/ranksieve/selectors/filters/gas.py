"""GAS: greedy search for features that are important and dissimilar."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack

from ranksieve.base import Choices
from ranksieve.data import DataError
from ranksieve.parameters import FeatureCount, NotNegative
from ranksieve.registry import Method
from ranksieve.selectors._search.filters import (
    GroupStep,
    ImportanceChoice,
    SimilarityChoice,
    SimilarityFilter,
    choose_in_turn,
    scored_groups,
)
from ranksieve.sums.importance import Importance, Quality
from ranksieve.sums.similarity import Similarity

_GRID = {"c": (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1)}

_MOST_FEATURES_EXACT = 60


@dataclass(eq=False, repr=False)
class GAS(SimilarityFilter):
    r"""Greedy search algorithm (GAS): importance minus similarity (Geng et al. 2007).

    .. math:: \max_x \sum_i w_i x_i - c \sum_i \sum_{j \ne i} e_{ij} x_i x_j, \qquad
              x \in \{0, 1\}^n, \quad \sum_i x_i = t

    with the importance w of features and the similarity e of pairs. The greedy algorithm takes the
    feature with the largest w, then lowers the weight of every other feature j by
    :math:`2 c\, e_{kj}`, where k is the feature just taken: each step takes the feature with the
    largest marginal gain of the objective.

    Parameters
    ----------
    n_features_to_select : int or float
        Number of features t, or a fraction of them if below 1.
    importance : str, Measure or Importance
        A measure such as ``"map"`` or ``"ndcg@10"`` (GAS-E), or ``"loss"`` (GAS-L), the inverse of
        the mean pairwise error; or an :class:`Importance`, which also sets the convention, ties and
        directions. A document without a value of a feature ranks last, if the data keeps missing
        values; the same holds for the similarity.
    c : float
        Weight of similarity; 0 selects by importance alone. Tune it on validation data; the paper
        gives no values. A grid to start with: 0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.
    similarity : str, callable or Similarity
        ``"concordance"`` (the fraction of document pairs that both features order strictly the same
        way), ``"tau_a"``, ``"tau_b"``, ``"spearman"``, or a function from the data to a matrix; or
        a :class:`Similarity`, which may take absolute values and align directions.
    solver : {"greedy", "exact"}
        ``"exact"`` solves the 0-1 problem by integer programming, for up to 60 features, to see how
        far the greedy solution is from the optimum. Its features are listed by importance.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features in the order of selection.
    path_ : list of (feature, score)
        The weight of each feature when it was chosen.
    scores_, importance_ : arrays of shape (features,)
        Importance w of each feature.
    directions_ : int array of shape (features,)
        1 or -1: whether large or small values of a feature are good.
    similarity_ : array of shape (features, features)
        Similarity e of each pair.
    objective_ : float
        Value of the objective for the selected features.

    Notes
    -----
    Takes O(n t) time after importance, which takes O(n m log l) for m documents in queries of l,
    and similarity. The greedy solution is optimal if the optimal sets are nested (Theorem 1 of the
    paper).

    The paper gives the objective, the greedy algorithm, both kinds of importance and the use of
    Kendall's tau. These choices are ours: tau is the fraction of strictly concordant pairs; GAS-L
    is "inversely proportional" to the loss as 1 / loss; the direction of a feature is decided once,
    on the mean over queries; importance averages over ties; MAP is the default measure.

    References
    ----------
    X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007.

    Examples
    --------
    >>> from ranksieve import make_ranking
    >>> from ranksieve.selectors import GAS
    >>> data, truth = make_ranking(200, n_informative=3, n_redundant=6, copy_noise=0.1, tied=0)
    >>> families = truth.families[GAS(n_features_to_select=3, c=0.3).fit(data).selected_]
    >>> sorted(families.tolist())
    [0, 1, 2]
    """

    methods = (
        Method(
            "gas-e", "importance by a measure (MAP) minus similarity", {"importance": "map"}, _GRID
        ),
        Method(
            "gas-l", "importance by pairwise loss minus similarity", {"importance": "loss"}, _GRID
        ),
    )

    n_features_to_select: FeatureCount = 10
    _: KW_ONLY
    importance: ImportanceChoice = Importance("map")
    c: NotNegative = 0.01
    similarity: SimilarityChoice = Similarity("concordance")
    solver: Literal["greedy", "exact"] = "greedy"

    _is_nested = True

    @property
    def is_nested(self) -> bool:
        """True with the greedy solver."""
        return self.solver == "greedy" and super().is_nested

    def _choose_groups(
        self, quality: Quality, similarity: np.ndarray, choices: Choices
    ) -> list[GroupStep]:
        weights = quality.values.copy()

        def lower_weights(chosen: list[int]) -> np.ndarray:
            if chosen:
                weights[:] -= 2 * self.c * similarity[chosen[-1]]
            return weights

        if self.solver == "exact":
            steps = _solve_exactly(quality.values, similarity, self.c, choices)
        else:
            steps = choose_in_turn(choices, quality.varies, lower_weights)
        chosen = [step.group for step in steps]
        self.objective_ = objective(quality.values, similarity, self.c, chosen)
        return steps


def objective(w: np.ndarray, e: np.ndarray, c: float, chosen: list[int]) -> float:
    """Importance of the selected features minus ``c`` times the similarity of all ordered pairs."""
    pairs = e[np.ix_(chosen, chosen)]
    return float(w[chosen].sum() - c * (pairs.sum() - np.trace(pairs)))


def _solve_exactly(w: np.ndarray, e: np.ndarray, c: float, choices: Choices) -> list[GroupStep]:
    """Solve the 0-1 problem; each product x_i x_j becomes a variable z_ij."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    n, k = len(w), choices.k
    if choices.groups is not None and not choices.counts_groups:
        raise DataError("solver='exact' with groups needs count='groups'")
    if n > _MOST_FEATURES_EXACT:
        raise DataError(f"solver='exact' takes up to {_MOST_FEATURES_EXACT} features, got {n}")
    first, second = np.triu_indices(n, k=1)
    n_pairs = len(first)
    cost = np.concatenate([-w, 2 * c * e[first, second]])
    x_first, x_second = (csr_array(np.eye(n)[position]) for position in (first, second))
    z, is_x = eye_array(n_pairs), np.concatenate([np.ones(n), np.zeros(n_pairs)])
    constraints = [
        LinearConstraint(is_x[None], k, k),
        LinearConstraint(hstack([-x_first - x_second, z]), lb=-1),
        LinearConstraint(hstack([-x_first, z]), ub=0),
        LinearConstraint(hstack([-x_second, z]), ub=0),
    ]
    least = np.isin(np.arange(n + n_pairs), choices.start).astype(float)
    answer = milp(cost, integrality=is_x, bounds=Bounds(least, 1), constraints=constraints)
    if answer.x is None:
        raise DataError(f"the integer program was not solved: {answer.message}")
    chosen = np.flatnonzero(answer.x[:n] > 0.5)
    best_first = chosen[np.argsort(-w[chosen], kind="stable")].tolist()
    return scored_groups(dict.fromkeys([*choices.start, *best_first]), w)
