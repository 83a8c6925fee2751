"""Forward selection by least squares on query-centered labels, until AIC rises."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranksieve.base import Choices
from ranksieve.engine import Source
from ranksieve.parameters import FeatureCount
from ranksieve.registry import Method
from ranksieve.selectors._search.clustering import dense_ranks
from ranksieve.selectors._search.embedded import EmbeddedSelector
from ranksieve.selectors._search.filters import choose_in_turn
from ranksieve.selectors._search.searches import Step
from ranksieve.sums.checks import weight_of_rows
from ranksieve.sums.gram import centered_gram

_LEAST = np.finfo(float).tiny  # smallest RSS whose logarithm is taken
_DEPENDENT = 1e-10  # fraction of variance below which others explain a feature completely


@dataclass(eq=False, repr=False)
class StepwiseAIC(EmbeddedSelector):
    r"""Forward stepwise regression of labels on features, stopped by Akaike's criterion.

    Features and labels are centered within queries. Each step adds the feature that lowers the
    residual sum of squares (RSS) of the m documents the most, as long as

    .. math:: AIC = m \ln(RSS / m) + 2 k

    falls, k being the number of features.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number of features, or a fraction of them if below 1. None stops before AIC rises.
    include, exclude, groups, count, progress
        As in :class:`RankSelector`.

    Attributes
    ----------
    selected_ : int array
        Features in the order of selection; those that others explain completely come last.
    coef_ : array of shape (features,)
        Weights; 0 for features that are not selected.
    scores_ : array of shape (features,)
        Decrease of RSS by each feature alone, as a fraction of the RSS of the empty model.
    path_ : list of (feature, score)
        The score is the fraction of RSS left after the step.
    aic_ : array of shape (selected + 1,)
        AIC before the first step and after each of them.

    Notes
    -----
    The products of m rows of f features take O(m f^2) time, and a step takes O(f k).

    This is a reconstruction, because the paper that used it on rankings is not available. Documents
    count as independent, which those of a query are not, so AIC keeps more features than it should.
    Use it to compare with statistical practice: :class:`GreedyRankRLS` is the same search with a
    penalty, evaluated on queries that are left out.

    References
    ----------
    H. Akaike. A new look at the statistical model identification. IEEE Transactions on Automatic
    Control 19, 1974.

    {example}
    """

    with_include = "The search starts with them."
    with_groups = "Each step adds the group that lowers AIC the most."

    methods = (Method("stepwise-aic", "least squares, a feature at a time, until AIC rises"),)

    n_features_to_select: FeatureCount | None = None

    def _choose(self, source: Source, choices: Choices) -> list[int]:
        gram = centered_gram(source)
        (xx, xy, yy), varies = gram, gram.varies
        scale = np.sqrt(np.where(varies, np.diagonal(xx), 1.0))
        alike = xx / np.outer(scale, scale)
        shares = np.where(varies, xy / scale, 0.0) / np.sqrt(yy)
        self.scores_ = shares**2
        n_rows = weight_of_rows(source)
        model = _Regression(alike, shares, varies)
        chosen = choices.features_of(self._search(model, choices, n_rows, yy))
        left = model.residuals[: len(chosen) + 1]
        self.aic_ = _aic(n_rows, np.array(left) * yy)
        self.path_ = [Step(f, rss) for f, rss in zip(chosen, left[1:], strict=True)]
        self.coef_ = np.zeros(len(xy))
        within = alike[np.ix_(chosen, chosen)]
        self.coef_[chosen] = np.linalg.lstsq(within, (xy / scale)[chosen])[0] / scale[chosen]
        return chosen

    def _search(self, model: _Regression, choices: Choices, n_rows: float, yy: float) -> list[int]:
        """Groups in the order of selection, each the one that lowers AIC the most."""
        least = max(1, len(choices.start)) if self.n_features_to_select is None else np.inf
        ends = [0]  # number of features without a group in the model, with one, with two, ...

        def rises(chosen: list[int]) -> bool:
            """Add groups that are not in the model; whether AIC rises, and that ends the search."""
            for position in chosen[len(ends) - 1 :]:
                for feature in choices.features_of([position]):
                    model.add(feature)
                ends.append(len(model.residuals) - 1)
            aic = _aic(n_rows, np.array(model.residuals) * yy)
            return len(chosen) > least and aic[ends[-1]] >= aic[ends[-2]]

        def score(chosen: list[int]) -> np.ndarray | None:
            return None if rises(chosen) else dense_ranks(model.worth(choices, n_rows))

        steps = choose_in_turn(choices, choices.any_of(model.left > 0), score)
        positions = [step.group for step in steps]
        return positions[:-1] if rises(positions) else positions


class _Regression:
    """Least squares that adds one feature at a time; features are centered and of unit length."""

    def __init__(self, alike: np.ndarray, shares: np.ndarray, varies: np.ndarray) -> None:
        self.alike = alike
        # For each feature, the parts of its variance and of its share in y that the model leaves.
        self.left, self.shares = varies.astype(float), shares
        self.bases = np.empty((0, len(shares)))
        self.residuals = [1.0]  # fraction of RSS left before the first feature and after each one

    def worth(self, choices: Choices, n_rows: float) -> np.ndarray:
        """Numbers that are the larger, the smaller AIC is after the addition of each group."""
        gains = self._gains(choices)
        if choices.groups is None:  # among single features, AIC and the gain agree
            return gains
        left = np.maximum(self.residuals[-1] - np.maximum(gains, 0.0), _LEAST)
        sizes = choices.total(np.ones(len(self.left)))
        return np.minimum(gains, 0.0) - np.log(left) - 2 * sizes / n_rows

    def _gains(self, choices: Choices) -> np.ndarray:
        """Fraction of y that each group explains; negative if the model explains the group."""
        useful = self.left > _DEPENDENT
        scale = np.where(useful, self.left, 1.0)
        alone = np.where(useful, self.shares**2 / scale, -1.0 + self.left)
        if choices.groups is None:
            return alone
        return np.array([self._joint_gain(group, useful, alone) for group in choices.groups])

    def _joint_gain(self, group: tuple[int, ...], useful: np.ndarray, alone: np.ndarray) -> float:
        inside = [feature for feature in group if useful[feature]]
        if len(inside) < 2:
            return float(alone[list(group)].max())
        bases, shares = self.bases[:, inside], self.shares[inside]
        left = self.alike[np.ix_(inside, inside)] - bases.T @ bases
        return float(shares @ np.linalg.pinv(left, rcond=_DEPENDENT, hermitian=True) @ shares)

    def add(self, feature: int) -> None:
        """Add a feature; nothing changes if the others explain it completely."""
        gain, left = 0.0, self.left[feature]
        if left > _DEPENDENT:
            base = (self.alike[:, feature] - self.bases[:, feature] @ self.bases) / np.sqrt(left)
            gain = self.shares[feature] ** 2 / left
            self.shares = self.shares - base * (self.shares[feature] / np.sqrt(left))
            self.left = self.left - base**2
            self.bases = np.vstack([self.bases, base])
        self.residuals.append(max(self.residuals[-1] - gain, 0.0))


def _aic(n_rows: float, rss: np.ndarray) -> np.ndarray:
    """AIC of models with 0, 1, 2, ... features, given their sums of squared residuals."""
    return n_rows * np.log(np.maximum(rss, _LEAST) / n_rows) + 2 * np.arange(len(rss))
